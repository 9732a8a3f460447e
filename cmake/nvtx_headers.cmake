# Sets STEPSCOPE_NVTX_INCLUDE: the folder with nvtx3/, NVTX 3's headers, from the CUDA toolkit, Python's nvidia packages or the
# system. Read by this project and by those that find an installed Stepscope.
file(GLOB python_nvtx LIST_DIRECTORIES true
  "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/*/include" "/usr/local/lib/python3*/dist-packages/nvidia/*/include")
find_path(STEPSCOPE_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda ${python_nvtx}
  PATH_SUFFIXES include targets/x86_64-linux/include)
