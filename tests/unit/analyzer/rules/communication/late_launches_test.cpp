// Causes of late launches: syncs, the time that the device takes to start, long work of the host,
// and what lies before the recording.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/copies.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {
namespace late_launches {

using model::EventKind;
using testing_support::WorkRun;

constexpr int64_t kUs = 1000, kMs = 1000 * kUs;

Finding const* find_named(Analysis const& analysis, std::string_view rule) {
  auto const at = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                               [&](Finding const& finding) { return finding.rule == rule; });
  return at == analysis.findings.end() ? nullptr : &*at;
}

double cost_of(Analysis const& analysis, std::string_view rule) {
  Finding const* const finding = find_named(analysis, rule);
  return finding == nullptr ? 0 : static_cast<double>(finding->cost_ns_per_step.value_or(0));
}

std::string subject(Finding const& finding, std::string_view role) {
  for (auto const& [key, name] : finding.subjects)
    if (key == role) return name;
  return {};
}

double metric(Finding const& finding, std::string_view key) {
  for (auto const& [name, value] : finding.metrics)
    if (name == key) return value;
  return 0;
}

int64_t idle_of(Analysis const& analysis, IdleCause cause) {
  return analysis.devices.at(0).time.idle_by_cause[static_cast<size_t>(cause)];
}

void add_sync(WorkRun& run, int64_t begin, int64_t dur) {
  run.builder()
      .events(run.thread())
      .add(EventKind::kSync, begin, dur, run.builder().intern("synchronize"), 0,
           model::SyncDetail{});
}

/// How the host launches the one long op and the twenty short ones of a step.
struct Launching {
  int64_t long_op = 2 * kMs;
  int64_t short_op = 2 * kUs;
  bool syncs = true;              ///< after every op
  bool blocks_in_launch = false;  ///< the long op runs within the call that launches it
  int64_t work = 25 * kUs;        ///< of the host before it launches a short op
};

/// Eight steps. The host launches an op, waits for it, does its work and launches the next.
Analysis steps_of(Launching const& how) {
  WorkRun run;
  int64_t now = 0;
  for (int64_t i = 0; i < 8; ++i) {
    int64_t const begin = now;
    int64_t const call = how.blocks_in_launch ? how.long_op + 8 * kUs : 5 * kUs;
    run.kernel(now + 5 * kUs, how.long_op, run.launch(now, call));
    if (how.syncs) add_sync(run, now + call, std::max(how.long_op + 8 * kUs - call, kUs));
    now += std::max(how.syncs ? how.long_op + 10 * kUs : 0, call + 2 * kUs);

    for (int op = 0; op < 20; ++op) {
      now += how.work;
      run.kernel(now + 5 * kUs, how.short_op, run.launch(now, 5 * kUs));
      now += 5 * kUs + how.short_op + 1 * kUs;
      if (how.syncs) add_sync(run, now, 1 * kUs);
      now += 2 * kUs;
    }

    run.step(begin, now - begin - 1, i);
  }
  return analyze(run.finish());
}

TEST(BlockingSync, ClaimsTheLaunchesThatComeLateBecauseNothingIsQueuedBehindASync) {
  Analysis const analysis = steps_of({});
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings[0].rule, "blocking-sync");
  // 20 gaps of 34 µs and one of 11 or 37 µs; none of that time is the host's.
  EXPECT_NEAR(cost_of(analysis, "blocking-sync"), 20 * 33e3, 60e3);
  EXPECT_EQ(find_named(analysis, "host-bound-launches"), nullptr);
}

TEST(BlockingSync, IsNotWhatMakesAHostLateThatIsSlowerThanTheDevice) {
  Launching how;
  how.long_op = 30 * kUs;  // so long the host was blocked in a step, and no longer
  Analysis const analysis = steps_of(how);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings[0].rule, "host-bound-launches");
  EXPECT_LE(cost_of(analysis, "blocking-sync"), 33e3 + 20 * 1e3)
      << "no more than the host was blocked";
}

TEST(BlockingSync, OfLaunchesThatLastUntilTheirOpIsOverIsBlockedToo) {
  Launching how;
  how.blocks_in_launch = true;
  Analysis const analysis = steps_of(how);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings[0].rule, "blocking-sync");
  EXPECT_EQ(find_named(analysis, "host-bound-launches"), nullptr);

  how.syncs = false;
  Analysis const without = steps_of(how);
  EXPECT_EQ(find_named(without, "blocking-sync"), nullptr);
  EXPECT_NE(find_named(without, "host-bound-launches"), nullptr);
}

TEST(BlockingSync, PaysForLongWorkOfTheHostWithItsOwnTimeAlone) {
  for (int64_t const work : {70 * kUs, 120 * kUs}) {
    Launching how;
    how.long_op = 5 * kMs;
    how.work = work;
    Analysis const analysis = steps_of(how);
    EXPECT_EQ(find_named(analysis, "host-bound-launches") != nullptr, work > 100 * kUs) << work;
    EXPECT_EQ(cost_of(analysis, "blocking-sync") > 1e6, work < 100 * kUs) << work;
  }
}

TEST(BlockingSync, WaitsForDataUseUpTheLead) {
  // The long wait for data ends when the data are there, however early the host comes to it.
  WorkRun run;
  for (int64_t i = 0; i < 8; ++i) {
    int64_t const begin = i * 4 * kMs;
    run.step(begin, 4 * kMs - 1, i);
    run.kernel(begin + 5 * kUs, 1 * kMs, run.launch(begin, 5 * kUs));
    add_sync(run, begin + 5 * kUs, 1 * kMs);
    run.host(EventKind::kInputWait, begin + 1010 * kUs, 1 * kMs, "next batch");

    for (int64_t op = 0; op < 40; ++op) {
      int64_t const at = begin + 2010 * kUs + op * 40 * kUs;
      run.kernel(at + 5 * kUs, 2 * kUs, run.launch(at, 5 * kUs));
      add_sync(run, at + 8 * kUs, 1 * kUs);
    }
  }

  Analysis const analysis = analyze(run.finish());
  EXPECT_GT(cost_of(analysis, "host-bound-launches"), 1e6);
  EXPECT_LT(cost_of(analysis, "blocking-sync"), 0.2e6);
}

/// The host launches so many kernels onto an idle device, which starts each `latency` later; one
/// more after `last`.
Analysis launches_onto_idle(int count, int64_t latency, int64_t last,
                            std::string const& device = "GPU") {
  WorkRun run(device);
  int64_t now = 0;
  for (int i = 0; i <= count; ++i) {
    int64_t const start = now + 5 * kUs + (i == count ? last : latency);
    run.kernel(start, 3 * kUs, run.launch(now, 5 * kUs));
    now = start + 20 * kUs;
  }
  return analyze(run.finish());
}

TEST(LaunchLatency, IsUpToHalfMoreThanTheDevicesUsualOne) {
  EXPECT_EQ(launches_onto_idle(20, 20 * kUs, 20 * kUs).devices[0].launch.latency_limit_ns,
            30 * kUs);
  Analysis const within = launches_onto_idle(20, 20 * kUs, 29 * kUs);
  EXPECT_EQ(idle_of(within, IdleCause::kUnexplained), 0);
  EXPECT_EQ(idle_of(within, IdleCause::kLaunchLatency), (19 * 20 + 29) * kUs);
  Analysis const beyond = launches_onto_idle(20, 20 * kUs, 30 * kUs);
  EXPECT_EQ(idle_of(beyond, IdleCause::kUnexplained), 30 * kUs);
}

TEST(LaunchLatency, LiesBetweenTenAndFiftyMicroseconds) {
  EXPECT_EQ(launches_onto_idle(20, 2 * kUs, 2 * kUs).devices[0].launch.latency_limit_ns, 10 * kUs);
  EXPECT_EQ(idle_of(launches_onto_idle(20, 2 * kUs, 9 * kUs), IdleCause::kUnexplained), 0);
  Analysis const slow = launches_onto_idle(20, 60 * kUs, 60 * kUs);
  EXPECT_EQ(slow.devices[0].launch.latency_limit_ns, 50 * kUs);
  EXPECT_EQ(idle_of(slow, IdleCause::kLaunchLatency), 0);
}

TEST(LaunchLatency, IsKnownFromEightLaunchesOn) {
  EXPECT_EQ(launches_onto_idle(7, 20 * kUs, 20 * kUs).devices[0].launch.latency_limit_ns, 10 * kUs)
      << "seven gaps";
  EXPECT_EQ(launches_onto_idle(8, 20 * kUs, 20 * kUs).devices[0].launch.latency_limit_ns, 30 * kUs);
}

TEST(LaunchLatency, IsNotMeasuredWhereOpsWereQueued) {
  WorkRun run;
  for (int64_t i = 0; i < 20; ++i)
    run.kernel(100 * kUs + i * 40 * kUs, 20 * kUs, run.launch(i * 4 * kUs, 3 * kUs));
  Analysis const analysis = analyze(run.finish());
  EXPECT_EQ(analysis.devices[0].launch.latency_limit_ns, 10 * kUs);
  EXPECT_EQ(idle_of(analysis, IdleCause::kUnexplained), 19 * 20 * kUs);
}

/// Five steps with one piece of `work` in a range, and `small` launches that come 50 µs late each.
Analysis steps_with_work(int64_t work, int small, std::string const& name = "decode_video") {
  WorkRun run;
  int64_t now = 0;
  for (int64_t i = 0; i < 5; ++i) {
    int64_t const begin = now;
    run.kernel(now + 5 * kUs, 1 * kMs, run.launch(now, 5 * kUs));
    now += 1 * kMs + 10 * kUs;
    if (work > 0) run.range(now, work, name);
    now += work;

    for (int op = 0; op < small; ++op) {
      run.range(now, 50 * kUs, "aten::add");
      run.kernel(now + 56 * kUs, 20 * kUs, run.launch(now + 50 * kUs, 5 * kUs));
      now += 76 * kUs;
    }

    run.kernel(now + 10 * kUs, 2 * kMs, run.launch(now, 5 * kUs));
    now += 2 * kMs + 10 * kUs;
    run.step(begin, now - begin - 1, i);
  }
  return analyze(run.finish());
}

TEST(HostBoundLaunches, NamesOneLongPieceOfWork) {
  Analysis const analysis = steps_with_work(6 * kMs, 10);
  Finding const* const finding = find_named(analysis, "host-bound-launches");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(subject(*finding, "host_op"), "decode_video");
  EXPECT_EQ(subject(*finding, "gaps"), "long");
  EXPECT_NEAR(metric(*finding, "long_gaps_ns_per_step"), 6e6, 0.1e6);
}

TEST(HostBoundLaunches, SaysThatTheHostCompiles) {
  Analysis const analysis =
      steps_with_work(6 * kMs, 10, "TSL: XlaEmitLlvmIr:#module=jit__lambda,program_id=1325#");
  Finding const* const finding = find_named(analysis, "host-bound-launches");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(subject(*finding, "gaps"), "compilation");
}

TEST(HostBoundLaunches, OfManyShortOnesNamesNoLongWork) {
  Analysis const analysis = steps_with_work(1100 * kUs, 50);
  Finding const* const finding = find_named(analysis, "host-bound-launches");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(subject(*finding, "gaps"), "");
  EXPECT_EQ(metric(*finding, "long_gaps_ns_per_step"), 0);
  Analysis const short_work = steps_with_work(900 * kUs, 4);
  ASSERT_NE(find_named(short_work, "host-bound-launches"), nullptr);
  EXPECT_EQ(subject(*find_named(short_work, "host-bound-launches"), "gaps"), "");
}

TEST(BlockingCopies, AreKnownByTheNamesOfTheirCalls) {
  for (char const* const name :
       {"cudaMemcpy", "cudaMemcpy2D", "cudaMemcpyToSymbol", "cuMemcpyDtoH_v2", "hipMemcpy",
        "hipMemcpyWithStream", "hipMemcpyDtoH", "musaMemcpy"})
    EXPECT_TRUE(is_blocking_copy_call(name)) << name;
  for (char const* const name :
       {"cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", "hipMemcpyAsync", "hipMemcpyDtoHAsync",
        "urEnqueueUSMMemcpy", "cudaLaunchKernel", "cudaMemset", "cudaMemPrefetchAsync"})
    EXPECT_FALSE(is_blocking_copy_call(name)) << name;
}

/// A kernel, then a copy that starts `until` after its call began, then a kernel. The call ends
/// `behind` after the copy, or before it if negative. `correlated`: the copy has the correlation of
/// its call.
Analysis run_with_copy(std::string const& call, int64_t until, int64_t behind, bool correlated,
                       uint8_t pinned = 1) {
  WorkRun run;
  run.kernel(10 * kUs, 100 * kUs, run.launch(0, 5 * kUs));

  model::CopyDetail copy;
  copy.direction = model::CopyDirection::kDeviceToHost;
  copy.pinned = pinned;

  int64_t const called = 120 * kUs, starts = called + until;
  uint64_t const correlation = run.launch(called, until + 10 * kUs + behind, call);
  if (correlated) run.copy(starts, 10 * kUs, correlation, "Memcpy DtoH", copy, 7);

  int64_t const next = starts + 40 * kUs;
  run.kernel(next + 10 * kUs, 100 * kUs, run.launch(next, 5 * kUs));
  return analyze(run.finish());
}

TEST(BlockingCopies, BlockTheHostLikeSyncs) {
  for (char const* const call : {"hipMemcpyWithStream", "cudaMemcpy"}) {
    for (int64_t const behind : {5 * kUs, -2 * kUs}) {
      Analysis const analysis = run_with_copy(call, 400 * kUs, behind, true);
      EXPECT_EQ(idle_of(analysis, IdleCause::kSync), 400 * kUs + std::max<int64_t>(behind, 0))
          << call << behind;
      EXPECT_EQ(idle_of(analysis, IdleCause::kUnexplained), 0) << call << behind;
    }
  }

  EXPECT_EQ(idle_of(run_with_copy("cudaMemcpyAsync", 400 * kUs, 5 * kUs, true), IdleCause::kSync),
            0)
      << "pinned";
  EXPECT_GT(
      idle_of(run_with_copy("cudaMemcpyAsync", 400 * kUs, 5 * kUs, true, 0), IdleCause::kSync),
      400 * kUs)
      << "pageable";
}

TEST(BlockingCopies, ExplainIdleTimeWhereTheCopyWasNotRecorded) {
  WorkRun run;
  run.kernel(10 * kUs, 100 * kUs, run.launch(0, 5 * kUs));
  run.launch(50 * kUs, 500 * kUs, "hipMemcpyWithStream", 2);
  run.kernel(600 * kUs, 100 * kUs, run.launch(20 * kUs, 5 * kUs));
  Analysis const analysis = analyze(run.finish());
  EXPECT_EQ(idle_of(analysis, IdleCause::kSync), 440 * kUs);
  EXPECT_EQ(idle_of(analysis, IdleCause::kUnexplained), 50 * kUs);
}

/// One step: the device starts after `first`, works for 10 ms in two kernels, and idles for
/// `between` because the host launches late.
Analysis step_with_lead_in(int64_t first, int64_t between, bool knows_launch) {
  WorkRun run;
  run.step(0, 100 * kMs, 0);
  run.kernel(first, 5 * kMs, knows_launch ? run.launch(first - 10 * kUs, 9 * kUs) : 0);
  int64_t const next = first + 5 * kMs + between;
  run.kernel(next, 5 * kMs, run.launch(next - 10 * kUs, 9 * kUs));
  return analyze(run.finish());
}

TEST(LeadIn, IsInNoGain) {
  Analysis const analysis = step_with_lead_in(10 * kMs, 2 * kMs, true);
  Finding const* const finding = find_named(analysis, "host-bound-launches");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(metric(*finding, "before_first_op_ns_per_step"), 10e6, 0.1e6);
  ASSERT_TRUE(finding->gain_ceiling);
  EXPECT_NEAR(*finding->gain_ceiling, 22.0 / 20 - 1, 0.001);

  Analysis const alone = step_with_lead_in(10 * kMs, 0, true);
  ASSERT_NE(find_named(alone, "host-bound-launches"), nullptr);
  EXPECT_FALSE(find_named(alone, "host-bound-launches")->gain_ceiling);
}

TEST(LeadIn, ThatNothingExplainsIsNoWarning) {
  Analysis const analysis = step_with_lead_in(10 * kMs, 0, false);
  Finding const* const finding = find_named(analysis, "unexplained-idle");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
  EXPECT_FALSE(finding->gain_ceiling);
  EXPECT_EQ(metric(*finding, "before_first_op_ns_per_step"), 10e6);
}

TEST(CriticalPath, ReportsHostTimeWithoutAnyEventButTheStep) {
  for (char const* const name : {"step 7", "forward pass"}) {
    WorkRun run;
    run.range(0, 900 * kUs, name);
    run.kernel(10 * kUs, 100 * kUs, run.launch(0, 5 * kUs));
    run.kernel(610 * kUs, 100 * kUs, run.launch(600 * kUs, 5 * kUs));

    Analysis const analysis = analyze(run.finish());
    bool const is_step = std::string_view(name) == "step 7";
    EXPECT_EQ(analysis.critical_path->bare_host_ns > 0, is_step) << name;
    EXPECT_GT(analysis.critical_path->by_class[static_cast<size_t>(PathClass::kHost)], 400 * kUs)
        << name;
  }
}

}  // namespace late_launches
}  // namespace
}  // namespace stepscope::analyzer
