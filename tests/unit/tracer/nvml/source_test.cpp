// The source with its thread: from the start of CUDA in the program to rows.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nvml/fake_nvml.h"
#include "tracer/nvml/nvml_source.h"

namespace stepscope::tracer::nvml {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class NvmlSourceTest : public ::testing::Test {
 protected:
  NvmlSourceTest() { machine() = {}; }
  void drain(NvmlSource& source) {
    source.snapshot();
    clock.add(sample_clocks(TickSource::kMonotonicClock));
    source.drain(store, clock);
  }
  /// Until there are so many tracks or a minute has passed.
  void drain_until_tracks(NvmlSource& source, size_t count) {
    auto const latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (store.tracks().size() < count && std::chrono::steady_clock::now() < latest) {
      drain(source);
      std::this_thread::yield();
    }
  }
  std::string outcome() const {
    for (auto const& [name, text] : store.info.facts)
      if (name == "GPU counters") return text;
    return {};
  }
  CaptureWindow window{std::nullopt};
  TraceStore store;
  ClockFit clock{sample_clocks(TickSource::kMonotonicClock)};
};

TEST_F(NvmlSourceTest, samples_become_rows_of_counter_tracks) {
  NvmlSource source(window, std::chrono::milliseconds(1), [] { return std::optional(fake_api()); });
  source.driver_starts();
  drain_until_tracks(source, 2 * (kCounters - 1));
  source.finish(store, clock.latest_ns());
  ASSERT_THAT(store.tracks(), SizeIs(2 * (kCounters - 1))) << "one metric fails in the fake";
  for (uint32_t t = 0; t < store.tracks().size(); ++t) {
    EXPECT_EQ(store.tracks()[t].kind, model::TrackKind::kCounter);
    auto const events = store.rows(model::TrackId{t}).take();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.kind[0], model::EventKind::kSample);
    EXPECT_TRUE(events.is_sorted());
  }
  EXPECT_THAT(outcome(), HasSubstr("2 of 2 devices"));
  EXPECT_EQ(machine().shutdowns, machine().inits);
}

TEST_F(NvmlSourceTest, does_nothing_in_a_program_that_does_not_use_cuda) {
  bool loaded = false;
  NvmlSource source(window, std::chrono::milliseconds(1), [&] { return loaded = true, std::optional<Api>(); });
  drain(source);
  source.finish(store, clock.latest_ns());
  EXPECT_FALSE(loaded);
  EXPECT_EQ(outcome(), "");
}

TEST_F(NvmlSourceTest, says_that_there_is_no_driver_or_that_it_refuses) {
  for (bool const refuses : {false, true}) {
    store.info.facts.clear();
    NvmlSource source(window, std::chrono::milliseconds(1), [&] {
      Api api = fake_api();
      api.init = [] { return Result{9}; };
      return refuses ? std::optional(api) : std::nullopt;
    });
    source.driver_starts();
    drain(source);
    source.finish(store, clock.latest_ns());
    EXPECT_THAT(outcome(), HasSubstr(refuses ? "NVML error 9" : "no libnvidia-ml"));
  }
  EXPECT_THAT(store.tracks(), SizeIs(0));
}

TEST_F(NvmlSourceTest, samples_only_while_the_program_is_recorded) {
  CaptureWindow filtered{StepRange{5, 6}};
  NvmlSource source(filtered, std::chrono::milliseconds(1), [] { return std::optional(fake_api()); });
  source.driver_starts();
  drain(source);
  for (int i = 0; i < 5; ++i) drain(source);
  EXPECT_THAT(store.tracks(), SizeIs(0));
  filtered.thread_begins_annotating();
  filtered.thread_enters_window();
  drain_until_tracks(source, 1);
  EXPECT_GT(store.tracks().size(), 0U);
  source.finish(store, clock.latest_ns());
}

TEST_F(NvmlSourceTest, a_program_that_ends_at_once_is_not_held_up) {
  NvmlSource source(window, std::chrono::hours(1), [] { return std::optional(fake_api()); });
  source.driver_starts();
  drain(source);
  source.program_exits();
  source.finish(store, clock.latest_ns());  // a test that hangs here fails by its time limit
  source.release();
}

}  // namespace
}  // namespace stepscope::tracer::nvml
