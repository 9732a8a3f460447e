# Every third-party library, found once. Names and versions: docs/design/decisions/0002-dependencies.md.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 2 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3>=3.38)
find_package(TBB REQUIRED)
# Arrow's messages are flatbuffers: headers only.
find_path(STEPSCOPE_FLATBUFFERS_INCLUDE flatbuffers/flatbuffer_builder.h REQUIRED)
add_library(flatbuffers::headers INTERFACE IMPORTED)
target_include_directories(flatbuffers::headers INTERFACE ${STEPSCOPE_FLATBUFFERS_INCLUDE})
# oneDNN is the host backend; without it the workloads are left out. Found by hand: Debian's dnnl-config.cmake demands the OpenCL
# headers, which only its GPU interface uses.
find_path(STEPSCOPE_DNNL_INCLUDE oneapi/dnnl/dnnl.hpp)
find_library(STEPSCOPE_DNNL_LIBRARY dnnl)
if(STEPSCOPE_DNNL_INCLUDE AND STEPSCOPE_DNNL_LIBRARY)
  set(dnnl_FOUND TRUE)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${STEPSCOPE_DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${STEPSCOPE_DNNL_INCLUDE})
endif()
# Budget files of `stepscope check`. Header-only, compiled into one source; found by header, for packages of 3.2 have no CMake file
# that every distribution ships.
find_path(STEPSCOPE_TOML_INCLUDE toml++/toml.h REQUIRED)
# The workload gan writes its samples as a picture; compiled into our source, no library of it is linked.
find_path(STEPSCOPE_STB_INCLUDE stb_image_write.h PATH_SUFFIXES stb)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

# The tracer of the bundle must not bring libraries into somebody's process. What can be is linked statically or used header-only.
# scripts/package.sh carries the rest (oneDNN, GLFW and what they need) in lib/.
if(STEPSCOPE_PORTABLE)
  foreach(library zstd xxhash)
    find_library(STEPSCOPE_STATIC_${library} lib${library}.a REQUIRED)
    set_target_properties(PkgConfig::${library} PROPERTIES INTERFACE_LINK_LIBRARIES ${STEPSCOPE_STATIC_${library}})
  endforeach()
endif()

# stepscope::fmt. Debian has libfmt as a shared library alone, which must not come into other people's processes. Header-only use
# costs 3 s of compiling in each of our sources (7 s sanitized). So its functions are compiled once, from its headers. Clang
# cannot keep functions that nothing in the source calls; what it builds (fuzzers, the lint) uses the shared library.
find_package(fmt 9 REQUIRED)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_library(stepscope_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_functions.cpp)
  get_target_property(fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(stepscope_fmt SYSTEM PUBLIC ${fmt_include})
  target_compile_definitions(stepscope_fmt PRIVATE FMT_HEADER_ONLY=1)
  target_compile_options(stepscope_fmt PRIVATE -w -fkeep-inline-functions)
else()
  add_library(stepscope_fmt INTERFACE)
  target_link_libraries(stepscope_fmt INTERFACE fmt::fmt)
endif()
add_library(stepscope::fmt ALIAS stepscope_fmt)

# NVTX 3: headers only; downloaded where no toolkit has them.
include(cmake/nvtx_headers.cmake)
if(NOT STEPSCOPE_NVTX_INCLUDE AND STEPSCOPE_FETCH_NVTX)
  set(nvtx_url https://github.com/NVIDIA/NVTX/archive/refs/tags/v3.2.1.tar.gz)
  message(STATUS "Stepscope: downloading the NVTX headers from ${nvtx_url}")
  file(DOWNLOAD ${nvtx_url} ${CMAKE_BINARY_DIR}/nvtx.tar.gz STATUS nvtx_status TIMEOUT 60 TLS_VERIFY ON)
  list(GET nvtx_status 0 nvtx_failed)
  if(nvtx_failed)
    list(GET nvtx_status 1 nvtx_reason)
    message(WARNING "Stepscope: the NVTX headers could not be downloaded (${nvtx_reason}). Install a CUDA toolkit, or unpack "
                    "${nvtx_url} and configure with -DSTEPSCOPE_NVTX_INCLUDE=FOLDER/c/include")
  else()
    file(ARCHIVE_EXTRACT INPUT ${CMAKE_BINARY_DIR}/nvtx.tar.gz DESTINATION ${CMAKE_BINARY_DIR}/nvtx)
    file(GLOB nvtx_folders ${CMAKE_BINARY_DIR}/nvtx/*/c/include)
    find_path(STEPSCOPE_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h PATHS ${nvtx_folders} NO_DEFAULT_PATH)
  endif()
endif()
if(STEPSCOPE_NVTX_INCLUDE)
  # A copy of the one folder: the toolkit's other headers must not be reachable from layers that may not use CUDA.
  file(COPY ${STEPSCOPE_NVTX_INCLUDE}/nvtx3 DESTINATION ${CMAKE_BINARY_DIR}/nvtx-include)
  add_library(stepscope_nvtx INTERFACE)
  add_library(stepscope::nvtx ALIAS stepscope_nvtx)
  target_include_directories(stepscope_nvtx SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/nvtx-include)
  target_link_libraries(stepscope_nvtx INTERFACE ${CMAKE_DL_LIBS})
else()
  message(STATUS "Stepscope: no NVTX 3 headers found: the tracer and the workloads are left out. "
                 "Install a CUDA toolkit or configure with -DSTEPSCOPE_FETCH_NVTX=ON")
endif()

# The CUDA toolkit is only ever used for compiling; its libraries are found at run time.
if(STEPSCOPE_CUDA)
  find_package(CUDAToolkit 12 QUIET)
endif()
if(CUDAToolkit_FOUND)
  message(STATUS "Stepscope: CUDA toolkit ${CUDAToolkit_VERSION}")
  # Headers of 12.8 or newer; what traced programs bring may be any from 12.0 on.
  find_path(STEPSCOPE_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
    PATH_SUFFIXES . ../extras/CUPTI/include ../../../extras/CUPTI/include)
  if(STEPSCOPE_CUPTI_INCLUDE AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    add_library(stepscope_cupti_headers INTERFACE)
    add_library(stepscope::cupti_headers ALIAS stepscope_cupti_headers)
    target_include_directories(stepscope_cupti_headers SYSTEM INTERFACE ${STEPSCOPE_CUPTI_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
  else()
    message(STATUS "Stepscope: no CUPTI headers of CUDA 12.8 or newer: CUDA programs are traced by their annotations alone")
  endif()
else()
  message(STATUS "Stepscope: built without CUDA; host devices and every trace format work")
endif()
