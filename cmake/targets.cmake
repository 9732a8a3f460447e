# The two ways in which this project makes targets: a layer and a test program.

# All presets but dev compile several sources as one (CMAKE_UNITY_BUILD), which parses headers once for twenty sources. There
# names that are local to a source must differ from those of its target's other sources, or the source is named here.
# stepscope_compile_alone(source…)
function(stepscope_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# stepscope_library(name SOURCES … DEPENDS …): one static library a layer, target stepscope::name, includes spelled
# from the repository's root. Every header of the folder is checked to compile alone: by the source of its name, where that includes it
# first, else by the target all_verify_interface_header_sets. Those of a subfolder with a CMakeLists.txt belong to that one's library.
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
  # Fuzzers link these layers and hardly run them: half the time of compiling.
  if(STEPSCOPE_FUZZ AND name MATCHES "^(analyzer|reports)$")
    target_compile_options(stepscope_${name} PRIVATE -O0)
  endif()
endfunction()

# The paths of tests/support/paths.h. In the bundle both are the folder from which its tests/run.sh runs the test programs.
if(BUILD_TESTING)
  add_library(stepscope_test_paths STATIC ${PROJECT_SOURCE_DIR}/tests/support/paths.cpp)
  target_include_directories(stepscope_test_paths PUBLIC ${PROJECT_SOURCE_DIR})
  if(STEPSCOPE_PORTABLE)
    target_compile_definitions(stepscope_test_paths PRIVATE STEPSCOPE_SOURCE_DIR="." STEPSCOPE_BINARY_DIR=".")
  else()
    target_compile_definitions(stepscope_test_paths PRIVATE STEPSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" STEPSCOPE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endif()
endif()

# Layers whose objects are the same with and without CUDA: .ci/run tests them once.
set(layers_of_any_build "base|model|file|import|export|export_tables|synth|analyzer|reports|gate|query|viewer|runs")

# How tests are compiled: what is tested is compiled as users run it; the tests themselves take a third less time like this.
set(test_options $<$<CONFIG:Release>:-O0>)
if(STEPSCOPE_SANITIZE)
  set(test_options -O0)
endif()
# Of the tests' own code the addresses alone are checked, by calls instead of code in place.
if(STEPSCOPE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND test_options -fno-sanitize=undefined --param=asan-instrumentation-with-call-threshold=0 --param=asan-use-after-return=0)
endif()

# The programs of the labels unit, unit-any-build and unit-threads, and those of the last alone: what the sanitizer presets build.
add_custom_target(unit_tests)
add_custom_target(thread_tests)

# stepscope_test(name SOURCES … DEPENDS … [LABEL unit] [TIMEOUT 300] [PROCESSORS 1]): a GoogleTest program; every TEST is a ctest
# case, or, with a sanitizer, the whole program (a sanitized process takes a tenth of a second to start; --gtest_filter chooses). Tests
# of what runs on several threads (the tracer and the workloads) get the label unit-threads instead of unit: the thread sanitizer runs
# those; those of layers_of_any_build unit-any-build. PROCESSORS is what ctest -j reserves for one case.
function(stepscope_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;PROCESSORS" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(ARG_LABELS)
    list(GET ARG_LABELS 0 ARG_LABEL)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(ARG_LABEL STREQUAL "unit" AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/unit/(tracer|workloads)")
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
  target_compile_options(${name} PRIVATE ${test_options})
  if(STEPSCOPE_SANITIZE STREQUAL "thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/one_tbb_thread.cpp)
    target_link_libraries(${name} PRIVATE TBB::tbb)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} stepscope_test_paths GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_LABEL MATCHES "^unit")
    add_dependencies(unit_tests ${name})
  endif()
  if(ARG_LABEL STREQUAL "unit-threads")
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
