// Colours of kernels by their change between two runs; the comparison gives the verdicts.
#include "viewer/comparison/change_marks.h"
#include "viewer/timeline/mark_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/unit/viewer/scenes.h"
#include "viewer/panels/compared/run_pair.h"

namespace stepscope::viewer {
namespace {

analyzer::Metric metric_of(double base, double candidate, analyzer::Verdict verdict) {
  analyzer::Metric metric;
  metric.family = analyzer::MetricFamily::kKernel;
  metric.verdict = verdict;
  metric.change.base_mean = base;
  metric.change.candidate_mean = candidate;
  return metric;
}

RunDifference difference_between(Scene const& base, Scene const& candidate) {
  return difference_of(analyzer::sample_run(base.run, base.analysis),
                       analyzer::sample_run(candidate.run, candidate.analysis));
}

TEST(ChangeMark, SaysHowMuchACallChangedAndNothingWhereThatIsNotSure) {
  using analyzer::Verdict;
  EXPECT_EQ(mark_of(metric_of(100, 103, Verdict::kMore)), ChangeMark::kSlower);
  EXPECT_EQ(mark_of(metric_of(100, 106, Verdict::kMore)), ChangeMark::kSlowerTwentieth);
  EXPECT_EQ(mark_of(metric_of(100, 121, Verdict::kMore)), ChangeMark::kSlowerFifth);
  EXPECT_EQ(mark_of(metric_of(100, 151, Verdict::kMore)), ChangeMark::kSlowerHalf);

  EXPECT_EQ(mark_of(metric_of(100, 97, Verdict::kLess)), ChangeMark::kFaster);
  EXPECT_EQ(mark_of(metric_of(100, 94, Verdict::kLess)), ChangeMark::kFasterTwentieth);
  EXPECT_EQ(mark_of(metric_of(100, 79, Verdict::kLess)), ChangeMark::kFasterFifth);
  EXPECT_EQ(mark_of(metric_of(100, 49, Verdict::kLess)), ChangeMark::kFasterHalf);

  EXPECT_EQ(mark_of(metric_of(100, 300, Verdict::kSame)), ChangeMark::kSame);
  EXPECT_EQ(mark_of(metric_of(100, 300, Verdict::kUnclear)), ChangeMark::kUnknown);
  EXPECT_EQ(mark_of(metric_of(0, 300, Verdict::kMore)), ChangeMark::kUnknown);
}

TEST(ChangeMark, HasColoursThatAreToldApartOnBothThemes) {
  for (Theme const theme : {Theme::kDark, Theme::kLight}) {
    std::set<uint32_t> colours;
    for (size_t i = 1; i < kChangeMarkCount; ++i)
      colours.insert(mark_colour(static_cast<ChangeMark>(i), theme));
    EXPECT_EQ(colours.size(), kChangeMarkCount - 1);

    // Every kind of colour blindness distinguishes blue from orange.
    auto const red = [&](ChangeMark mark) { return mark_colour(mark, theme) & 0xFFU; };
    auto const blue = [&](ChangeMark mark) { return mark_colour(mark, theme) >> 16U & 0xFFU; };
    for (ChangeMark const mark : {ChangeMark::kFasterHalf, ChangeMark::kFasterFifth,
                                  ChangeMark::kFasterTwentieth, ChangeMark::kFaster})
      EXPECT_GT(blue(mark), red(mark));
    for (ChangeMark const mark : {ChangeMark::kSlowerHalf, ChangeMark::kSlowerFifth,
                                  ChangeMark::kSlowerTwentieth, ChangeMark::kSlower})
      EXPECT_GT(red(mark), blue(mark));
  }
}

TEST(ChangeMarks, FollowTheComparisonOfKernelsAndCollectives) {
  Scene const base = synthetic_scene({.devices = 2, .steps = 16, .layers = 6});
  Scene const candidate =
      synthetic_scene({.devices = 2, .steps = 16, .layers = 7, .seed = 2, .forward_ns = 1'300'000});
  RunDifference const difference = difference_between(base, candidate);
  ASSERT_TRUE(difference.comparison);
  ASSERT_FALSE(difference.comparison->refusal);

  ChangeMarks const& marks = difference.marks;
  EXPECT_EQ(marks.of_kernel("layer2 forward"), ChangeMark::kSlowerFifth);
  EXPECT_EQ(marks.of_kernel("layer2 backward"), ChangeMark::kSame);
  EXPECT_EQ(marks.of_kernel("layer6 forward"), ChangeMark::kNew);
  EXPECT_EQ(marks.of_kernel("in neither run"), ChangeMark::kUnknown);
  EXPECT_EQ(difference_between(candidate, base).marks.of_kernel("layer6 forward"),
            ChangeMark::kVanished);

  // The metric of each kernel is the one of its own calls.
  auto const& comparison = *difference.comparison;
  ASSERT_EQ(difference.kernel_metrics.size(), comparison.kernels.size());
  for (size_t i = 0; i < comparison.kernels.size(); ++i) {
    if (!difference.kernel_metrics[i]) continue;
    EXPECT_EQ(comparison.metrics[*difference.kernel_metrics[i]].name, comparison.kernels[i].name);
  }

  bool found = false;
  for (auto const& metric : comparison.metrics) {
    if (metric.family != analyzer::MetricFamily::kCollective) continue;
    found = true;
    EXPECT_EQ(marks.of_collective(model::CollectiveOp::kAllReduce, metric.bytes), mark_of(metric));
    EXPECT_EQ(marks.of_collective(model::CollectiveOp::kBroadcast, metric.bytes),
              ChangeMark::kUnknown);
  }
  EXPECT_TRUE(found);
}

TEST(MarkChanges, ColoursTheOpsOfStreamsAndLetsAllElseStepBack) {
  Scene const base = synthetic_scene({.devices = 1, .steps = 16});
  Scene const candidate = synthetic_scene({.devices = 1, .steps = 16, .forward_ns = 1'300'000});
  RunDifference const difference = difference_between(base, candidate);
  ViewState state = initial_view(candidate);

  for (TimeWindow const window :
       {TimeWindow{0, static_cast<double>(candidate.length)}, TimeWindow{20e6, 45e6}}) {
    state.window = window;
    Layout layout = lay_out(candidate, state, {1500, 5000, 1});
    mark_changes(candidate, difference.marks, layout);

    std::map<ChangeMark, int> count;
    for (Row const& row : layout.rows)
      for (uint32_t i = row.first_item; i < row.last_item; ++i) {
        Item const& item = layout.items[i];
        bool const of_stream =
            item.kind != ItemKind::kSegment && candidate.nodes[row.node].kind == NodeKind::kStream;
        if (!of_stream) {
          EXPECT_EQ(item.change, ChangeMark::kOther);
        }
        EXPECT_NE(item.change, ChangeMark::kNone);
        ++count[item.change];

        if (!of_stream || item.kind != ItemKind::kEvent || item.count != 1) continue;
        std::string const name(row.trace().name(item.index));
        if (row.trace().kind(item.index) == model::EventKind::kKernel) {
          EXPECT_EQ(item.change, difference.marks.of_kernel(name)) << name;
        } else if (row.trace().kind(item.index) == model::EventKind::kMemcpy) {
          EXPECT_EQ(item.change, ChangeMark::kUnknown);
        } else if (row.trace().kind(item.index) == model::EventKind::kStreamWait) {
          EXPECT_EQ(item.change, ChangeMark::kOther);
        }
      }

    EXPECT_GT(count[ChangeMark::kSlowerFifth], 0);
    EXPECT_GT(count[ChangeMark::kSame], 0);
  }
}

TEST(MarkChanges, OfAFoldedMarkItIsTheLongestOpThatCounts) {
  Scene const scene = scene_of([](model::TraceBuilder& builder) {
    auto const track = add_stream(builder);
    auto const small = builder.intern("small");
    auto const large = builder.intern("large");
    for (int64_t i = 0; i < 8; ++i)
      builder.events(track).add(model::EventKind::kKernel, i * 100, i == 3 ? 90 : 10,
                                i == 3 ? large : small, 0, model::KernelDetail{});
  });

  analyzer::Comparison comparison;
  comparison.metrics.push_back(metric_of(100, 200, analyzer::Verdict::kMore));
  comparison.metrics.back().name = "large";
  comparison.metrics.push_back(metric_of(100, 20, analyzer::Verdict::kLess));
  comparison.metrics.back().name = "small";

  ViewState state = initial_view(scene);
  state.window = {0, 1e6};
  Layout layout = lay_out(scene, state, {100, 500, 1});
  mark_changes(scene, ChangeMarks(comparison), layout);

  auto const folded = std::find_if(layout.items.begin(), layout.items.end(),
                                   [](Item const& item) { return item.count == 8; });
  ASSERT_NE(folded, layout.items.end());
  EXPECT_EQ(folded->change, ChangeMark::kSlowerHalf);
}

}  // namespace
}  // namespace stepscope::viewer
