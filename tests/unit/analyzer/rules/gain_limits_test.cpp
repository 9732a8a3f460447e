// Findings promise no more than a remedy can give: limits by blocked time, work to hide behind,
// devices in use, and the bottleneck.
#include "analyzer/rules/gain_limits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/analyze.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {
namespace gain_limits {

using model::EventKind;
using testing_support::WorkRun;

constexpr int64_t kUs = 1000, kMs = 1000 * kUs;

Finding const* find_named(std::vector<Finding> const& findings, std::string_view rule) {
  auto const at = std::find_if(findings.begin(), findings.end(),
                               [&](Finding const& finding) { return finding.rule == rule; });
  return at == findings.end() ? nullptr : &*at;
}

std::string subject(Finding const& finding, std::string_view role) {
  for (auto const& [key, name] : finding.subjects)
    if (key == role) return name;
  return {};
}

std::optional<double> metric(Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key) return value;
  return std::nullopt;
}

void add_sync(WorkRun& run, int64_t begin, int64_t dur) {
  run.builder()
      .events(run.thread())
      .add(EventKind::kSync, begin, dur, run.builder().intern("cudaDeviceSynchronize"), 0,
           model::SyncDetail{});
}

/// Eight steps of 300 ms. The host waits `blocked` ns for the device, which works for as long. Then
/// one Python function decodes a video for 200 ms in many short frames, before the next launch.
Analysis steps_that_decode(int64_t blocked) {
  WorkRun run;
  for (int64_t i = 0; i < 8; ++i) {
    int64_t const begin = i * 300 * kMs;
    run.step(begin, 299 * kMs, i);
    uint64_t const call = run.launch(begin, 10 * kUs);
    run.kernel(begin + 10 * kUs, blocked, call);
    add_sync(run, begin + 20 * kUs, blocked);

    int64_t const decode = begin + 20 * kUs + blocked + 5 * kUs;
    run.range(decode, 200 * kMs, "video.py(25): read_video_pyav");
    for (int64_t frame = 0; frame < 100; ++frame)
      run.range(decode + frame * 2 * kMs, 1 * kMs, "<built-in method to_ndarray>");

    uint64_t const next = run.launch(decode + 200 * kMs, 10 * kUs);
    run.kernel(decode + 200 * kMs + 10 * kUs, 40 * kMs, next);
  }
  return analyze(run.finish());
}

TEST(BlockingSync, CostsNoMoreThanTheHostWasBlocked) {
  Analysis const analysis = steps_that_decode(20 * kUs);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings[0].rule, "host-bound-launches");
  EXPECT_EQ(subject(analysis.findings[0], "host_op"), "video.py(25): read_video_pyav");
  EXPECT_GT(*analysis.findings[0].cost_ns_per_step, 199 * kMs);
  EXPECT_EQ(find_named(analysis.findings, "blocking-sync"), nullptr);
}

/// The device works for 40 of about 60 ms while the host is blocked; afterwards the host needs
/// `way` ns to its next launch.
Analysis steps_with_sync(int64_t way) {
  WorkRun run;
  for (int64_t i = 0; i < 8; ++i) {
    int64_t const begin = i * (40 * kMs + way);
    run.step(begin, 40 * kMs + way - 1, i);
    run.kernel(begin + 10 * kUs, 40 * kMs - 20 * kUs, run.launch(begin, 10 * kUs));
    add_sync(run, begin + 20 * kUs, 40 * kMs - 20 * kUs);
  }
  return analyze(run.finish());
}

TEST(BlockingSync, CostsTheWayToTheNextLaunchWhereTheHostWasBlockedForLonger) {
  Analysis const analysis = steps_with_sync(10 * kMs);
  Finding const* const finding = find_named(analysis.findings, "blocking-sync");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(*finding->cost_ns_per_step), 10e6, 0.1e6);
  EXPECT_EQ(find_named(analysis.findings, "host-bound-launches"), nullptr);
}

TEST(BlockingSync, LeavesToTheHostWhatIsLongerThanTheHostWasBlocked) {
  Analysis const analysis = steps_with_sync(100 * kMs);
  ASSERT_NE(find_named(analysis.findings, "blocking-sync"), nullptr);
  EXPECT_NEAR(
      static_cast<double>(*find_named(analysis.findings, "blocking-sync")->cost_ns_per_step), 40e6,
      0.1e6);
  ASSERT_NE(find_named(analysis.findings, "host-bound-launches"), nullptr);
  EXPECT_NEAR(
      static_cast<double>(*find_named(analysis.findings, "host-bound-launches")->cost_ns_per_step),
      60e6, 0.1e6);
}

/// One device with one step of 1000 ns: `compute`, and communication that is exposed for as long as
/// the finding costs.
struct Limited {
  MeasuredDevice device;
  Finding finding;
  Limited(char const* rule, int64_t compute, int64_t cost) {
    device.has_steps = true;
    device.periods = {{0, 1000}};
    device.total_ns = 1000;
    device.compute_ns = compute;
    device.comm_ns = device.exposed_comm_ns = cost;
    device.idle[static_cast<size_t>(IdleCause::kLaunchBound)] = 1000 - compute - cost;
    finding = make_cost_finding(rule, device, static_cast<double>(cost));
  }
  Finding limit() {
    model::Run const run;
    Analysis const facts;
    MeasuredSteps const steps;
    std::vector<MeasuredDevice> const measured = {device};
    std::vector<Finding> findings = {finding};
    limit_gains({run, facts, measured, steps}, findings);
    return findings[0];
  }
};

TEST(Gains, OfHidingAreBoundedByTheWorkToHideBehind) {
  Finding const little = Limited("exposed-communication", 100, 500).limit();
  EXPECT_DOUBLE_EQ(*little.gain_if_hidden, 1000.0 / 900 - 1);
  EXPECT_DOUBLE_EQ(*little.gain_ceiling, 1.0);
  Finding const enough = Limited("exposed-communication", 500, 500).limit();
  EXPECT_DOUBLE_EQ(*enough.gain_if_hidden, *enough.gain_ceiling);
  EXPECT_FALSE(Limited("tensor-cores-unused", 500, 500).limit().gain_if_hidden);
}

TEST(Gains, AreNotPromisedForDevicesThatAreHardlyUsed) {
  Finding const hardly = Limited("host-bound-launches", 99, 0).limit();
  EXPECT_FALSE(hardly.gain_ceiling);
  EXPECT_NEAR(metric(hardly, "busy_share").value_or(0), 0.099, 1e-9);
  Finding const used = Limited("host-bound-launches", 101, 0).limit();
  EXPECT_TRUE(used.gain_ceiling);
  EXPECT_FALSE(metric(used, "busy_share"));
}

/// Findings about the device, the host and a straggler, by severity. The critical path is `of_host`
/// ns on the host and `of_device` ns on the device. For `bare` of the host's part the trace has no
/// event but the step. The device was launch-bound for `late`.
std::vector<Finding> ordered_by_bottleneck(int64_t of_host, int64_t of_device, int64_t bare = 0,
                                           int64_t late = 0) {
  Analysis analysis;
  auto const add = [&](char const* rule, Severity severity) {
    Finding& finding = analysis.findings.emplace_back();
    finding.rule = rule;
    finding.severity = severity;
    finding.gain_ceiling = 0.5;
  };

  add("exposed-communication", Severity::kCritical);
  add("straggler", Severity::kCritical);
  add("tensor-cores-unused", Severity::kWarning);
  add("host-bound-launches", Severity::kWarning);
  add("trace-quality", Severity::kInfo);

  analysis.critical_path.emplace();
  analysis.critical_path->by_class[static_cast<size_t>(PathClass::kHost)] = of_host;
  analysis.critical_path->by_class[static_cast<size_t>(PathClass::kCompute)] = of_device;
  analysis.critical_path->bare_host_ns = bare;
  analysis.devices.emplace_back().time.idle_by_cause[static_cast<size_t>(IdleCause::kLaunchBound)] =
      late;

  put_bottleneck_first(analysis);
  return analysis.findings;
}

TEST(Bottleneck, OfTheHostComesBeforeWhatOnlyAFasterHostMakesWorthwhile) {
  std::vector<Finding> const findings = ordered_by_bottleneck(51, 49);
  std::vector<std::string> rules;
  for (Finding const& finding : findings) rules.push_back(finding.rule);

  EXPECT_EQ(rules,
            (std::vector<std::string>{"straggler", "host-bound-launches", "exposed-communication",
                                      "tensor-cores-unused", "trace-quality"}));

  EXPECT_EQ(findings[2].severity, Severity::kWarning) << "no graver than the host";
  EXPECT_EQ(subject(findings[2], "bottleneck"), "host");
  EXPECT_FALSE(findings[2].gain_ceiling);
  EXPECT_TRUE(findings[0].gain_ceiling);
  EXPECT_TRUE(findings[1].gain_ceiling);
}

TEST(Bottleneck, OfTheDeviceChangesNothing) {
  std::vector<Finding> const findings = ordered_by_bottleneck(49, 51);
  EXPECT_EQ(findings[0].rule, "exposed-communication");
  EXPECT_EQ(findings[0].severity, Severity::kCritical);
  EXPECT_TRUE(findings[0].gain_ceiling);
  EXPECT_EQ(subject(findings[0], "bottleneck"), "");
}

TEST(Bottleneck, IsNotTheHostWhereOnlyTheStepShowsItsWork) {
  EXPECT_EQ(subject(ordered_by_bottleneck(80, 20, 70, 9)[0], "bottleneck"), "")
      << "19 of the host, 20 of the device";
  EXPECT_EQ(ordered_by_bottleneck(80, 20, 70, 9)[0].rule, "exposed-communication");
  EXPECT_EQ(ordered_by_bottleneck(80, 20, 70, 11)[0].rule, "straggler")
      << "the device waited for the host";
  EXPECT_EQ(ordered_by_bottleneck(80, 20, 50, 0)[0].rule, "straggler")
      << "30 of the host, 20 of the device";
}

/// Five steps of 1 ms; between two kernels the device copies for 300 µs in `direction`.
Analysis steps_with_copies(model::CopyDirection direction, uint8_t pinned) {
  WorkRun run;
  for (int64_t i = 0; i < 5; ++i) {
    int64_t const begin = i * kMs;
    run.step(begin, kMs - 1, i);
    run.kernel(begin + 10 * kUs, 600 * kUs, run.launch(begin, 5 * kUs));

    model::CopyDetail copy;
    copy.bytes = 1U << 20U;
    copy.direction = direction;
    copy.pinned = pinned;
    run.copy(begin + 610 * kUs, 300 * kUs, run.launch(begin + 5 * kUs, 5 * kUs, "cudaMemcpyAsync"),
             "Memcpy", copy, 7);
  }
  return analyze(run.finish());
}

TEST(SerializedCopies, DistinguishCopiesWithinTheDeviceFromThoseOfTheHost) {
  Analysis const within = steps_with_copies(model::CopyDirection::kDeviceToDevice, 0);
  Finding const* const of_device = find_named(within.findings, "serialized-copies");
  ASSERT_NE(of_device, nullptr);
  EXPECT_EQ(subject(*of_device, "copies"), "within_device");
  EXPECT_EQ(subject(*of_device, "memory"), "");
  EXPECT_EQ(within.devices[0].slow.device_copy_ns, 5 * 300 * kUs);

  Analysis const pinned = steps_with_copies(model::CopyDirection::kHostToDevice, 1);
  Finding const* const of_host = find_named(pinned.findings, "serialized-copies");
  ASSERT_NE(of_host, nullptr);
  EXPECT_EQ(subject(*of_host, "copies"), "host");
  EXPECT_EQ(subject(*of_host, "memory"), "pinned");
  EXPECT_EQ(pinned.devices[0].slow.device_copy_ns, 0);
}

/// The host launches a kernel and copies its result: the call of the copy lasts until the copy is
/// over.
Analysis path_of_blocking_copy(std::string const& call, uint8_t pinned) {
  WorkRun run;
  for (int64_t i = 0; i < 4; ++i) {
    int64_t const begin = i * 300 * kUs;
    run.kernel(begin + 10 * kUs, 200 * kUs, run.launch(begin, 5 * kUs));

    model::CopyDetail copy;
    copy.direction = model::CopyDirection::kDeviceToHost;
    copy.pinned = pinned;
    run.copy(begin + 210 * kUs, 50 * kUs, run.launch(begin + 20 * kUs, 250 * kUs, call),
             "Memcpy DtoH", copy, 7);
  }
  return analyze(run.finish());
}

TEST(CriticalPath, ACallThatWaitsForItsCopyLaunchesItAtItsBegin) {
  for (auto const& [call, pinned] :
       {std::pair<char const*, uint8_t>{"cudaMemcpyAsync", 0}, {"cudaMemcpy", 1}}) {
    PathSplit const path = path_of_blocking_copy(call, pinned).critical_path->by_class;
    EXPECT_EQ(path[static_cast<size_t>(PathClass::kCompute)], 4 * 200 * kUs) << call;
    EXPECT_EQ(path[static_cast<size_t>(PathClass::kCopy)], 4 * 50 * kUs) << call;
  }
  PathSplit const path = path_of_blocking_copy("cudaMemcpyAsync", 1).critical_path->by_class;
  EXPECT_LE(path[static_cast<size_t>(PathClass::kCompute)], 200 * kUs)
      << "the call is not known to wait for pinned memory";
}

/// A kernel whose launch is not recorded, 30 µs after the step's begin; then one that was launched
/// 100 µs before it starts.
Analysis steps_with_unexplained_time() {
  WorkRun run;
  run.step(0, 400 * kUs, 0);
  run.kernel(30 * kUs, 100 * kUs, 0);
  for (int64_t i = 0; i < 3; ++i) {
    uint64_t const call = run.launch(40 * kUs + i * 5 * kUs, 4 * kUs);
    run.kernel(230 * kUs + i * 20 * kUs, 20 * kUs, call);
  }
  return analyze(run.finish());
}

TEST(UnexplainedIdle, DistinguishesTheFirstGapFromQueuedOps) {
  Analysis const analysis = steps_with_unexplained_time();
  UnexplainedStats const& facts = analysis.devices.at(0).unexplained;
  EXPECT_EQ(facts.first_ns, 30 * kUs);
  EXPECT_EQ(facts.queued_ns, 100 * kUs);
  EXPECT_EQ(facts.other_ns, 0);
  EXPECT_EQ(facts.queued_ops, 3U);

  Finding const* const finding = find_named(analysis.findings, "unexplained-idle");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(metric(*finding, "before_first_op_ns_per_step"), 30.0 * kUs);
  EXPECT_EQ(metric(*finding, "queued_ns_per_step"), 100.0 * kUs);
  EXPECT_EQ(metric(*finding, "queued_ops"), 3.0);
}

TEST(UnexplainedIdle, BeforeAnOpWithoutItsLaunchIsInputWhereTheStepWaitsForData) {
  WorkRun run;
  run.step(0, 400 * kUs, 0);
  run.host(EventKind::kInputWait, 5 * kUs, 20 * kUs, "next batch");
  run.kernel(30 * kUs, 300 * kUs, 0);
  run.kernel(330 * kUs, 70 * kUs, run.launch(100 * kUs, 5 * kUs));
  Analysis const analysis = analyze(run.finish());
  IdleSplit const idle = analysis.steps.at(0).time.idle_by_cause;
  EXPECT_EQ(idle[static_cast<size_t>(IdleCause::kInput)], 20 * kUs);
  EXPECT_EQ(idle[static_cast<size_t>(IdleCause::kUnexplained)], 10 * kUs);
}

}  // namespace gain_limits
}  // namespace
}  // namespace stepscope::analyzer
