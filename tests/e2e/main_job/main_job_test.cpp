// The main job, end to end: train, record, analyze, report. What the trace must hold, and what the
// analysis must say.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/e2e/main_job/program.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using analyzer::DeviceRef;
using model::EventKind;
using ::testing::HasSubstr;

/// The last line of the output that is a JSON object: the workload's own counts and clock.
nlohmann::json summary_of(std::string const& output) {
  std::istringstream lines(output);
  nlohmann::json summary;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("{\"")) summary = nlohmann::json::parse(line);
  return summary;
}

/// kSmall with steps that are longer than the file of a window takes to write.
std::string const kSlow = kSmall + " --input-delay-ms 100 ";

class MainJob : public Program {
 protected:
  /// Records a short training of two devices and opens it.
  void record(std::string const& options, std::string const& size = kSmall) {
    Outcome const outcome = stepscope("record -o run -- " + program() +
                                      " run cifar10 --json --device host:2 " + size + options);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    summary_ = summary_of(outcome.output);
    ASSERT_FALSE(summary_.is_null()) << outcome.output;

    auto run = import::open_run(path("run"));
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_EQ(run->ranks.size(), 1U);
    run_ = std::move(*run);
    recorded_ = true;
  }
  /// Whether a recording shows it. What else a busy machine does hides it in one, hardly in three.
  [[nodiscard]] bool shows(std::function<bool(analyzer::Analysis const&)> const& it,
                           std::string const& options, std::string const& size = kSmall) {
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
      std::filesystem::remove_all(path("run"));
      record(options, size);
      if (HasFatalFailure()) return false;
      if (it(analyzer::analyze(run_))) return true;
    }
    return false;
  }
  [[nodiscard]] model::Trace const& trace() const { return run_.ranks.front().trace; }
  [[nodiscard]] uint64_t count(EventKind kind) const {
    auto const& kinds = trace().columns().kind;
    return static_cast<uint64_t>(std::count(kinds.begin(), kinds.end(), kind));
  }

  bool recorded_ = false;
  nlohmann::json summary_;
  model::Run run_;
};

TEST_F(MainJob, TheTraceHoldsEveryLaunchEveryDeviceOpAndNothingElse) {
  record("");
  ASSERT_TRUE(recorded_);

  uint64_t const ops =
      count(EventKind::kKernel) + count(EventKind::kMemcpy) + count(EventKind::kCollective);
  EXPECT_EQ(count(EventKind::kLaunch), summary_["launches"].get<uint64_t>());
  EXPECT_EQ(ops, count(EventKind::kLaunch));
  EXPECT_EQ(count(EventKind::kKernel), summary_["kernels"].get<uint64_t>());
  EXPECT_EQ(count(EventKind::kMemcpy), summary_["copies"].get<uint64_t>());
  EXPECT_EQ(count(EventKind::kCollective), summary_["collectives"].get<uint64_t>());

  model::ImportLog const& log = trace().log();
  EXPECT_EQ(log.dropped, 0U);
  EXPECT_EQ(log.unmatched_launches, 0U);
  EXPECT_EQ(log.unmatched_ops, 0U);
  EXPECT_EQ(log.negative_latencies, 0U);
  EXPECT_EQ(log.overlapping_slices, 0U);
  EXPECT_FALSE(log.truncated);
}

TEST_F(MainJob, BytesCopiedAndReducedAreThoseTheProgramAskedFor) {
  record("");
  ASSERT_TRUE(recorded_);

  uint64_t to_device = 0;
  for (auto const& copy : trace().details<model::CopyDetail>())
    if (copy.direction == model::CopyDirection::kHostToDevice) to_device += copy.bytes;
  EXPECT_EQ(to_device, summary_["host_to_device_bytes"].get<uint64_t>());

  uint64_t reduced = 0;
  for (auto const& collective : trace().details<model::CollectiveDetail>())
    reduced += collective.rank == 0 ? collective.bytes : 0;
  EXPECT_EQ(reduced, summary_["all_reduce_bytes"].get<uint64_t>());
}

TEST_F(MainJob, EveryOpOfTheNetworkRunsOnceAStepOnEveryDevice) {
  record("");
  ASSERT_TRUE(recorded_);
  auto const steps = summary_["steps"].get<uint64_t>();

  std::map<std::pair<int32_t, std::string>, uint64_t> counts;
  for (uint32_t row = 0; row < trace().event_count(); ++row)
    if (trace().kind(row) == EventKind::kKernel)
      ++counts[{trace().track(row).device, std::string(trace().name(row))}];

  std::set<std::string> names;
  for (auto const& [key, n] : counts) {
    EXPECT_EQ(n, steps) << key.second << " on device " << key.first;
    names.insert(key.second);
  }

  for (char const* const layer :
       {"conv1", "pool1", "norm1", "conv2", "norm2", "pool2", "fc1", "fc2", "fc3"}) {
    auto const has = [&](std::string const& part) {
      return std::any_of(names.begin(), names.end(),
                         [&](std::string const& name) { return name.starts_with(layer + part); });
    };
    EXPECT_TRUE(has(".forward")) << layer;
    EXPECT_TRUE(has(".backward")) << layer;
  }
}

TEST_F(MainJob, PartsOfEveryStepAndEveryDeviceSumToItsLength) {
  record("");
  ASSERT_TRUE(recorded_);
  analyzer::Analysis const analysis = analyzer::analyze(run_);

  auto const check = [](analyzer::TimeSplit const& time, int64_t length) {
    int64_t causes = 0;
    for (int64_t const cause : time.idle_by_cause) causes += cause;
    EXPECT_EQ(causes, time.idle_ns);
    EXPECT_EQ(time.compute_ns + time.exposed_comm_ns + time.exposed_copy_ns + time.idle_ns,
              time.window_ns);
    EXPECT_EQ(time.window_ns, length);
  };

  ASSERT_EQ(analysis.steps.size(), 24U);  // 12 on each of two devices
  for (analyzer::StepStats const& step : analysis.steps) check(step.time, step.window.length());
  ASSERT_EQ(analysis.devices.size(), 2U);
  for (analyzer::DeviceStats const& device : analysis.devices)
    check(device.time, device.window.length());
}

TEST_F(MainJob, TheProgramsOwnClockAndTheTraceAgreeOnEachStep) {
  auto const agrees = [&](analyzer::StepStats const& step) {
    auto const own = summary_["devices"][static_cast<size_t>(step.ref.device)]["step_ns"]
                             [static_cast<size_t>(step.step)]
                                 .get<int64_t>();
    double const ratio = static_cast<double>(step.window.length()) / static_cast<double>(own);
    return ratio > 0.99 && ratio < 1.01;
  };

  // Both end with the device's work. A thread may lose its core between the two clocks; all but a
  // few steps must agree.
  auto const nearly_all_agree = [&](analyzer::Analysis const& analysis) {
    auto const agree = std::count_if(analysis.steps.begin(), analysis.steps.end(), agrees);
    return agree > 0 && agree * 10 >= static_cast<std::ptrdiff_t>(analysis.steps.size()) * 9;
  };
  EXPECT_TRUE(shows(nearly_all_agree, ""));
}

TEST_F(MainJob, EveryAllReduceIsMatchedOverBothDevicesAndMemoryHasItsPurposes) {
  record("");
  ASSERT_TRUE(recorded_);

  analyzer::Analysis const analysis = analyzer::analyze(run_);
  EXPECT_EQ(analysis.collectives.size(), summary_["all_reduces"].get<uint64_t>());
  for (analyzer::CollectiveStats const& collective : analysis.collectives)
    EXPECT_EQ(collective.participants.size(), 2U);

  for (analyzer::DeviceStats const& device : analysis.devices) {
    auto const& own = summary_["devices"][static_cast<size_t>(device.ref.device)];
    EXPECT_EQ(device.memory.peak_allocated_bytes, own["peak_allocated_bytes"].get<uint64_t>());
    for (auto const purpose : {model::MemoryPurpose::kWeights, model::MemoryPurpose::kGradients,
                               model::MemoryPurpose::kActivations, model::MemoryPurpose::kInput})
      EXPECT_GT(device.memory.by_purpose_at_peak[static_cast<size_t>(purpose)], 0U)
          << model::to_string(purpose);
  }
}

TEST_F(MainJob, ASlowLoaderIsTheFirstFinding) {
  auto const is_first = [](analyzer::Analysis const& analysis) {
    return !analysis.findings.empty() && analysis.findings.front().rule == "input-bound";
  };
  EXPECT_TRUE(shows(is_first, "--input-delay-ms 50"));
}

TEST_F(MainJob, WithoutADelayTheInputIsNotBlamed) {
  // Steps long enough that a loader thread that loses its core for a moment is no bottleneck.
  auto const is_not_blamed = [](analyzer::Analysis const& analysis) {
    return std::none_of(
        analysis.findings.begin(), analysis.findings.end(), [](analyzer::Finding const& finding) {
          return finding.rule == "input-bound" && finding.severity == analyzer::Severity::kCritical;
        });
  };
  EXPECT_TRUE(
      shows(is_not_blamed, "--no-augment", " --batch 32 --steps 12 --no-evaluate --log-every 0 "));
}

TEST_F(MainJob, StepsLimitsWhatIsRecorded) {
  Outcome const outcome = stepscope("record -o run --steps 4:7 -- " + program() +
                                    " run cifar10 --device host:2 " + kSmall);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run) << run.error().message;
  std::set<int64_t> steps;
  for (analyzer::StepStats const& step : analyzer::analyze(*run).steps) steps.insert(step.step);
  EXPECT_EQ(steps, (std::set<int64_t>{4, 5, 6, 7}));
}

/// How many events of each kind a run has.
std::map<EventKind, int> kinds_of(std::string const& folder) {
  std::map<EventKind, int> kinds;
  auto const run = import::open_run(folder);
  if (!run) return kinds;
  for (model::RankTrace const& rank : run->ranks)
    for (EventKind const kind : rank.trace.columns().kind) ++kinds[kind];
  return kinds;
}

/// A window is what it is alone, but for the allocations that are over by then.
TEST_F(MainJob, EachOfSeveralWindowsIsTheRunThatItWouldBeAlone) {
  std::string const training = " -- " + program() + " run cifar10 --device host:2 " + kSlow;
  Outcome const several = stepscope("record -o several --steps 2:3,8:9" + training);
  ASSERT_EQ(several.code, 0) << several.output;
  EXPECT_THAT(several.output, HasSubstr("recorded 2 trace files of 2 windows"));

  for (char const* const steps : {"2:3", "8:9"}) {
    std::string const name = std::string(steps).replace(1, 1, "-");
    Outcome const alone = stepscope("record -o " + name + " --steps " + steps + training);
    ASSERT_EQ(alone.code, 0) << alone.output;
    auto window = kinds_of(path("several/steps-" + name)), whole = kinds_of(path(name));
    EXPECT_EQ(window[EventKind::kStep], 4) << steps;
    EXPECT_LE(window[EventKind::kMemory], whole[EventKind::kMemory]) << steps;
    EXPECT_GT(window[EventKind::kMemory], 0) << steps;
    for (EventKind const same : {EventKind::kStep, EventKind::kPhase, EventKind::kLaunch,
                                 EventKind::kKernel, EventKind::kMemcpy, EventKind::kCollective})
      EXPECT_EQ(window[same], whole[same]) << steps;
  }

  // The folder may also hold the file of a process that came to no window.
  std::filesystem::copy(path("2-3"), path("several"));
  Outcome const opened = stepscope("analyze several");
  EXPECT_EQ(opened.code, 2);
  EXPECT_THAT(opened.output, HasSubstr("name one of them (steps-2-3, steps-8-9)"));
}

TEST_F(MainJob, WindowsComeAgainAsOftenAsAskedFor) {
  Outcome const outcome = stepscope("record -o run --every 5 --for 2 -- " + program() +
                                    " run cifar10 --device host:2 " + kSlow);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::set<std::string> windows;
  for (auto const& entry : std::filesystem::directory_iterator(path("run"))) {
    windows.insert(entry.path().filename().string());
    EXPECT_EQ(kinds_of(entry.path().string())[EventKind::kStep], 4) << entry.path();
  }
  EXPECT_EQ(windows, (std::set<std::string>{"steps-5-6", "steps-10-11"}));
}

TEST_F(MainJob, WindowsThatCannotBeAreRefused) {
  for (auto const& [options, message] : std::map<std::string, std::string>{
           {"--steps 2:3,4:5", "a step or more between them"},
           {"--steps 8:9,2:3", "begin each window behind the one before"},
           {"--steps 2:3,x", "x: not a range of steps"},
           {"--every 4 --for 4", "leave a step or more between the windows"},
           {"--for 4", "goes with --every"},
           {"--every 40 --steps 2:3", "give one of them"},
           {"--every 1", "--every"},
           {"--every 4 --in-turn other -- true : true", "leave out what says where recording"}}) {
    Outcome const outcome = stepscope("record -o run " + options + " -- true");
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << options;
  }

  Outcome const too_late =
      stepscope("record -o run --every 1000 -- " + program() + " run cifar10 " + kSmall);
  EXPECT_THAT(too_late.output, HasSubstr("did not reach step 1000"));
}

TEST_F(MainJob, ProfileDoesAllOfItInOneCommand) {
  Outcome const outcome = stepscope("profile cifar10 --device host:2 -o run" + kSmall);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(path("run/report.html")));
  std::ifstream json(path("run/analysis.json"));
  EXPECT_EQ(nlohmann::json::parse(json)["schema"], 1);
  EXPECT_EQ(stepscope("analyze run").code, 0);
  Outcome const info = stepscope("info run --json");
  EXPECT_EQ(info.code, 0);
  EXPECT_NE(info.output.find("conv1"), 0U);
}

TEST_F(MainJob, AScalingSeriesIsARecordedRunForEachNumberOfDevices) {
  Outcome const outcome = stepscope("run cifar10 --scale 1,2 -o series" + kSmall);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (size_t const devices : {1U, 2U}) {
    auto const run = import::open_run(path("series/" + std::to_string(devices)));
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(analyzer::analyze(*run).devices.size(), devices);
  }

  // Nothing is trained when one of the folders is taken.
  Outcome const again = stepscope("run cifar10 --scale 3,2 -o series" + kSmall);
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output,
              ::testing::AllOf(::testing::HasSubstr("series/2"), ::testing::HasSubstr("--force")));
  EXPECT_FALSE(std::filesystem::exists(path("series/3")));

  ASSERT_EQ(shell("touch series/2/mine series/2/pathology.json").code, 0);
  EXPECT_EQ(stepscope("run cifar10 --scale 2 -o series --force" + kSmall).code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("series/2/mine")));
  EXPECT_FALSE(std::filesystem::exists(path("series/2/pathology.json")));
}

TEST_F(MainJob, TheLogOfPlacementNamesLayersCopiesAndCollectives) {
  Outcome const outcome = stepscope("run cifar10 --log-placement --device host:2" + kSmall);
  EXPECT_EQ(outcome.code, 0);
  for (char const* const line : {"placement: conv1 on host:0\n", "placement: conv1 on host:1\n",
                                 "placement: h2d.images on host:1\n"})
    EXPECT_THAT(outcome.output, ::testing::HasSubstr(line));
}

}  // namespace
}  // namespace stepscope::e2e
