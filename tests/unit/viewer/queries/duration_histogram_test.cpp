#include "viewer/queries/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/viewer/scenes.h"
#include "viewer/queries/memory_owners.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

Scene with_durations(std::vector<int64_t> const& durations) {
  return scene_of([&](model::TraceBuilder& builder) {
    auto const stream = add_stream(builder);
    int64_t at = 0;

    for (int64_t const duration : durations) {
      builder.events(stream).add(model::EventKind::kKernel, at, duration, builder.intern("k"), 0,
                                 model::KernelDetail{});
      builder.events(stream).add(model::EventKind::kKernel, at + duration, 7,
                                 builder.intern("other"), 0, model::KernelDetail{});
      at += duration + 10;
    }
  });
}

void expect_partition(DurationHistogram const& histogram, std::vector<int64_t> durations) {
  std::sort(durations.begin(), durations.end());
  ASSERT_EQ(histogram.count, durations.size());
  EXPECT_EQ(histogram.shortest_ns, durations.front());
  EXPECT_EQ(histogram.longest_ns, durations.back());
  EXPECT_EQ(histogram.median_ns, durations[(durations.size() - 1) / 2]);

  int64_t next = durations.front();
  for (auto const& bin : histogram.bins) {
    EXPECT_EQ(bin.from_ns, next);
    EXPECT_GE(bin.until_ns, bin.from_ns);
    uint64_t count = 0;
    int64_t total = 0;
    for (int64_t const duration : durations)
      if (duration >= bin.from_ns && duration <= bin.until_ns) {
        ++count;
        total += duration;
      }

    EXPECT_EQ(bin.count, count);
    EXPECT_EQ(bin.total_ns, total);
    next = bin.until_ns + 1;
  }

  EXPECT_EQ(next, durations.back() + 1);
}

TEST(DurationHistogram, PutsEveryCallIntoOneBin) {
  for (std::vector<int64_t> const& durations : {std::vector<int64_t>{5},
                                                {0},
                                                {0, 0, 1},
                                                {1000, 1000, 1000},
                                                {1, 10, 100, 1000, 1'000'000, int64_t{1} << 50},
                                                {100, 101, 102, 103, 103, 150}}) {
    Scene const scene = with_durations(durations);

    for (uint32_t const bins : {1U, 3U, 40U})
      expect_partition(duration_histogram(scene, {{0, 0}, "k", bins}), durations);
  }
}

TEST(DurationHistogram, CountsAsTheAnalysisDoes) {
  Scene const scene =
      synthetic_scene({.devices = 2, .steps = 20, .process_per_device = true, .jitter = 0.2});

  for (auto const& kernel : scene.analysis.kernels) {
    auto const histogram = duration_histogram(scene, {kernel.ref, printable_name(kernel.name), 40});
    EXPECT_EQ(histogram.count, kernel.count) << kernel.name;
    EXPECT_EQ(histogram.shortest_ns, kernel.min_ns);
    EXPECT_EQ(histogram.longest_ns, kernel.max_ns);

    int64_t total = 0;
    for (auto const& bin : histogram.bins) total += bin.total_ns;
    EXPECT_EQ(total, kernel.total_ns);
    EXPECT_LE(histogram.bins.size(), 40U);
  }
}

TEST(DurationHistogram, OfWhatIsNotThereIsEmpty) {
  Scene const scene = with_durations({1, 2, 3});
  EXPECT_EQ(duration_histogram(scene, {{0, 0}, "unknown", 40}).count, 0U);
  EXPECT_EQ(duration_histogram(scene, {{0, 9}, "k", 40}).count, 0U);
  EXPECT_EQ(duration_histogram(scene, {{77, 0}, "k", 40}).count, 0U);
  EXPECT_EQ(duration_histogram(scene, {{-1, 0}, "k", 40}).count, 0U);
}

TEST(OwnersAt, AreThoseOfTheAnalysisAtThePeak) {
  Scene const scene = synthetic_scene(
      {.devices = 2, .steps = 8, .process_per_device = true, .leak_bytes_per_step = 1U << 20});

  for (uint32_t d = 0; d < scene.analysis.devices.size(); ++d) {
    auto const& memory = scene.analysis.devices[d].memory;
    ASSERT_TRUE(memory.peak_owners);
    auto const peak = std::find_if(
        memory.timeline.begin(), memory.timeline.end(),
        [&](auto const& point) { return point.allocated_bytes == *memory.peak_allocated_bytes; });

    auto const owners = owners_at(scene, {d, peak->time_ns});
    ASSERT_TRUE(owners);
    ASSERT_EQ(owners->owners.size(), memory.peak_owners->owners.size());
    for (size_t i = 0; i < owners->owners.size(); ++i) {
      EXPECT_EQ(owners->owners[i].name, memory.peak_owners->owners[i].name);
      EXPECT_EQ(owners->owners[i].bytes, memory.peak_owners->owners[i].bytes);
    }
  }
}

TEST(OwnersAt, SumToWhatIsAllocatedAtAnyTime) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 6, .leak_bytes_per_step = 1U << 20});
  auto const& timeline = scene.analysis.devices[0].memory.timeline;

  for (size_t i = 0; i < timeline.size(); i += 17) {
    // The last point of several at one time holds.
    size_t last = i;
    while (last + 1 < timeline.size() && timeline[last + 1].time_ns == timeline[i].time_ns) ++last;

    auto const owners = owners_at(scene, {0, timeline[i].time_ns});
    ASSERT_TRUE(owners);
    uint64_t sum = owners->other_bytes + owners->before_recording_bytes;
    for (auto const& owner : owners->owners) sum += owner.bytes;
    EXPECT_EQ(sum, timeline[last].allocated_bytes);
  }

  EXPECT_FALSE(owners_at(scene, {0, timeline.front().time_ns - 1}));
  EXPECT_FALSE(owners_at(scene, {9, 0}));
}

}  // namespace
}  // namespace stepscope::viewer
