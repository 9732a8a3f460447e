// The analyzer must find in synthetic runs what their truth.json says, to the nanosecond.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/trace/synth/synthetic_run.h"
#include "trace/file/summaries.h"
#include "trace/file/trace_file.h"
#include "trace/synth/process/faults.h"
#include "trace/synth/synth.h"

namespace stepscope::synth {
namespace {

using analyzer::Analysis;
using namespace made;

class EveryPattern : public testing::TestWithParam<std::tuple<char const*, int32_t>> {
 protected:
  /// Two cycles and some steps more.
  SyntheticRun run_{std::get<0>(GetParam()), std::get<1>(GetParam()), 60'000};
};

TEST_P(EveryPattern, StepsAreSplitAsTheTruthSays) {
  Analysis const analysis = analyzer::analyze(run_.open());
  ASSERT_EQ(analysis.step_source, analyzer::StepSource::kAnnotation);
  EXPECT_EQ(analysis.ops_outside_steps, 0U);
  ASSERT_EQ(analysis.steps.size(), run_.truth.at("steps").size());
  ASSERT_GE(static_cast<int64_t>(analysis.steps.size()), kCycle * std::get<1>(GetParam()));

  for (analyzer::StepStats const& step : analysis.steps) {
    json const found = time_of(step.window, step.time);
    EXPECT_EQ(found, same_members(step_of(run_.truth, step.ref.rank_index, step.step), found))
        << "rank " << step.ref.rank_index << " step " << step.step;
  }
}

TEST_P(EveryPattern, DevicesAreSplitAndCountedAsTheTruthSays) {
  model::Run const run = run_.open();
  Analysis const analysis = analyzer::analyze(run);
  ASSERT_EQ(analysis.devices.size(), run_.truth.at("devices").size());

  for (analyzer::DeviceStats const& device : analysis.devices) {
    auto const rank = static_cast<size_t>(device.ref.rank_index);
    json found = time_of(device.window, device.time);
    found["kernels"] = device.kernels;
    found["copies"] = device.copies;
    found["collectives"] = device.collectives;
    found["launches"] = device.launches;
    found["peak_allocated_bytes"] = device.memory.peak_allocated_bytes.value_or(0);
    found["events"] = run.ranks[rank].trace.event_count();
    found["offset_ns"] = run.ranks[rank].offset_ns;
    EXPECT_EQ(found, same_members(run_.truth.at("devices")[rank], found));
  }
}

TEST_P(EveryPattern, CollectivesAreFoundOnAllTheirParticipants) {
  Analysis const analysis = analyzer::analyze(run_.open());

  std::map<std::tuple<uint64_t, uint64_t>, int64_t> found;
  for (analyzer::CollectiveStats const& collective : analysis.collectives) {
    ++found[{collective.communicator, collective.bytes}];
    EXPECT_EQ(collective.participants.size(), collective.expected_participants);
  }

  std::map<std::tuple<uint64_t, uint64_t>, int64_t> expected;
  for (json const& line : run_.truth.at("collectives"))
    expected[{line.at("communicator"), line.at("bytes")}] = line.at("count");

  EXPECT_EQ(found, expected);
}

TEST_P(EveryPattern, NothingIsWrongWithTheTraces) {
  for (model::RankTrace const& rank : run_.open().ranks) {
    model::ImportLog const& log = rank.trace.log();
    EXPECT_EQ(log.unmatched_launches, 0U);
    EXPECT_EQ(log.unmatched_ops, 0U);
    EXPECT_EQ(log.negative_latencies, 0U);
    EXPECT_EQ(log.overlapping_slices, 0U);
    EXPECT_EQ(log.negative_durations, 0U);
    EXPECT_FALSE(log.truncated);
  }
}

/// How much less idle time of its cause an injected fault may show. The other ranks wait for a late
/// peer from the moment at which they arrive, which is not the moment at which its delay begins. An
/// allocation of the host comes before `dependency` in the order of causes.
int64_t allowed_shortfall_ns(std::string const& cause, int64_t cost_ns) {
  if (cause == "peer") return cost_ns / 5;
  return cause == "dependency" ? 20'000 : 0;
}

TEST_P(EveryPattern, AnInjectedFaultCostsItsTimeAndNothingElseIsUnexplained) {
  std::map<std::string, int> injected;
  for (json const& line : run_.truth.at("steps")) {
    EXPECT_EQ(line.at("idle_ns").at("unexplained"), 0) << line;
    if (line.at("injected").is_null()) continue;
    std::string const cause = line.at("injected").at("cause");
    ++injected[cause];

    // Stages end at different times anyway: there the wait for a late one is longer or shorter than
    // it is late.
    if (cause == "peer" && std::get<0>(GetParam()) == std::string_view("pipeline")) continue;
    int64_t const cost = line.at("injected").at("ns");
    EXPECT_GE(line.at("idle_ns").at(cause), cost - allowed_shortfall_ns(cause, cost)) << line;
    EXPECT_LE(line.at("idle_ns").at(cause), cost + cost / 5) << line;
  }

  EXPECT_EQ(injected.size(), std::get<1>(GetParam()) > 1 ? 6U : 5U);
}

TEST_P(EveryPattern, PartsSumToTheWindow) {
  for (json const& line : run_.truth.at("steps")) {
    int64_t sum = line.at("compute_ns").get<int64_t>() + line.at("exposed_comm_ns").get<int64_t>() +
                  line.at("exposed_copy_ns").get<int64_t>();
    for (auto const& [cause, ns] : line.at("idle_ns").items()) sum += ns.get<int64_t>();
    EXPECT_EQ(sum, line.at("end_ns").get<int64_t>() - line.at("begin_ns").get<int64_t>());
  }
}

INSTANTIATE_TEST_SUITE_P(Synth, EveryPattern,
                         testing::Values(std::tuple{"dp", 1}, std::tuple{"dp", 3},
                                         std::tuple{"pipeline", 1}, std::tuple{"pipeline", 4},
                                         std::tuple{"moe", 1}, std::tuple{"moe", 3}),
                         [](auto const& made) {
                           return std::string(std::get<0>(made.param)) + "_" +
                                  std::to_string(std::get<1>(made.param));
                         });

TEST(SynthStraggler, IsFoundInItsSteps) {
  SyntheticRun const made("dp", 4, 30'000);
  json const& straggler = made.truth.at("straggler");
  analyzer::AnalyzeOptions options;
  options.steps = {straggler.at("first_step"), straggler.at("last_step")};
  Analysis const analysis = analyzer::analyze(made.open(), options);

  auto const finding =
      std::find_if(analysis.findings.begin(), analysis.findings.end(),
                   [](analyzer::Finding const& f) { return f.rule == "straggler"; });

  ASSERT_NE(finding, analysis.findings.end());
  EXPECT_EQ(finding->where->rank_index, straggler.at("rank"));
}

TEST(SynthPipeline, TheBubbleIsThatOfTheSchedule) {
  SyntheticRun const made("pipeline", 4, 5'000);
  // 1F1B: every stage idles for the time that stages − 1 micro-batches take, mostly in its
  // receives. The time that the crossings take lengthens it.
  for (int64_t rank = 0; rank < 4; ++rank) {
    json const& step = step_of(made.truth, rank, 1);
    double const whole =
        static_cast<double>(step.at("end_ns").get<int64_t>() - step.at("begin_ns").get<int64_t>());
    EXPECT_NEAR(step.at("exposed_wait_ns").get<double>() / whole, 3.0 / (8 + 3), 0.08) << rank;
  }
}

TEST(SynthFiles, TheSameOptionsGiveTheSameBytes) {
  SyntheticRun const first("moe", 2, 20'000, 7);
  SyntheticRun const second("moe", 2, 20'000, 7);
  SyntheticRun const other("moe", 2, 20'000, 8);
  for (char const* const name : {"rank-0.stepscope", "rank-1.stepscope", "truth.json"}) {
    EXPECT_TRUE(read_bytes(first.folder.file(name)) == read_bytes(second.folder.file(name)))
        << name;
    EXPECT_FALSE(read_bytes(first.folder.file(name)) == read_bytes(other.folder.file(name)))
        << name;
  }
}

TEST(SynthFiles, AShorterRunIsTheBeginningOfALongerOne) {
  SyntheticRun const shorter("dp", 2, 10'000);
  SyntheticRun const longer("dp", 2, 20'000);
  auto const& steps = shorter.truth.at("steps");
  ASSERT_LT(steps.size(), longer.truth.at("steps").size());
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], longer.truth.at("steps")[i]);
}

TEST(SynthFiles, HoldTheEventsAskedForToTheEndOfTheStep) {
  SyntheticRun const one_step("dp", 2, 1);
  EXPECT_EQ(one_step.summary.steps, 1);
  uint64_t const a_step = one_step.summary.events / 2;
  // More than a block of each track.
  SyntheticRun const made("dp", 2, 250'000);
  for (model::RankTrace const& rank : made.open().ranks) {
    EXPECT_GE(rank.trace.event_count(), 250'000U);
    EXPECT_LT(rank.trace.event_count(), 250'000U + 2 * a_step);
  }
}

TEST(SynthFiles, OpenBySummariesThatAreThoseOfTheirEvents) {
  SyntheticRun const made("moe", 2, 200'000);  // several blocks of each track

  auto const file = file::TraceFile::open(made.folder.file("rank-1.stepscope"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->has_summaries());
  auto const trace = file->read();
  ASSERT_TRUE(trace);

  EXPECT_EQ(*file->steps(), file::steps_of(*trace));
  for (uint32_t track = 0; track < file->tracks().size(); ++track) {
    auto const summary = file->summary(model::TrackId{track});
    ASSERT_TRUE(summary);
    auto const rows = trace->rows_of(model::TrackId{track});

    std::vector<std::vector<model::Interval>> busy(model::kOpClassCount);
    uint64_t starts = 0;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      busy[static_cast<size_t>(model::kind_info(trace->kind(row)).op_class)].push_back(
          {trace->start(row), trace->end(row)});

    for (uint32_t const count : summary->starts) starts += count;
    EXPECT_EQ(starts, rows.size()) << file->tracks()[track].name;

    for (size_t op_class = 1; op_class < model::kOpClassCount; ++op_class) {
      model::IntervalSet const whole = model::unite(busy[op_class]);
      for (size_t bin = 0; bin < summary->size(); ++bin) {
        model::Interval const when{summary->begin[bin], summary->bin_end(bin)};
        ASSERT_EQ(summary->busy[op_class][bin], model::measure(model::clip(whole, when)))
            << file->tracks()[track].name << bin;
      }
    }
  }
}

TEST(SynthFiles, AFolderThatIsNotThereIsAnError) {
  SynthOptions options;
  options.pattern = find_pattern("dp");
  options.events_per_rank = 1;
  auto const made = make_run(options, "/nonexistent/run");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("/nonexistent/run"));
}

TEST(SynthFiles, OneThatIsThereIsNotOverwritten) {
  SyntheticRun const made("dp", 1, 1);
  SynthOptions options;
  options.pattern = find_pattern("dp");
  options.events_per_rank = 5'000;
  std::string const before = read_bytes(made.folder.file("rank-0.stepscope"));
  auto const again = make_run(options, made.folder.path());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, testing::HasSubstr("exists"));
  EXPECT_TRUE(read_bytes(made.folder.file("rank-0.stepscope")) == before);
}

}  // namespace
}  // namespace stepscope::synth
