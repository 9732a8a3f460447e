// A CUDA source driven by hand, with the fake in CUPTI's place.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/cupti_source.h"

namespace stepscope::tracer {

inline constexpr size_t kBufferBytes = 16 << 10;
inline constexpr int64_t kExitTimeoutNs = 200'000'000;

/// What the user wants of hardware events, until the end of a test.
class HardwareEventsVariable {
 public:
  explicit HardwareEventsVariable(char const* value) {
    ::setenv(kHardwareEventsVariable, value, 1);
  }
  ~HardwareEventsVariable() { ::unsetenv(kHardwareEventsVariable); }
  HardwareEventsVariable(HardwareEventsVariable const&) = delete;
  HardwareEventsVariable& operator=(HardwareEventsVariable const&) = delete;
};

/// A session's source and store, driven by hand. CUPTI is the fake.
class CuptiSourceTest : public testing::Test {
 protected:
  explicit CuptiSourceTest(WindowOptions const& wanted = {}) : window(wanted) {
    CaptureOptions options;
    options.cuda_buffers_bytes = 4 * kBufferBytes;
    options.cuda_buffer_bytes = kBufferBytes;
    auto const load = [this]() -> base::Expected<CuptiLibrary> {
      if (!load_error.empty()) return base::fail("{}", load_error);
      return CuptiLibrary{FakeCupti::api(), "/fake/libcupti.so", version, driver_version};
    };
    source = std::make_unique<CuptiSource>(window, options, devices, load, kExitTimeoutNs);
  }

  ~CuptiSourceTest() override {
    for (char const* const variable : {kFinalizeVariable, kSharedVariable}) ::unsetenv(variable);
  }

  /// Before driver_starts(): CUPTI is to leave the process.
  static void ask_to_finalize() { ::setenv(kFinalizeVariable, "1", 1); }
  void drain() {
    source->snapshot();
    source->drain(store, clock);
  }
  /// Drains until a round has fetched buffers.
  void next_round() {
    size_t const before = fake.count("ActivityFlushAll");
    while (fake.count("ActivityFlushAll") == before) drain();
  }
  void finish() {
    drain();
    source->refresh(store);
    source->finish(store, 1'000'000);
    source->release();
  }
  std::vector<std::string> names() {
    std::vector<std::string> result;
    for (uint32_t track = 0; track < store.tracks().size(); ++track)
      for (model::StringId const name : store.rows(model::TrackId{track}).take().name)
        result.emplace_back(store.text(name));
    return result;
  }
  static RecordBuffer launches(uint32_t first, uint32_t count) {
    RecordBuffer records;
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t const start = uint64_t{1000} * (first + i);
      records.add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                               {start, start + 100}, first + i));
      records.add(kernel("k", {start + 200, start + 700}, first + i));
    }
    return records;
  }

  FakeCupti fake;
  CaptureWindow window;
  DeviceRegistry devices;
  TraceStore store;
  ClockFit clock{ClockSample{kOrigin, kOrigin}};
  std::string load_error;
  uint32_t version = cupti::k13v1;  ///< of the fake, before driver_starts()
  int driver_version = 0;           ///< as the library of CUPTI tells it: not known
  std::unique_ptr<CuptiSource> source;
};

class CuptiSourceOfSteps : public CuptiSourceTest {
 protected:
  CuptiSourceOfSteps() : CuptiSourceTest(WindowOptions{.steps = StepRange{1, 2}}) {}
};

}  // namespace stepscope::tracer
