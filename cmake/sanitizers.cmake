# STEPSCOPE_SANITIZE=address,undefined or thread, on everything that is built (but see stepscope_compile_as_test in targets.cmake);
# STEPSCOPE_FUZZ adds libFuzzer's coverage counters.
if(STEPSCOPE_SANITIZE)
  set(sanitize_options -O1 -UNDEBUG -Wno-error -fsanitize=${STEPSCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  # Checks of undefined behaviour are left out that cost most to compile and whose faults others find. The address sanitizer finds
  # null pointers and accesses outside of an object. The fuzzers, built by clang, find misaligned reads, pointers that overflow
  # and strange values of bytes. Few types here have virtual functions.
  if(STEPSCOPE_SANITIZE MATCHES "undefined")
    list(APPEND sanitize_options -fno-sanitize=null,object-size,vptr)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(APPEND sanitize_options -fno-sanitize=alignment,pointer-overflow,bool,enum -D_GLIBCXX_ASSERTIONS)
    endif()
  endif()
  add_compile_options(${sanitize_options})
  add_link_options(-fsanitize=${STEPSCOPE_SANITIZE})
endif()
if(STEPSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "STEPSCOPE_FUZZ needs clang: configure with the preset fuzz, or with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
