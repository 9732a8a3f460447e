// The functions of NVIDIA's libraries that the backend calls, as X(member of a table, function).
// The backend looks them up, and `stepscope doctor` asks whether the installed libraries have them.
// This header includes nothing, so that a build without NVIDIA's headers can ask, too.
#pragma once

#define STEPSCOPE_CUDNN_FUNCTIONS(X)                                            \
  X(get_version, cudnnGetVersion)                                               \
  X(error_string, cudnnGetErrorString)                                          \
  X(create, cudnnCreate)                                                        \
  X(destroy, cudnnDestroy)                                                      \
  X(set_stream, cudnnSetStream)                                                 \
  X(create_tensor, cudnnCreateTensorDescriptor)                                 \
  X(destroy_tensor, cudnnDestroyTensorDescriptor)                               \
  X(set_tensor, cudnnSetTensor4dDescriptor)                                     \
  X(create_filter, cudnnCreateFilterDescriptor)                                 \
  X(destroy_filter, cudnnDestroyFilterDescriptor)                               \
  X(set_filter, cudnnSetFilter4dDescriptor)                                     \
  X(create_convolution, cudnnCreateConvolutionDescriptor)                       \
  X(destroy_convolution, cudnnDestroyConvolutionDescriptor)                     \
  X(set_convolution, cudnnSetConvolution2dDescriptor)                           \
  X(set_math_type, cudnnSetConvolutionMathType)                                 \
  X(find_forward, cudnnGetConvolutionForwardAlgorithm_v7)                       \
  X(find_backward_data, cudnnGetConvolutionBackwardDataAlgorithm_v7)            \
  X(find_backward_weights, cudnnGetConvolutionBackwardFilterAlgorithm_v7)       \
  X(forward_workspace, cudnnGetConvolutionForwardWorkspaceSize)                 \
  X(backward_data_workspace, cudnnGetConvolutionBackwardDataWorkspaceSize)      \
  X(backward_weights_workspace, cudnnGetConvolutionBackwardFilterWorkspaceSize) \
  X(forward, cudnnConvolutionForward)                                           \
  X(backward_data, cudnnConvolutionBackwardData)                                \
  X(backward_weights, cudnnConvolutionBackwardFilter)

#define STEPSCOPE_CUBLASLT_FUNCTIONS(X)                   \
  X(status_string, cublasLtGetStatusString)               \
  X(create, cublasLtCreate)                               \
  X(destroy, cublasLtDestroy)                             \
  X(create_product, cublasLtMatmulDescCreate)             \
  X(destroy_product, cublasLtMatmulDescDestroy)           \
  X(set_product, cublasLtMatmulDescSetAttribute)          \
  X(create_layout, cublasLtMatrixLayoutCreate)            \
  X(destroy_layout, cublasLtMatrixLayoutDestroy)          \
  X(set_layout, cublasLtMatrixLayoutSetAttribute)         \
  X(create_preference, cublasLtMatmulPreferenceCreate)    \
  X(destroy_preference, cublasLtMatmulPreferenceDestroy)  \
  X(set_preference, cublasLtMatmulPreferenceSetAttribute) \
  X(find_algorithm, cublasLtMatmulAlgoGetHeuristic)       \
  X(multiply, cublasLtMatmul)

#define STEPSCOPE_NCCL_FUNCTIONS(X)     \
  X(get_version, ncclGetVersion)        \
  X(error_string, ncclGetErrorString)   \
  X(unique_id, ncclGetUniqueId)         \
  X(init_all, ncclCommInitAll)          \
  X(init_rank, ncclCommInitRankConfig)  \
  X(async_error, ncclCommGetAsyncError) \
  X(destroy, ncclCommDestroy)           \
  X(abort, ncclCommAbort)               \
  X(all_reduce, ncclAllReduce)          \
  X(reduce_scatter, ncclReduceScatter)  \
  X(all_gather, ncclAllGather)          \
  X(broadcast, ncclBroadcast)
// NCCL 2.18 or newer. The member stays null in older ones.
#define STEPSCOPE_NEWER_NCCL_FUNCTIONS(X) X(split, ncclCommSplit)
