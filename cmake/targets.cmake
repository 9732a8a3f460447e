# The two ways in which this project makes targets: a layer and a test program.

# All presets but dev compile several sources as one (CMAKE_UNITY_BUILD), which parses headers once for twenty sources. There
# names that are local to a source must differ from those of its target's other sources, or the source is named here.
# stepscope_compile_alone(source…)
function(stepscope_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# stepscope_library(name SOURCES … DEPENDS …): one static library a layer, target stepscope::name, includes spelled from the
# repository's root. Every header of the folder is checked to compile alone: by the source of its name, where that includes it
# first, else by the target all_verify_interface_header_sets. Headers of a subfolder with a CMakeLists.txt belong to that one's
# library.
function(stepscope_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  file(GLOB inner_libraries ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt ${CMAKE_CURRENT_SOURCE_DIR}/*/*/CMakeLists.txt)
  foreach(inner ${inner_libraries})
    get_filename_component(inner ${inner} DIRECTORY)
    list(FILTER headers EXCLUDE REGEX "^${inner}/")
  endforeach()
  foreach(header ${headers})
    string(REGEX REPLACE "\\.h$" ".cpp" source ${header})
    if(EXISTS ${source})
      file(STRINGS ${source} first_include REGEX "^#include" LIMIT_COUNT 1)
      file(RELATIVE_PATH spelled ${PROJECT_SOURCE_DIR} ${header})
      if("${first_include}" STREQUAL "#include \"${spelled}\"")
        list(REMOVE_ITEM headers ${header})
      endif()
    endif()
  endforeach()
  add_library(stepscope_${name} STATIC ${ARG_SOURCES})
  add_library(stepscope::${name} ALIAS stepscope_${name})
  target_sources(stepscope_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_include_directories(stepscope_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(stepscope_${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# stepscope_installed(target…): linked with the path to its libraries that it keeps when it is installed. CMake would
# keep room for that path by ':' in the build folder, and the loader reads each ':' as the current folder: a libzstd.so.1
# that lies there would be loaded. The bundle carries its libraries, elsewhere they stay where they were found.
function(stepscope_installed)
  set_target_properties(${ARGN} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  if(NOT STEPSCOPE_PORTABLE)
    set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endfunction()

# What tests know of their build: paths (in the bundle both are the folder from which its tests/run.sh runs the test programs), and
# whether it is sanitized.
if(BUILD_TESTING)
  add_library(stepscope_test_build STATIC ${PROJECT_SOURCE_DIR}/tests/support/paths.cpp ${PROJECT_SOURCE_DIR}/tests/support/sanitized.cpp)
  target_include_directories(stepscope_test_build PUBLIC ${PROJECT_SOURCE_DIR})
  if(STEPSCOPE_PORTABLE)
    target_compile_definitions(stepscope_test_build PRIVATE STEPSCOPE_SOURCE_DIR="." STEPSCOPE_BINARY_DIR=".")
  else()
    target_compile_definitions(stepscope_test_build PRIVATE STEPSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" STEPSCOPE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endif()
endif()

# Layers whose objects are the same with and without CUDA: .ci/run tests them once.
set(layers_of_any_build "trace|analyzer|reports|gate|tune|query|agent|viewer|run_loading")

# stepscope_compile_as_test(program): what is tested is compiled as users run it; the tests themselves, as they are here, take a
# third less time. With the address sanitizer the tested code is sanitized. The tests are compiled to the byte as without it, so
# that the compiler's cache has them from the release build. Its layers are linked before its own objects: of inline functions and
# templates that both have, the linker keeps the first. (The thread sanitizer has to see every atomic operation, the tests' too.)
function(stepscope_compile_as_test program)
  if(STEPSCOPE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    get_target_property(options ${program} COMPILE_OPTIONS)
    list(REMOVE_ITEM options ${sanitize_options})
    set_target_properties(${program} PROPERTIES COMPILE_OPTIONS "${options}")
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL stepscope_link_layers_first ${program})")
  endif()
  if(STEPSCOPE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${program} PRIVATE -O0)
  endif()
endfunction()

# stepscope_link_layers_first(program), when all targets are known.
function(stepscope_link_layers_first program)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  set(seen)
  set(files)
  while(libraries)
    list(POP_FRONT libraries library)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
    if(NOT library MATCHES "^stepscope" OR NOT TARGET ${library})
      continue()
    endif()
    get_target_property(aliased ${library} ALIASED_TARGET)
    if(aliased)
      set(library ${aliased})
    endif()
    if(library IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${library})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND files $<TARGET_FILE:${library}>)
    endif()
    get_target_property(inner ${library} INTERFACE_LINK_LIBRARIES)
    if(inner)
      list(APPEND libraries ${inner})
    endif()
  endwhile()
  list(JOIN files "," files)
  # muldefs: a source can be in two layers.
  target_link_options(${program} PRIVATE "LINKER:--whole-archive,${files},--no-whole-archive,-z,muldefs")
endfunction()

# stepscope_nightly_program(target): one that takes too long for every change. Tests that need it have FIXTURES_REQUIRED
# nightly_programs: `ctest -C Nightly -L nightly` builds it first.
function(stepscope_nightly_program target)
  add_test(NAME nightly.build_${target} CONFIGURATIONS Nightly COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${target})
  set_tests_properties(nightly.build_${target} PROPERTIES LABELS nightly FIXTURES_SETUP nightly_programs TIMEOUT 1800 PROCESSORS 2)
endfunction()

# The programs of the labels unit, unit-any-build and unit-threads, and those of the last alone: what the sanitizer presets build.
add_custom_target(unit_tests)
add_custom_target(thread_tests)

# stepscope_test(name SOURCES … DEPENDS … [LABEL unit] [TIMEOUT 300] [PROCESSORS 1]): a GoogleTest program. Every TEST is a ctest
# case, or, with a sanitizer, the whole program (a sanitized process takes a tenth of a second to start; --gtest_filter chooses).
# Tests of several threads (the tracer and the workloads) get the label unit-threads instead of unit: the thread sanitizer runs
# them. Tests of layers_of_any_build get unit-any-build, tests of the workloads both. PROCESSORS is what ctest -j reserves for one
# case.
function(stepscope_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;PROCESSORS" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(ARG_LABELS)
    list(GET ARG_LABELS 0 ARG_LABEL)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(ARG_LABEL STREQUAL "unit" AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/unit/(workloads|mpi)$")
    set(ARG_LABEL unit-threads-any-build)
  elseif(ARG_LABEL STREQUAL "unit" AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/unit/(tracer|workloads)")
    set(ARG_LABEL unit-threads)
  elseif(ARG_LABEL STREQUAL "unit" AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/unit/(${layers_of_any_build})(/|$)")
    set(ARG_LABEL unit-any-build)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  stepscope_compile_as_test(${name})
  if(STEPSCOPE_SANITIZE STREQUAL "thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/one_tbb_thread.cpp)
    target_link_libraries(${name} PRIVATE TBB::tbb)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} stepscope_test_build GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_LABEL MATCHES "^unit")
    add_dependencies(unit_tests ${name})
  endif()
  if(ARG_LABEL MATCHES "^unit-threads")
    add_dependencies(thread_tests ${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY STEPSCOPE_TEST_PROGRAMS ${name})
  if(STEPSCOPE_SANITIZE)
    # The largest first, so that no core idles at the end.
    list(LENGTH ARG_SOURCES size)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 1200 PROCESSORS ${ARG_PROCESSORS} COST ${size})
  else()
    include(GoogleTest)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS})
  endif()
endfunction()
