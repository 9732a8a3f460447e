#include "tracer/cupti/api_functions.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"

namespace stepscope::tracer {
namespace {

TEST(ApiFunctions, are_named_as_programs_call_them) {
  EXPECT_EQ(plain_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cudaStreamGetCaptureInfo_v2_ptsz_v11030"), "cudaStreamGetCaptureInfo");
  EXPECT_EQ(plain_name("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD");
  EXPECT_EQ(plain_name("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(plain_name("cu_values"), "cu_values");
}

TEST(ApiFunctions, are_classed_by_what_they_do) {
  for (char const* const name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
        "__cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync", "cudaMemcpyBatchAsync",
        "cudaMemset2DAsync", "cuLaunchKernelEx", "cuMemcpyHtoDAsync", "cuMemsetD8Async",
        "cuGraphLaunch"})
    EXPECT_EQ(classify(name), ApiClass::kLaunch) << name;

  for (char const* const name :
       {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"})
    EXPECT_EQ(classify(name), ApiClass::kSync) << name;

  for (char const* const name :
       {"cudaMalloc", "cudaMallocAsync", "cudaMallocHost", "cudaFree", "cudaFreeAsync",
        "cuMemAlloc", "cuMemFree", "cuMemAllocFromPoolAsync", "cuMemCreate", "cuMemMap",
        "cudaHostRegister"})
    EXPECT_EQ(classify(name), ApiClass::kMemory) << name;

  for (char const* const name : {"cudaGetLastError", "cudaGetDevice", "cudaStreamIsCapturing",
                                 "cudaEventQuery", "__cudaPushCallConfiguration"})
    EXPECT_EQ(classify(name), ApiClass::kNoise) << name;

  for (char const* const name : {"cudaEventRecord", "cudaStreamWaitEvent", "cudaLaunchHostFunc",
                                 "cuLaunchHostFunc", "cudaStreamBeginCapture", "cuModuleLoadData"})
    EXPECT_EQ(classify(name), ApiClass::kOther) << name;
}

TEST(ApiFunctions, are_found_behind_numbers_that_are_left_out) {
  CuptiApi api;
  api.get_callback_name = [](CUpti_CallbackDomain, uint32_t function, char const** name) {
    constexpr uint32_t kFirst = 1, kBehindAGap = 60;
    if (function != kFirst && function != kBehindAGap) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = "cudaLaunchKernel_v7000";
    return CUPTI_SUCCESS;
  };

  size_t found = 0;
  for_each_function(api, CUPTI_CB_DOMAIN_RUNTIME_API,
                    [&](CUpti_CallbackId, std::string_view) { ++found; });
  EXPECT_EQ(found, 2U);
}

TEST(ApiFunctions, say_by_their_names_what_they_wait_for) {
  EXPECT_EQ(sync_kind_of("cudaDeviceSynchronize"), model::SyncKind::kDevice);
  EXPECT_EQ(sync_kind_of("cuCtxSynchronize"), model::SyncKind::kDevice);
  EXPECT_EQ(sync_kind_of("cudaStreamSynchronize"), model::SyncKind::kStream);
  EXPECT_EQ(sync_kind_of("cuEventSynchronize"), model::SyncKind::kEvent);
  EXPECT_EQ(sync_kind_of("cudaEventRecord"), model::SyncKind::kUnknown);
}

TEST(ApiFunctions, that_this_cupti_does_not_know_get_their_number_as_name) {
  CuptiApi const api = FakeCupti::api();
  ApiFunctions functions(api);
  TraceStore store;

  auto const& unknown =
      functions.find(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE + 5, store);
  EXPECT_EQ(store.text(unknown.name),
            "CUDA function " + std::to_string(CUPTI_RUNTIME_TRACE_CBID_SIZE + 5));
  EXPECT_EQ(unknown.api_class, ApiClass::kOther);

  EXPECT_EQ(store.text(functions.find(CUPTI_CB_DOMAIN_RUNTIME_API, UINT32_MAX, store).name),
            "CUDA function 0");
}

TEST(ApiFunctions, of_the_installed_cupti_are_all_found) {
  auto const library = load_cupti();
  if (!library) GTEST_SKIP() << library.error().message;

  size_t launches = 0, all = 0;
  for_each_function(library->api, CUPTI_CB_DOMAIN_RUNTIME_API,
                    [&](CUpti_CallbackId, std::string_view name) {
                      ++all;
                      launches += static_cast<size_t>(classify(name) == ApiClass::kLaunch);
                    });

  constexpr size_t kFewestOfCuda12 = 400, kFewestLaunches = 50;
  EXPECT_GT(all, kFewestOfCuda12);
  EXPECT_GT(launches, kFewestLaunches);
}

}  // namespace
}  // namespace stepscope::tracer
