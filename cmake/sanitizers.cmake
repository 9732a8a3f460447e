# STEPSCOPE_SANITIZE=address,undefined or thread, on everything that is built; STEPSCOPE_FUZZ adds libFuzzer's coverage counters.
if(STEPSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${STEPSCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${STEPSCOPE_SANITIZE})
  # Of undefined behaviour what costs most to compile and what others find: null pointers and what lies outside of an object the address
  # sanitizer, misaligned reads of bytes the fuzzers, built by clang; few types here have virtual functions.
  if(STEPSCOPE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,object-size,vptr)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-fno-sanitize=alignment)
    endif()
  endif()
endif()
if(STEPSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "STEPSCOPE_FUZZ needs clang: configure with the preset fuzz, or with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
