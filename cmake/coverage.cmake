# STEPSCOPE_COVERAGE counts which lines of the CUDA half run (scripts/coverage.sh). Other sources are compiled as ever, so that the
# compiler's cache has them.
if(NOT STEPSCOPE_COVERAGE)
  return()
endif()

set(covered)
foreach(folder tracer/cupti tracer/nccl tracer/nvml workloads/backend/cuda)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(APPEND covered ${sources})
endforeach()
# Without optimisation: a line that the compiler has moved into another one would not be counted.
set_source_files_properties(${covered} TARGET_DIRECTORY stepscope_cupti stepscope_tracer stepscope-cuda workloads_cuda_tests
  PROPERTIES COMPILE_OPTIONS "--coverage;-O0" SKIP_UNITY_BUILD_INCLUSION ON)
