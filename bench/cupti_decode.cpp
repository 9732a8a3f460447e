// How fast buffers of CUPTI's activity records become rows, on one core. The buffers have what a
// training loop leaves: launch, kernel, now and then a copy or a wait. The limit is only walking
// over the same buffers with CUPTI's own function.
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "tracer/cupti/decode/record_decoder.h"

namespace {

using namespace stepscope::tracer;

/// Records as the headers' CUPTI writes them; all start at 1 ns and later, the clock's origin.
class Records {
 public:
  template <class Record>
  void add(Record const& record) {
    size_t const at = bytes_.size();
    bytes_.resize(at + sizeof record);
    std::memcpy(bytes_.data() + at, &record, sizeof record);
    ++count_;
  }
  [[nodiscard]] std::span<uint8_t> bytes() { return bytes_; }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  std::vector<uint8_t> bytes_;
  size_t count_ = 0;
};

constexpr size_t kBufferBytes = 256 << 10;
constexpr uint32_t kThread = 1000;

CUpti_ActivityAPI call(CUpti_CallbackId function, uint64_t start, uint32_t correlation) {
  CUpti_ActivityAPI record{};
  record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = function;
  record.start = start;
  record.end = start + 3'000;
  record.threadId = kThread;
  record.correlationId = correlation;
  return record;
}

template <class Record>
Record device_op(CUpti_ActivityKind kind, uint64_t start, uint32_t correlation, uint32_t stream) {
  Record record{};
  record.kind = kind;
  record.start = start;
  record.end = start + 4'000;
  record.correlationId = correlation;
  record.contextId = 1;
  record.streamId = stream;
  return record;
}

std::vector<std::string> const& kernel_names() {
  static std::vector<std::string> const names = [] {
    std::vector<std::string> result;
    constexpr int kKernels = 64;  // different ones of a step
    for (int i = 0; i < kKernels; ++i)
      result.push_back(fmt::format(
          "_ZN2at6native29vectorized_elementwise_kernelILi{}ENS0_15CUDAFunctor_addIfEEEEvT_", i));
    return result;
  }();
  return names;
}

/// A buffer of a training step: 1 in 16 ops a copy, 1 in 64 followed by a wait.
Records make_buffer() {
  Records records;
  uint64_t now = 1;

  for (uint32_t op = 1; records.bytes().size() + 1024 < kBufferBytes; ++op, now += 5'000) {
    constexpr uint32_t kStream = 7, kCopyStream = 13;

    if (op % 16 == 0) {
      records.add(call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, now, op));
      auto copy = device_op<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, now + 5'000, op,
                                                   kCopyStream);
      copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
      copy.bytes = 1 << 20;
      records.add(copy);
    } else {
      records.add(call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, now, op));
#if CUPTI_API_VERSION >= 130000
      using Kernel = CUpti_ActivityKernel10;
#else
      using Kernel = CUpti_ActivityKernel9;
#endif
      auto kernel =
          device_op<Kernel>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, now + 5'000, op, kStream);
      kernel.name = kernel_names()[op % kernel_names().size()].c_str();
      kernel.gridX = static_cast<int32_t>(op % 100);
      kernel.blockX = 256;
      kernel.registersPerThread = 32;
      records.add(kernel);
    }

    if (op % 64 != 0) continue;
    CUpti_ActivitySynchronization2 sync{};
    sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    sync.correlationId = op + (1U << 24);
    sync.contextId = 1;
    sync.streamId = kStream;
    records.add(sync);
    records.add(
        call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, now + 4'000, op + (1U << 24)));
  }

  return records;
}

void set_rates(benchmark::State& state, size_t records) {
  state.SetItemsProcessed(static_cast<int64_t>(records) * state.iterations());
  state.counters["a_record"] =
      benchmark::Counter(static_cast<double>(records) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void walk(benchmark::State& state) {
  auto const library = load_cupti();
  if (!library) return state.SkipWithError(library.error().message.c_str());

  Records records = make_buffer();
  for (auto _ : state) {
    CUpti_Activity* record = nullptr;
    uint64_t sum = 0;
    while (library->api.get_next_record(records.bytes().data(), records.bytes().size(), &record) ==
           CUPTI_SUCCESS)
      sum += record->kind;
    benchmark::DoNotOptimize(sum);
  }

  set_rates(state, records.count());
}

void decode(benchmark::State& state) {
  auto const library = load_cupti();
  if (!library) return state.SkipWithError(library.error().message.c_str());
  Records records = make_buffer();
  RecordClock const clock(1);
  TraceStore store;
  RecordDecoder decoder(library->api, false);

  constexpr int kBuffersInRound = 16;
  int buffers = 0;

  // As the file's thread takes full blocks and gives their memory back; no thread writes them here.
  std::vector<stepscope::tracer::RowBatch> spare;
  auto const take_rows = [&] {
    state.PauseTiming();
    spare.resize(store.tracks().size());
    for (uint32_t track = 0; track < spare.size(); ++track) {
      spare[track] = store.rows(stepscope::model::TrackId{track}).take(std::move(spare[track]));
      spare[track].clear();
    }
    state.ResumeTiming();
  };

  for (auto _ : state) {
    decoder.decode(records.bytes(), clock, store);
    if (++buffers % kBuffersInRound != 0) continue;
    decoder.end_round(clock, store);
    take_rows();
  }

  set_rates(state, records.count());
}

BENCHMARK(walk);
BENCHMARK(decode);

}  // namespace

BENCHMARK_MAIN();
