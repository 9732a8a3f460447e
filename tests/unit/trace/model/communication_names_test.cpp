#include "trace/model/build/communication_names.h"

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

struct Kernel {
  char const* name;
  CollectiveOp op = CollectiveOp::kUnknown;
};

TEST(CommunicationNames, KernelsThatReachOtherRanksCommunicate) {
  constexpr Kernel kKernels[] = {
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       CollectiveOp::kAllReduce},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"},
      {"void rcclDevKernel_Generic<1>()"},
      {"mscclKernel_Sum_half_Simple_false(ncclDevComm*)"},
      {"void mscclpp::allreduceNvls<__half>(int*)", CollectiveOp::kAllReduce},
      {"oneccl_allgatherv_small", CollectiveOp::kAllGather},
      {"hcom_broadcast__042_1_1", CollectiveOp::kBroadcast},
      {"nvshmemi_transfer_rma<1>(int)"},
      {"barrier_on_stream_kernel_threadgroup(int)", CollectiveOp::kBarrier},

      {"void vllm::cross_device_reduce_1stage<float, 8>(vllm::RankData*)",
       CollectiveOp::kAllReduce},
      {"_ZN4vllm27cross_device_reduce_2stageIfLi4EEEvPNS_8RankDataE", CollectiveOp::kAllReduce},
      {"_ZN12_GLOBAL__N_126one_shot_all_reduce_kernelIfLi16EEEvPPfm", CollectiveOp::kAllReduce},
      {"_ZL14barrier_kernelPPjiim", CollectiveOp::kBarrier},
      {"void (anonymous namespace)::multimem_all_gather_kernel<16>(char*)",
       CollectiveOp::kAllGather},
      {"<unnamed>::two_shot_all_reduce_kernel<float, 8>", CollectiveOp::kAllReduce},
      {"cross_device_reduce_1stage", CollectiveOp::kAllReduce},
      {"void aiter::reduce_scatter_cross_device_store<float, 8>(aiter::RankData*)",
       CollectiveOp::kReduceScatter},
      {"void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>, "
       "__half>(__half const*)",
       CollectiveOp::kAllReduce},
      {"void tensorrt_llm::kernels::lamport_style_one_shot_all_reduce_norm_kernel<8, float, "
       "4>(int)",
       CollectiveOp::kAllReduce},
      {"void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<float>(int)",
       CollectiveOp::kAllToAll},
      {"void "
       "flashinfer::trtllm_moe_allreduce_fusion::moereduce_allreduce_fusion_kernel_oneshot_lamport<"
       "(flashinfer::trtllm_moe_allreduce_fusion::Pattern)1, __half>(int)",
       CollectiveOp::kAllReduce},

      {"userbuffers_fp16_sum_inplace_gpu_rr_ag(int, int)"},
      {"kuserbuffers_pushsend(int*)", CollectiveOp::kSend},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", CollectiveOp::kAllToAll},
      {"void deep_ep::internode_ll::combine<false, 10>(void*)", CollectiveOp::kAllToAll},
      {"void mori::moe::EpDispatchIntraNodeKernel<float>(int)", CollectiveOp::kAllToAll},
  };

  for (Kernel const& kernel : kKernels) {
    EXPECT_TRUE(is_communication_kernel(kernel.name)) << kernel.name;
    EXPECT_EQ(collective_of_kernel(kernel.name).op, kernel.op) << kernel.name;
  }
}

TEST(CommunicationNames, KernelsOfOneDeviceCompute) {
  for (char const* const name : {
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> "
           ">(at::native::ReduceOp<float>)",
           "void cub::DeviceReduceSingleTileKernel<cub::Policy, float*>(float*)",
           "void at::native::vectorized_gather_kernel<16, long>(char*)",
           "void at::native::_scatter_gather_elementwise_kernel<128, 4, "
           "at::native::_scatter_reduce>(int)",
           "void vllm::moe::moe_align_block_size_kernel<int>(int*)",
           "void tensorrt_llm::kernels::expandInputRowsKernel<float>(float*)",
           "void at::native::dispatch_index_kernel(int)",
           "triton_poi_fused_all_reduce_mul_2",
           "triton_red_fused__to_copy_all_gather_into_tensor_native_layer_norm_7",
           "void elementwise<nccl::Policy>(float*)",  // an argument of the template
           "void softmax(ncclComm*)",
           "block_all_reduce_sum_f32_f32_kernel(float*, float*, int)",
           "void oneflow::LayerNormWarpAllReduce<float>(float*)",
           "lamport_initialize_kernel(float*, int)",
           "void flashinfer::moeA2APrepareDispatchKernel(int*)",
           "void deep_ep::layout::get_dispatch_layout<256, 32, 1, 8>(long const*)",
           "gemm_allreduce_persistent_kernel",
           "void aiter::local_device_load_rmsnorm<float>(int)",
           "hipBinaryElementwise",
           "_ZN2at6native13reduce_kernelILi512ELi1EEEvT1_",
           "",
           "::",
           "(",
           "<",
           "_Z",
           "_ZN",
           "_ZN99999999999999999999x",
           "_ZN5abc",
       })
    EXPECT_FALSE(is_communication_kernel(name)) << name;
}

TEST(CommunicationNames, OnlyNamesLikeThoseOfNcclTellAProtocol) {
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)").protocol,
            CollectiveProtocol::kLl);
  EXPECT_EQ(collective_of_kernel("void deep_ep::internode_ll::dispatch<8>(int)").protocol,
            CollectiveProtocol::kUnknown);
}

}  // namespace
}  // namespace stepscope::model
