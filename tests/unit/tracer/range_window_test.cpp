// --range: the capture window that a range of the program opens and closes.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"

namespace stepscope::tracer {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct RangeWindow : Pipeline {
  explicit RangeWindow(std::string name) : Pipeline(WindowOptions{.range = std::move(name)}) {
    register_device_schemas(registry);
  }
  void launch(uint64_t correlation) {
    api::LaunchPayload const launch = {correlation, 0, 0};
    host.push(device_args("launch", payload(api::DeviceSchema::kLaunch, launch)));
    host.pop(kDeviceDomain);
  }
  void execute(uint64_t correlation) {
    api::KernelPayload const kernel = {correlation, 0, 0, 0, 0};
    executor.push(device_args("op " + std::to_string(correlation),
                              payload(api::DeviceSchema::kKernel, kernel)));
    executor.pop(kDeviceDomain);
  }
  std::vector<std::string> recorded() {
    finish();
    return names();
  }
  ThreadRecorder& host = *source.attach(1);
  ThreadRecorder& executor = *source.attach(2);
};

TEST(RangeWindowTest, records_the_first_range_of_that_name_what_is_in_it_and_nothing_else) {
  RangeWindow window("epoch 3");
  for (auto const* const name : {"epoch 2", "epoch 3", "epoch 3"}) {
    window.host.push(named(name));
    window.host.push(named("inside"));
    window.host.pop(kDefaultDomain);
    window.host.pop(kDefaultDomain);
  }
  EXPECT_TRUE(window.window.is_over());
  EXPECT_THAT(window.recorded(), UnorderedElementsAre("epoch 3", "inside"));
}

TEST(RangeWindowTest, opens_by_the_short_calls_of_nvtx_too) {
  RangeWindow window("epoch");
  window.host.push_text(kDefaultDomain, "before");
  window.host.pop(kDefaultDomain);

  window.host.push_text(kDefaultDomain, "epoch");
  window.host.push_text(kDefaultDomain, "inside");
  window.host.pop(kDefaultDomain);
  EXPECT_FALSE(window.window.is_over());

  window.host.pop(kDefaultDomain);
  EXPECT_TRUE(window.window.is_over());
  EXPECT_THAT(window.recorded(), UnorderedElementsAre("epoch", "inside"));
}

TEST(RangeWindowTest, knows_registered_names) {
  RangeWindow window("epoch");
  window.host.push_handle(kDefaultDomain, window.registry.text("other"));
  EXPECT_EQ(window.window.mode(), CaptureMode::kBaseline);
  window.host.push_handle(kDefaultDomain, window.registry.text("epoch"));
  EXPECT_EQ(window.window.mode(), CaptureMode::kRecording);
}

TEST(RangeWindowTest, takes_only_the_named_domain) {
  RangeWindow window("step@library");
  uint16_t const library = window.registry.domain("library");

  window.host.push(named("step", window.registry.domain("another")));
  window.host.push(named("step"));
  EXPECT_EQ(window.window.mode(), CaptureMode::kBaseline);

  window.host.push(named("step", library));
  EXPECT_EQ(window.window.mode(), CaptureMode::kRecording);

  window.host.pop(kDefaultDomain);
  EXPECT_FALSE(window.window.is_over()) << "the range of another domain ended";
  window.host.pop(library);
  EXPECT_TRUE(window.window.is_over());
}

TEST(RangeWindowTest, a_name_may_begin_with_the_sign_of_domains) {
  RangeWindow window("@profile");
  window.host.push(named("@profile"));
  EXPECT_EQ(window.window.mode(), CaptureMode::kRecording);
}

TEST(RangeWindowTest, an_inner_range_of_that_name_does_not_end_it) {
  RangeWindow window("step");
  window.host.push(named("step"));
  window.host.push(named("step"));
  window.host.pop(kDefaultDomain);
  EXPECT_FALSE(window.window.is_over());
  window.host.pop(kDefaultDomain);
  EXPECT_TRUE(window.window.is_over());
}

TEST(RangeWindowTest, start_end_ranges_may_end_on_another_thread) {
  RangeWindow window("request");
  ThreadRecorder& other = *window.source.attach(3);
  other.end(kDefaultDomain, other.start(named("earlier")));

  uint64_t const range = window.host.start(named("request"));
  uint64_t const inner = window.host.start(named("inner"));
  other.end(kDefaultDomain, inner);
  EXPECT_FALSE(window.window.is_over());

  other.end(kDefaultDomain, range);
  EXPECT_TRUE(window.window.is_over());
  EXPECT_THAT(window.recorded(), UnorderedElementsAre("request", "inner"));
}

TEST(RangeWindowTest, ends_with_the_thread_that_left_it_open) {
  RangeWindow window("step");
  window.host.push(named("step"));
  window.host.close({"gone"});
  EXPECT_TRUE(window.window.is_over());
}

TEST(RangeWindowTest,
     device_ops_launched_inside_are_recorded_and_waited_for_when_they_run_behind_it) {
  RangeWindow window("step");

  window.launch(1);
  window.host.push(named("step"));
  window.launch(2);
  window.host.pop(kDefaultDomain);
  window.launch(3);

  window.execute(1);
  window.drain();
  EXPECT_FALSE(window.source.idle()) << "op 2 has still to run";

  window.execute(2);
  window.execute(3);
  window.drain();
  EXPECT_TRUE(window.source.idle());
  EXPECT_THAT(window.recorded(), UnorderedElementsAre("step", "launch", "op 2"));
}

TEST(RangeWindowTest, ranges_that_are_open_at_its_end_end_when_they_end) {
  RangeWindow window("step");

  window.executor.push(named("before"));
  window.host.push(named("step"));
  window.executor.push(named("longer"));
  window.host.pop(kDefaultDomain);
  window.executor.push(named("behind"));
  for (int i = 0; i < 3; ++i) window.executor.pop(kDefaultDomain);

  window.finish();
  auto const rows = window.rows();
  ASSERT_THAT(window.names(), UnorderedElementsAre("step", "longer"));
  int64_t const end_of_step =
      rows[0].name == "step" ? rows[0].start + rows[0].dur : rows[1].start + rows[1].dur;
  int64_t const end_of_longer =
      rows[0].name == "longer" ? rows[0].start + rows[0].dur : rows[1].start + rows[1].dur;
  EXPECT_GT(end_of_longer, end_of_step);
}

TEST(RangeWindowTest, nothing_is_recorded_when_no_range_has_the_name) {
  RangeWindow window("step");
  window.host.push(named("steps"));
  window.host.push(named("ste"));
  window.host.mark(named("step"));
  EXPECT_THAT(window.recorded(), IsEmpty());
}

}  // namespace
}  // namespace stepscope::tracer
