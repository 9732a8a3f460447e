# What the compilers are asked to find. STEPSCOPE_WERROR makes findings errors (CI does), where the compiler is one that CI has.
# Other compilers find other things, not all of them right, and must not stop a user who only builds.
set(warnings -Wall -Wextra -Wshadow -Wcast-align -Wpedantic -Wconversion -Wno-sign-conversion -Wformat=2
  -Wno-missing-field-initializers)  # designated initializers leave the rest at their defaults on purpose
set(cxx_warnings -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Not -Wnull-dereference: GCC 12 and 13 report it inside libstdc++ once that is inlined. Nor -Wrestrict, which GCC 12 reports
  # for "literal" + std::string at -O2 and above (GCC bug 105651). Nor the two that it reports for vector::insert and for a moved
  # string at -O3. clang-tidy and the sanitizers look for those faults too.
  list(APPEND warnings -Wduplicated-cond -Wlogical-op -Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)
  # A type of a source that is compiled together with others (CMAKE_UNITY_BUILD) looks to it like a header's.
  if(CMAKE_UNITY_BUILD)
    list(APPEND cxx_warnings -Wno-subobject-linkage)
  endif()
else()
  # Clang tells of each `omp simd` loop that it does not vectorize where nothing is (-O1).
  list(APPEND warnings -Wnull-dereference -Wno-pass-failed)
endif()
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
if(STEPSCOPE_WERROR AND "${CMAKE_CXX_COMPILER_ID}-${compiler_major}" MATCHES "^(GNU-12|Clang-14)$")
  list(APPEND warnings -Werror)
elseif(STEPSCOPE_WERROR)
  message(STATUS "Stepscope: warnings of ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} are no errors; CI has GCC 12 and Clang 14")
endif()
add_compile_options(${warnings} "$<$<COMPILE_LANGUAGE:CXX>:${cxx_warnings}>")
