// A CUDA program with a profiler of its own, as PyTorch's monitor or Kineto: two_tools KIND ORDER.
//   KIND   shared = a subscriber beside others; alone = one that allows no other; classic = the
//          functions before CUDA 13.3
//   ORDER  first = it subscribes before CUDA starts; second = afterwards
// It fills memory and says on stdout what its profiler got. Its own results do not depend on that.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <cuda_runtime_api.h>
#include <cupti.h>

namespace {

constexpr int kFills = 20;

struct Parameters {
  size_t bytes;
  char const* name;
  char* other_name;
  size_t other_name_bytes;
  uint8_t allows_others;
};

std::atomic<int> fills{0};
CUpti_SubscriberHandle subscriber = nullptr;
bool is_shared = false;

template <class Function>
Function find(char const* name) {
  static void* const cupti = ::dlopen("libcupti.so.13", RTLD_NOW);
  auto const function = reinterpret_cast<Function>(::dlsym(cupti, name));
  if (function == nullptr) {
    std::printf("tool: no %s\n", name);
    std::exit(2);
  }
  return function;
}

void request(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  constexpr size_t kBytes = 1 << 16;
  *buffer = static_cast<uint8_t*>(std::calloc(1, kBytes));
  *bytes = kBytes;
  *max_records = 0;
}

CUptiResult next_record(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  using Shared = CUptiResult (*)(CUpti_SubscriberHandle, uint8_t*, size_t, CUpti_Activity**);
  static auto const shared =
      is_shared ? find<Shared>("cuptiActivityGetNextRecord_v2") : Shared(nullptr);
  static auto const classic =
      find<decltype(&cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
  return is_shared ? shared(subscriber, buffer, bytes, record) : classic(buffer, bytes, record);
}

void complete(uint8_t* buffer, size_t bytes) {
  CUpti_Activity* record = nullptr;
  while (next_record(buffer, bytes, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) ++fills;
  std::free(buffer);
}

void on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {}

CUptiResult begin_shared(bool allows_others) {
  using Subscribe =
      CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, Parameters*);
  using Register =
      CUptiResult (*)(CUpti_SubscriberHandle, void (*)(uint8_t**, size_t*, size_t*, void*),
                      void (*)(uint8_t*, size_t, size_t, void*));
  using Enable = CUptiResult (*)(CUpti_SubscriberHandle, CUpti_ActivityKind, void*);
  is_shared = true;

  Parameters parameters{sizeof parameters, "Monitor", nullptr, 0, allows_others};
  CUptiResult const result =
      find<Subscribe>("cuptiSubscribe_v2")(&subscriber, on_call, nullptr, &parameters);
  if (result != CUPTI_SUCCESS) return result;
  find<Register>("cuptiActivityRegisterCallbacks_v2")(
      subscriber,
      [](uint8_t** buffer, size_t* bytes, size_t* max_records, void*) {
        request(buffer, bytes, max_records);
      },
      [](uint8_t* buffer, size_t, size_t bytes, void*) { complete(buffer, bytes); });
  return find<Enable>("cuptiActivityEnable_v2")(subscriber, CUPTI_ACTIVITY_KIND_MEMSET, nullptr);
}

CUptiResult begin_classic() {
  CUptiResult const result =
      find<decltype(&cuptiSubscribe)>("cuptiSubscribe")(&subscriber, on_call, nullptr);
  if (result != CUPTI_SUCCESS) return result;
  find<decltype(&cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks")(
      request,
      [](CUcontext, uint32_t, uint8_t* buffer, size_t, size_t bytes) { complete(buffer, bytes); });
  return find<decltype(&cuptiActivityEnable)>("cuptiActivityEnable")(CUPTI_ACTIVITY_KIND_MEMSET);
}

/// False = CUPTI refused it.
bool begin(std::string_view kind) {
  CUptiResult const result = kind == "classic" ? begin_classic() : begin_shared(kind == "shared");
  if (result != CUPTI_SUCCESS) std::printf("tool: refused with %d\n", result);
  return result == CUPTI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::string_view const kind = argv[1];
  bool is_recording = false;
  if (std::strcmp(argv[2], "first") == 0) is_recording = begin(kind);

  constexpr size_t kBytes = 4096;
  void* memory = nullptr;
  if (cudaMalloc(&memory, kBytes) != cudaSuccess) return 1;
  if (std::strcmp(argv[2], "second") == 0) is_recording = begin(kind);
  for (int i = 0; i < kFills; ++i)
    if (cudaMemsetAsync(memory, i, kBytes, nullptr) != cudaSuccess) return 1;
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;

  if (is_recording) {
    find<decltype(&cuptiActivityFlushAll)>("cuptiActivityFlushAll")(
        CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::printf("tool: %d fills\n", fills.load());
    find<decltype(&cuptiUnsubscribe)>("cuptiUnsubscribe")(subscriber);
  }
  std::printf("program: done\n");
  return 0;
}
