// An injected library that keeps CUPTI's buffers as they come: test data for what decodes them, and
// answers to questions that no document answers. Build and use it where a GPU is:
//
//   g++ -shared -fPIC -O2 -I$CUDA/include cupti_buffers.cpp -o cupti_buffers.so -L$CUDA/lib -lcupti
//   BUFFERS=out.bin CUDA_INJECTION64_PATH=$PWD/cupti_buffers.so PROGRAM…
//
// BUFFERS: the file. Each buffer is there as its bytes behind their number (uint64).
// BUFFERS_MAX: bytes after which nothing more is kept; records are still counted (default 4 MiB).
// FLUSH_MS: force a flush of everything, running kernels too, so often.
// OUR_CLOCK=1: have CUPTI take its times from CLOCK_MONOTONIC by its callback.
// At exit one line of JSON goes to stderr: records by kind, and how many kernels had no begin, no
// end, or an end before their begin.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include <cupti.h>
#include <time.h>

namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_DEVICE,
                                         CUPTI_ACTIVITY_KIND_CONTEXT,
                                         CUPTI_ACTIVITY_KIND_MEMORY2,
                                         CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                         CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         CUPTI_ACTIVITY_KIND_OVERHEAD};

std::mutex mutex;
std::FILE* file = nullptr;
size_t kept = 0, most = 4 << 20;
std::map<int, uint64_t> records;
uint64_t no_begin = 0, no_end = 0, backwards = 0, unreadable = 0;
std::atomic<bool> is_over{false};

void CUPTIAPI requested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::lock_guard const lock(mutex);
  if (valid > 0 && file != nullptr && kept + valid <= most) {
    uint64_t const size = valid;
    std::fwrite(&size, sizeof size, 1, file);
    std::fwrite(buffer, 1, valid, file);
    std::fflush(file);
    kept += valid;
  }

  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while (valid > 0 &&
         (result = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) {
    ++records[record->kind];
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    auto const& kernel = *reinterpret_cast<CUpti_ActivityKernel9*>(record);
    no_begin += kernel.start == 0;
    no_end += kernel.end == 0;
    backwards += kernel.end != 0 && kernel.end < kernel.start;
  }
  if (valid > 0 && result != CUPTI_ERROR_MAX_LIMIT_REACHED) ++unreadable;
  std::free(buffer);
}

uint64_t CUPTIAPI our_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void at_exit() {
  is_over = true;
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

  std::lock_guard const lock(mutex);
  std::fprintf(stderr,
               "{\"cupti_buffers\": {\"kept_bytes\": %zu, \"no_begin\": %lu, \"no_end\": %lu, "
               "\"backwards\": %lu, "
               "\"unreadable_buffers\": %lu, \"records\": {",
               kept, no_begin, no_end, backwards, unreadable);
  char const* comma = "";
  for (auto const& [kind, count] : records) {
    std::fprintf(stderr, "%s\"%d\": %lu", comma, kind, count);
    comma = ", ";
  }
  std::fprintf(stderr, "}}}\n");
}

}  // namespace

extern "C" int InitializeInjection() {
  if (char const* const path = std::getenv("BUFFERS")) file = std::fopen(path, "wb");
  if (char const* const text = std::getenv("BUFFERS_MAX")) most = std::strtoull(text, nullptr, 10);

  if (std::getenv("OUR_CLOCK") != nullptr) {
    CUptiResult const result = cuptiActivityRegisterTimestampCallback(our_clock);
    if (result != CUPTI_SUCCESS) std::fprintf(stderr, "timestamp callback: %d\n", result);
  }
  cuptiActivityRegisterCallbacks(requested, completed);
  for (CUpti_ActivityKind const kind : kKinds) {
    CUptiResult const result = cuptiActivityEnable(kind);
    if (result != CUPTI_SUCCESS) std::fprintf(stderr, "enable %d: %d\n", kind, result);
  }
  std::atexit(at_exit);

  if (char const* const every = std::getenv("FLUSH_MS")) {
    std::thread([ms = std::atoi(every)] {
      while (!is_over) {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
      }
    }).detach();
  }
  return 1;
}
