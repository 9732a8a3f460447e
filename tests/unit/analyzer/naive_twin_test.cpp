// Device time, steps and idle causes of random runs compared with twins that look at every ns and
// follow DEFINITIONS word by word.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/sanitized.h"
#include "tests/unit/analyzer/random_run.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::OpClass;
using testing_support::RandomRun;

constexpr int64_t kLimit = 12;  // launch latency limit of these tests, ns
uint32_t const kRandomRuns = support::kSanitized ? 600 : 3000;

/// The one device of a random run, read without any index.
struct Naive {
  model::RankTrace const& rank;
  model::Trace const& trace = rank.trace;
  std::vector<uint32_t> ops{};

  explicit Naive(model::Run const& run) : rank(run.ranks[0]) {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (model::is_device_op(trace.kind(row))) ops.push_back(row);
  }
  int64_t start(uint32_t row) const { return trace.start(row) + rank.offset_ns; }
  int64_t end(uint32_t row) const { return trace.end(row) + rank.offset_ns; }
  bool covers(uint32_t row, int64_t ns) const { return start(row) <= ns && ns < end(row); }
  bool any_op(OpClass op_class, int64_t ns) const {
    for (uint32_t const row : ops)
      if (model::kind_info(trace.kind(row)).op_class == op_class && covers(row, ns)) return true;
    return false;
  }
  bool busy(int64_t ns) const {
    return any_op(OpClass::kCompute, ns) || any_op(OpClass::kComm, ns) ||
           any_op(OpClass::kCopy, ns);
  }
  bool any(EventKind kind, uint32_t track, int64_t ns) const {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (trace.kind(row) == kind && trace.columns().track[row].value == track && covers(row, ns))
        return true;
    return false;
  }
  bool is_in_stream_wait(uint32_t track, bool by_this_device, int64_t ns) const {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (trace.kind(row) == EventKind::kStreamWait && trace.columns().track[row].value == track &&
          covers(row, ns) &&
          (trace.detail<model::StreamWaitDetail>(row).source_device == 0) == by_this_device)
        return true;
    return false;
  }
  std::optional<uint32_t> launch(uint32_t row) const {
    auto const link = trace.columns().link[row];
    return link.valid() ? std::optional(link.value) : std::nullopt;
  }
  /// The op that was launched first among those that start at the first busy ns from `ns` on.
  std::optional<uint32_t> next_op(int64_t ns, int64_t range_end) const {
    while (ns < range_end && !busy(ns)) ++ns;
    std::optional<uint32_t> best;

    for (bool const with_launch : {true, false}) {
      for (uint32_t const row : ops) {
        if (start(row) != ns || end(row) == ns || launch(row).has_value() != with_launch) continue;
        if (!best || (with_launch && start(*launch(row)) < start(*launch(*best)))) best = row;
      }
      if (best) return best;
    }
    return std::nullopt;
  }
  /// The thread is in a call that lasts until its copy is over (no call of these runs says Async).
  bool is_in_copy_call(uint32_t thread, int64_t ns) const {
    for (uint32_t const row : ops) {
      auto const call = launch(row);
      if (trace.kind(row) == EventKind::kMemcpy && call &&
          trace.columns().track[*call].value == thread && covers(*call, ns) &&
          start(*call) <= start(row) && end(row) <= end(*call))
        return true;
    }
    return false;
  }
  /// The cause at one idle ns; kLaunchLatency stands for "nothing before launch_latency applies".
  IdleCause cause(int64_t ns, std::optional<uint32_t> next) const {
    for (uint32_t track = 0; track < trace.tracks().size(); ++track)
      if (any(EventKind::kOverhead, track, ns)) return IdleCause::kProfiler;

    if (!next) return IdleCause::kUnexplained;
    auto const call = launch(*next);
    bool const launched = !call || ns >= end(*call);
    if (call) {
      uint32_t const thread = trace.columns().track[*call].value;
      if (any(EventKind::kMemory, thread, ns)) return IdleCause::kAllocation;
      if (!launched && (any(EventKind::kSync, thread, ns) || is_in_copy_call(thread, ns)))
        return IdleCause::kSync;
      if (!launched && any(EventKind::kInputWait, thread, ns)) return IdleCause::kInput;
      if (!launched && thread != 0 && any(EventKind::kInputWait, 0, ns))
        return IdleCause::kInput;  // only thread 0 has steps
    }

    if (!call && any(EventKind::kInputWait, 0, ns)) return IdleCause::kInput;
    if (launched && is_in_stream_wait(trace.columns().track[*next].value, true, ns))
      return IdleCause::kDependency;
    if (launched && is_in_stream_wait(trace.columns().track[*next].value, false, ns))
      return IdleCause::kPeer;
    if (!launched) return IdleCause::kLaunchBound;
    return call ? IdleCause::kLaunchLatency : IdleCause::kUnexplained;
  }
};

model::Run random_run(uint32_t seed) { return RandomRun(seed, seed % 3 == 0).make(); }

AnalyzeOptions options() {
  AnalyzeOptions result;
  result.launch_latency_limit_ns = kLimit;
  return result;
}

void expect_split(TimeSplit const& time, Interval window, Naive const& naive) {
  TimeSplit expected;

  for (int64_t ns = window.begin; ns < window.end; ++ns) {
    bool const compute = naive.any_op(OpClass::kCompute, ns),
               comm = naive.any_op(OpClass::kComm, ns), copy = naive.any_op(OpClass::kCopy, ns);
    ++expected.window_ns;
    expected.busy_ns += compute || comm || copy ? 1 : 0;
    expected.idle_ns += compute || comm || copy ? 0 : 1;
    expected.compute_ns += compute ? 1 : 0;
    expected.comm_ns += comm ? 1 : 0;
    expected.copy_ns += copy ? 1 : 0;
    expected.exposed_comm_ns += comm && !compute ? 1 : 0;
    expected.exposed_copy_ns += copy && !compute && !comm ? 1 : 0;
  }

  EXPECT_EQ(time.window_ns, expected.window_ns);
  EXPECT_EQ(time.busy_ns, expected.busy_ns);
  EXPECT_EQ(time.idle_ns, expected.idle_ns);
  EXPECT_EQ(time.compute_ns, expected.compute_ns);
  EXPECT_EQ(time.comm_ns, expected.comm_ns);
  EXPECT_EQ(time.copy_ns, expected.copy_ns);
  EXPECT_EQ(time.exposed_comm_ns, expected.exposed_comm_ns);
  EXPECT_EQ(time.exposed_copy_ns, expected.exposed_copy_ns);

  int64_t idle = 0;
  for (int64_t const part : time.idle_by_cause) idle += part;
  EXPECT_EQ(time.compute_ns + time.exposed_comm_ns + time.exposed_copy_ns + idle, time.window_ns);
}

TEST(NaiveTwin, DeviceTimeAgreesAndPartsSumForEveryWindow) {
  for (uint32_t seed = 0; seed < kRandomRuns; ++seed) {
    model::Run const run = random_run(seed);
    Analysis const analysis = analyze(run, options());
    Naive const naive(run);
    ASSERT_EQ(analysis.devices.size(), 1U);
    expect_split(analysis.devices[0].time, analysis.devices[0].window, naive);
    for (StepStats const& step : analysis.steps) expect_split(step.time, step.window, naive);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(NaiveTwin, EveryIdleNanosecondHasTheCauseOfTheDefinitions) {
  for (uint32_t seed = 0; seed < kRandomRuns; ++seed) {
    model::Run const run = random_run(seed);
    Analysis const analysis = analyze(run, options());

    Naive const naive(run);
    Interval range = analysis.devices[0].window;
    for (StepStats const& step : analysis.steps)
      range = {std::min(range.begin, step.window.begin), std::max(range.end, step.window.end)};

    std::map<int64_t, IdleCause> causes;
    for (int64_t ns = range.begin; ns < range.end; ++ns)
      if (!naive.busy(ns)) causes[ns] = naive.cause(ns, naive.next_op(ns, range.end));

    // Launch latency that lasts too long is unexplained, except on host devices.
    bool const is_host = analysis.devices[0].name == "host:0";
    for (auto at = causes.begin(); at != causes.end();) {
      auto end = at;
      int64_t length = 0;
      while (end != causes.end() && end->second == at->second && end->first == at->first + length)
        ++end, ++length;
      if (at->second == IdleCause::kLaunchLatency && length >= kLimit && !is_host)
        for (auto long_one = at; long_one != end; ++long_one)
          long_one->second = IdleCause::kUnexplained;
      at = end;
    }

    std::map<int64_t, IdleCause> found;
    for (IdleGap const gap : analysis.gaps)
      for (int64_t ns = gap.when.begin; ns < gap.when.end; ++ns)
        ASSERT_TRUE(found.emplace(ns, gap.cause).second) << "twice: " << ns;
    ASSERT_EQ(found, causes) << "seed " << seed;
  }
}

TEST(NaiveTwin, OpsGoToTheStepOfTheirLaunch) {
  for (uint32_t seed = 0; seed < kRandomRuns; ++seed) {
    model::Run const run = random_run(seed);
    Analysis const analysis = analyze(run, options());
    Naive const naive(run);

    std::map<uint32_t, int64_t> last_end;  // step row → last end of its ops
    uint64_t outside = 0;
    bool const has_launches = std::any_of(naive.ops.begin(), naive.ops.end(), [&](uint32_t row) {
      return naive.launch(row).has_value();
    });
    auto const is_in_a_step = [&](uint32_t row) {
      for (uint32_t host = 0; host < naive.trace.event_count(); ++host)
        if (naive.trace.kind(host) == EventKind::kStep && naive.covers(host, naive.start(row)))
          return true;
      return false;
    };

    auto const inside =
        static_cast<size_t>(std::count_if(naive.ops.begin(), naive.ops.end(), is_in_a_step));
    bool const by_launch = has_launches || 2 * inside <= naive.ops.size();

    for (uint32_t const row : naive.ops) {
      uint32_t const decides = by_launch ? naive.launch(row).value_or(UINT32_MAX) : row;
      std::optional<uint32_t> step;
      for (uint32_t host = 0; host < naive.trace.event_count() && decides != UINT32_MAX; ++host)
        if (naive.trace.kind(host) == EventKind::kStep && naive.covers(host, naive.start(decides)))
          step = host;
      if (!step) {
        ++outside;
      } else {
        last_end.try_emplace(*step, naive.end(row)).first->second =
            std::max(last_end[*step], naive.end(row));
      }
    }

    EXPECT_EQ(analysis.ops_outside_steps, outside);
    ASSERT_EQ(analysis.steps.size(), last_end.size());

    size_t i = 0;
    int64_t previous_end = INT64_MIN;
    for (auto const& [row, end] : last_end) {
      StepStats const& step = analysis.steps[i++];
      int64_t const begin = std::max(naive.start(row), previous_end);
      EXPECT_EQ(step.window, (Interval{begin, std::max(begin, end)}));
      previous_end = step.window.end;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(RandomRuns, ShiftedInTimeGiveTheSameFacts) {
  constexpr int64_t kShift =
      1'700'000'000'000'000'000;  // epoch nanoseconds: a double would lose them
  for (uint32_t seed = 0; seed < 500; ++seed) {
    model::Run run = random_run(seed);
    Analysis const base = analyze(run, options());
    run.ranks[0].offset_ns += kShift;
    Analysis const shifted = analyze(run, options());

    ASSERT_EQ(base.gaps.size(), shifted.gaps.size());
    for (size_t i = 0; i < base.gaps.size(); ++i) {
      ASSERT_EQ(base.gaps[i].when.begin + kShift, shifted.gaps[i].when.begin);
      ASSERT_EQ(base.gaps[i].cause, shifted.gaps[i].cause);
      ASSERT_EQ(base.gaps[i].host_row, shifted.gaps[i].host_row);
    }

    ASSERT_EQ(base.steps.size(), shifted.steps.size());
    for (size_t i = 0; i < base.steps.size(); ++i)
      ASSERT_EQ(base.steps[i].time.idle_by_cause, shifted.steps[i].time.idle_by_cause);
    ASSERT_EQ(base.findings.size(), shifted.findings.size());
  }
}

TEST(RandomRuns, OrderOfRanksChangesNothingButTheirIndex) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    auto const two = [&](uint32_t first, uint32_t second) {
      model::Run run = random_run(first);
      run.ranks.push_back(std::move(random_run(second).ranks[0]));
      return analyze(run, options());
    };

    Analysis const ab = two(seed, seed + 1), ba = two(seed + 1, seed);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(ab.devices[i].window, ba.devices[1 - i].window);
      EXPECT_EQ(ab.devices[i].time.idle_by_cause, ba.devices[1 - i].time.idle_by_cause);
      EXPECT_EQ(ab.devices[i].time.exposed_wait_ns, ba.devices[1 - i].time.exposed_wait_ns);
    }

    EXPECT_EQ(ab.collectives.size(), ba.collectives.size());
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// Properly nested ranges in 0 … 200: each lies within the gap between two neighbours of its
/// parent.
void add_nested_ranges(model::TraceBuilder& builder, model::TrackId thread, std::mt19937& random) {
  std::vector<std::pair<int64_t, int64_t>> spaces = {{0, 200}};
  for (int i = 0; i < 8 && !spaces.empty(); ++i) {
    auto const at = static_cast<size_t>(random() % spaces.size());
    auto const [begin, end] = spaces[at];
    if (end - begin < 4) continue;

    int64_t const first =
        begin + static_cast<int64_t>(random() % static_cast<uint64_t>(end - begin - 2));
    int64_t const last =
        first + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(end - first - 1));
    builder.events(thread).add(EventKind::kRange, first, last - first,
                               builder.intern(std::to_string(i)));

    spaces[at] = {begin, first};
    spaces.emplace_back(first, last);
    spaces.emplace_back(last, end);
  }
}

/// For each host event the ns of `gap` in which it is the innermost one.
std::map<uint32_t, int64_t> innermost_ns(Naive const& naive, Interval gap) {
  std::map<uint32_t, int64_t> innermost;
  for (int64_t ns = gap.begin; ns < gap.end; ++ns) {
    std::optional<uint32_t> best;
    for (uint32_t row = 0; row < naive.trace.event_count(); ++row)
      if (naive.trace.track(row).kind == model::TrackKind::kThread && naive.covers(row, ns) &&
          (!best || naive.trace.columns().depth[row] > naive.trace.columns().depth[*best]))
        best = row;

    if (best) ++innermost[*best];
  }
  return innermost;
}

TEST(NaiveTwin, TheHostOpOfAGapIsTheOneThatRanInnermostForLongest) {
  for (uint32_t seed = 0; seed < kRandomRuns; ++seed) {
    std::mt19937 random(seed);
    model::TraceBuilder builder;
    model::TrackId const thread =
        builder.add_track({model::TrackKind::kThread, "t", 1, -1, model::StreamKind::kCompute, 0});
    model::TrackId const stream =
        builder.add_track({model::TrackKind::kStream, "s", 0, 0, model::StreamKind::kCompute, 0});
    add_nested_ranges(builder, thread, random);

    // Two kernels with an idle time between; the second is launched at the end of that time.
    int64_t const first_end = 10 + static_cast<int64_t>(random() % 90);
    builder.events(stream).add(EventKind::kKernel, 0, first_end, builder.intern("k"), 0,
                               model::KernelDetail{});
    builder.events(thread).add(EventKind::kLaunch, 200, 5, builder.intern("launch"), 1);
    builder.events(stream).add(EventKind::kKernel, 205, 5, builder.intern("k"), 1,
                               model::KernelDetail{});
    model::Run run;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});

    Analysis const analysis = analyze(run);
    Naive const naive(run);
    std::map<uint32_t, int64_t> innermost = innermost_ns(naive, {first_end, 205});
    int64_t longest = 0;
    for (auto const& [row, length] : innermost) longest = std::max(longest, length);

    ASSERT_EQ(analysis.gaps.size(), 1U);
    ASSERT_EQ(analysis.gaps[0].cause, IdleCause::kLaunchBound);
    ASSERT_TRUE(analysis.gaps[0].host_row.valid());

    // If no op was innermost for half of the time, it is the innermost one that was open for more
    // than half.
    uint32_t const found = analysis.gaps[0].host_row.value;
    int64_t const idle = 205 - first_end;
    int64_t const open =
        std::min<int64_t>(naive.end(found), 205) - std::max(naive.start(found), first_end);
    if (2 * longest < idle && 2 * open > idle) continue;
    ASSERT_EQ(innermost[found], longest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
