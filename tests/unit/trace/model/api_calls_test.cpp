// What calls of CUDA, HIP and Intel's runtime are, told from their names.
#include "trace/model/api_calls.h"

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

TEST(ApiCalls, LaunchesOfAllRuntimesAreLaunches) {
  for (char const* const name :
       {"cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaGraphLaunch",
        "hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel",
        "hipMemcpyWithStream", "hipMemsetAsync", "urEnqueueKernelLaunch", "urEnqueueUSMMemcpy"})
    EXPECT_EQ(classify(name), ApiClass::kLaunch) << name;
}

TEST(ApiCalls, AllocationsOfAllRuntimesAreMemory) {
  for (char const* const name : {"cudaMalloc", "cudaFreeHost", "cuMemAlloc", "hipMalloc", "hipFree",
                                 "hipHostMalloc", "hipHostFree", "urUSMDeviceAlloc", "urUSMFree"})
    EXPECT_EQ(classify(name), ApiClass::kMemory) << name;
}

TEST(ApiCalls, WaitsSayWhatTheyWaitFor) {
  EXPECT_EQ(sync_kind_of("hipStreamSynchronize"), SyncKind::kStream);
  EXPECT_EQ(sync_kind_of("cudaEventSynchronize"), SyncKind::kEvent);
  EXPECT_EQ(sync_kind_of("urQueueFinish"), SyncKind::kDevice);
  EXPECT_EQ(sync_kind_of("cudaLaunchKernel"), SyncKind::kUnknown);
}

TEST(ApiCalls, HostFunctionsLaunchNothingOnTheDevice) {
  EXPECT_EQ(classify("cudaLaunchHostFunc"), ApiClass::kOther);
  EXPECT_EQ(classify("hipLaunchHostFunc"), ApiClass::kOther);
}

TEST(ApiCalls, VersionsAndStreamVariantsAreTheSameCall) {
  EXPECT_EQ(plain_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cuMemcpyDtoH_v2"), "cuMemcpyDtoH");
}

}  // namespace
}  // namespace stepscope::model
