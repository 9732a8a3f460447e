// Phases: which ops belong to them, what they cost on each device, and the table of programs with
// any number of phases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/metrics/time/phases.h"
#include "analyzer/results/analysis.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;

Track phase_thread(int64_t id = 1) {
  return {TrackKind::kThread, "main", id, -1, StreamKind::kCompute, 0};
}
Track phase_stream(int64_t number = 0, int32_t device = 0) {
  return {TrackKind::kStream, "stream", number, device, StreamKind::kCompute, 0};
}
model::Run phase_run(TraceBuilder&& builder, int64_t offset = 0) {
  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), offset, ""});
  return run;
}

PhaseStats const* find_phase(Analysis const& analysis, std::string_view name, int32_t device = 0) {
  for (PhaseStats const& phase : analysis.phases)
    if (phase.name == name && phase.ref.device == device) return &phase;
  return nullptr;
}

/// A thread that launches kernels of 10 ns, each 100 ns after its call.
class PhaseProgram {
 public:
  PhaseProgram()
      : thread_(builder_.add_track(phase_thread())), stream_(builder_.add_track(phase_stream())) {}
  void kernel(int64_t launch, int64_t dur = 10) {
    builder_.events(thread_).add(EventKind::kLaunch, launch, 1, builder_.intern("launch"),
                                 ++correlation_);
    builder_.events(stream_).add(EventKind::kKernel, launch + 100, dur, builder_.intern("k"),
                                 correlation_, KernelDetail{});
  }
  void phase(int64_t begin, int64_t end, std::string const& name,
             EventKind kind = EventKind::kPhase) {
    builder_.events(thread_).add(kind, begin, end - begin, builder_.intern(name));
  }
  Analysis analyze() && { return analyzer::analyze(phase_run(std::move(builder_), 5)); }

 private:
  TraceBuilder builder_;
  TrackId thread_, stream_;
  uint64_t correlation_ = 0;
};

TEST(Phases, CountTheOpsThatTheyLaunchWheneverThoseRun) {
  PhaseProgram program;
  program.phase(0, 50, "forward");
  program.kernel(10);
  program.kernel(30, 7);
  program.phase(50, 90, "backward");
  program.kernel(50);
  program.phase(200, 250, "forward");
  program.kernel(249, 3);
  program.kernel(250);  // in no phase

  Analysis const analysis = std::move(program).analyze();
  PhaseStats const* const forward = find_phase(analysis, "forward");
  ASSERT_NE(forward, nullptr);

  EXPECT_EQ(forward->count, 2U);
  EXPECT_EQ(forward->host_ns, 100);
  EXPECT_EQ(forward->ops, 3U);
  EXPECT_EQ(forward->busy_ns, 20);
  EXPECT_EQ(forward->compute_ns, 20);
  EXPECT_EQ(forward->exposed_comm_ns, 0);
  EXPECT_EQ(forward->median_ns, 3);
  EXPECT_EQ(forward->p95_ns, 17);

  EXPECT_EQ(find_phase(analysis, "backward")->ops, 1U);
  EXPECT_EQ(analysis.phases.size(), 2U);
}

TEST(Phases, AnOpBelongsToAllThatAreOpenButOnceToAName) {
  PhaseProgram program;
  program.phase(0, 100, "generator");
  program.phase(10, 60, "forward");
  program.phase(20, 40, "forward");  // of a module within the module
  program.kernel(30);

  Analysis const analysis = std::move(program).analyze();
  EXPECT_EQ(find_phase(analysis, "generator")->busy_ns, 10);
  EXPECT_EQ(find_phase(analysis, "forward")->ops, 1U);
  EXPECT_EQ(find_phase(analysis, "forward")->count, 1U);
  EXPECT_EQ(find_phase(analysis, "forward")->host_ns, 50);
}

TEST(Phases, WithoutOpsAreOfTheDeviceThatTheirThreadFeeds) {
  TraceBuilder builder;
  TrackId const loader = builder.add_track(phase_thread(1)),
                trainer = builder.add_track(phase_thread(2));
  builder.add_track(phase_stream(0, 0));
  TrackId const second = builder.add_track(phase_stream(0, 1));
  builder.events(trainer).add(EventKind::kPhase, 0, 30, builder.intern("checkpoint"));
  builder.events(trainer).add(EventKind::kLaunch, 50, 1, builder.intern("launch"), 1);
  builder.events(second).add(EventKind::kKernel, 60, 10, builder.intern("k"), 1, KernelDetail{});
  builder.events(loader).add(EventKind::kPhase, 0, 20, builder.intern("shuffle"));

  Analysis const analysis = analyze(phase_run(std::move(builder)));
  EXPECT_EQ(find_phase(analysis, "checkpoint", 0), nullptr);
  ASSERT_NE(find_phase(analysis, "checkpoint", 1), nullptr);
  EXPECT_EQ(find_phase(analysis, "checkpoint", 1)->host_ns, 30);
  EXPECT_EQ(find_phase(analysis, "checkpoint", 1)->busy_ns, 0);
  EXPECT_NE(find_phase(analysis, "shuffle", 0), nullptr);
}

TEST(Phases, AreTheRangesNamedLikePhasesWhereThereAreNoOthers) {
  for (bool const annotated : {false, true}) {
    PhaseProgram program;
    program.phase(0, 50, "Optimizer.step#SGD.step", EventKind::kRange);
    program.kernel(10);
    program.phase(60, 90, "aten::add", EventKind::kRange);
    program.kernel(70);
    if (annotated) program.phase(0, 100, "train");

    Analysis const analysis = std::move(program).analyze();
    ASSERT_EQ(analysis.phases.size(), 1U);
    EXPECT_EQ(analysis.phases[0].name, annotated ? "train" : "Optimizer.step#SGD.step");
    EXPECT_EQ(analysis.phases[0].ops, annotated ? 2U : 1U);
  }

  for (char const* const name :
       {"forward", "## backward ##", "Forward pass", "forward-compute", "evaluate 3", "BWD"})
    EXPECT_TRUE(is_phase_name(name)) << name;

  for (char const* const name :
       {"", "###", "aten::forward", "AddmmBackward0", "forwarded", "train_step_3", "my forward"})
    EXPECT_FALSE(is_phase_name(name)) << name;
}

TEST(Phases, AreNotWhatADeviceDoesByItself) {
  TraceBuilder builder;
  TrackId const own =
      builder.add_track({TrackKind::kThread, "XLA Modules", 0, 0, StreamKind::kCompute, 0});
  builder.events(builder.add_track(phase_stream()))
      .add(EventKind::kKernel, 0, 10, builder.intern("k"), 0, KernelDetail{});
  builder.events(own).add(EventKind::kRange, 0, 50, builder.intern("forward"));
  EXPECT_TRUE(analyze(phase_run(std::move(builder))).phases.empty());
}

TEST(Phases, BeyondTheMostAreSummedUp) {
  PhaseProgram program;
  for (int64_t i = 0; i < 250; ++i) {
    program.phase(i * 1000, i * 1000 + 10 + i, "batch " + std::to_string(i));
    program.kernel(i * 1000, 300 - i);
  }

  Analysis const analysis = std::move(program).analyze();
  ASSERT_EQ(analysis.phases.size(), kMostPhases + 1);
  EXPECT_EQ(analysis.phases[0].name, "batch 0") << "the longest on the device";

  PhaseStats const& rest = analysis.phases.back();
  EXPECT_EQ(rest.names, 50U);
  EXPECT_EQ(rest.count, 50U);
  EXPECT_EQ(rest.ops, 50U);
  EXPECT_FALSE(rest.busy_ns);
  EXPECT_EQ(rest.host_ns, 50 * 10 + (200 + 249) * 50 / 2);
}

TEST(Phases, OfASyntheticRunShowWhereCommunicationIsExposed) {
  support::SyntheticOptions options;
  options.steps = 10;
  options.overlap = false;

  Analysis const analysis = analyze(support::make_synthetic_run(options));
  PhaseStats const* const forward = find_phase(analysis, "forward");
  PhaseStats const* const backward = find_phase(analysis, "backward");
  ASSERT_TRUE(forward != nullptr && backward != nullptr &&
              find_phase(analysis, "optimizer") != nullptr);

  EXPECT_EQ(forward->count, 10U);
  EXPECT_NEAR(static_cast<double>(*forward->median_ns), 6e6, 1e5);
  EXPECT_EQ(forward->exposed_comm_ns, 0);
  EXPECT_EQ(backward->exposed_comm_ns, analysis.devices[0].time.exposed_comm_ns);
  EXPECT_GT(*backward->exposed_comm_ns, 0);
}

TEST(Phases, OfChosenStepsAreThoseInThem) {
  support::SyntheticOptions options;
  options.slow_step = 5;

  AnalyzeOptions choice;
  choice.steps = {2, 4};

  Analysis analysis = analyze(support::make_synthetic_run(options), choice);
  EXPECT_EQ(find_phase(analysis, "forward")->count, 3U);
  EXPECT_EQ(find_phase(analysis, "checkpoint"), nullptr);

  choice.steps = {5, 5};
  analysis = analyze(support::make_synthetic_run(options), choice);
  EXPECT_EQ(find_phase(analysis, "checkpoint")->host_ns, options.slow_step_ns);
}

/// Times of a phase, counted ns by ns.
struct NaivePhase {
  uint64_t count = 0, ops = 0;
  int64_t busy = 0, compute = 0, exposed = 0;
  friend bool operator==(NaivePhase const&, NaivePhase const&) = default;
};

std::map<std::string, NaivePhase> naive_phases(Trace const& trace) {
  auto const covers = [&](uint32_t row, int64_t ns) {
    return trace.start(row) <= ns && ns < trace.end(row);
  };

  std::map<std::string, std::vector<uint32_t>> ops;
  std::map<std::string, NaivePhase> result;
  for (uint32_t phase = 0; phase < trace.event_count(); ++phase) {
    if (trace.kind(phase) != EventKind::kPhase) continue;

    auto& of_name = ops[std::string(trace.name(phase))];
    bool is_within_itself = false;
    for (uint32_t other = 0; other < phase; ++other)
      is_within_itself =
          is_within_itself ||
          (trace.kind(other) == EventKind::kPhase && trace.name(other) == trace.name(phase) &&
           trace.columns().track[other] == trace.columns().track[phase] &&
           covers(other, trace.start(phase)));

    result[std::string(trace.name(phase))].count += is_within_itself ? 0 : 1;
    for (uint32_t op = 0; op < trace.event_count(); ++op) {
      auto const launch = trace.columns().link[op];
      if (!is_device_op(trace.kind(op)) || !launch.valid()) continue;
      bool const is_in = trace.columns().track[launch.value] == trace.columns().track[phase] &&
                         covers(phase, trace.start(launch.value));
      if (is_in && std::find(of_name.begin(), of_name.end(), op) == of_name.end())
        of_name.push_back(op);
    }
  }

  for (auto& [name, times] : result) {
    times.ops = ops[name].size();
    for (int64_t ns = 0; ns < 1000; ++ns) {
      auto const any = [&](std::vector<uint32_t> const& rows, OpClass wanted) {
        return std::any_of(rows.begin(), rows.end(), [&](uint32_t row) {
          return covers(row, ns) &&
                 (wanted == OpClass::kNone || kind_info(trace.kind(row)).op_class == wanted);
        });
      };

      std::vector<uint32_t> all;
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (is_device_op(trace.kind(row))) all.push_back(row);
      times.busy += any(ops[name], OpClass::kNone) ? 1 : 0;
      times.compute += any(ops[name], OpClass::kCompute) ? 1 : 0;
      times.exposed += any(ops[name], OpClass::kComm) && !any(all, OpClass::kCompute) ? 1 : 0;
    }
  }
  return result;
}

TEST(NaiveTwin, PhasesOfRandomProgramsAgree) {
  uint32_t const phase_runs = support::kSanitized ? 60 : 300;
  for (uint32_t seed = 0; seed < phase_runs; ++seed) {
    std::mt19937 random(seed);
    auto const pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    };

    TraceBuilder builder;
    TrackId const threads[] = {builder.add_track(phase_thread(1)),
                               builder.add_track(phase_thread(2))};
    TrackId const streams[] = {builder.add_track(phase_stream(0)),
                               builder.add_track(phase_stream(1))};

    uint64_t correlation = 0;
    for (TrackId const thread : threads) {
      // Properly nested phases: each lies between two neighbours inside its parent.
      std::vector<std::pair<int64_t, int64_t>> spaces = {{0, 400}};
      for (int64_t i = pick(1, 8); i-- > 0;) {
        auto const place = static_cast<size_t>(pick(0, std::ssize(spaces) - 1));
        auto const [begin, end] = spaces[place];
        if (end - begin < 4) continue;
        int64_t const first = pick(begin, end - 2), last = pick(first + 1, end);
        builder.events(thread).add(EventKind::kPhase, first, last - first,
                                   builder.intern("phase " + std::to_string(pick(0, 3))));
        spaces[place] = {begin, first};
        spaces.emplace_back(first, last);
        spaces.emplace_back(last, end);
      }
    }

    for (int64_t i = pick(0, 25); i-- > 0;) {
      int64_t const launch = pick(0, 400);
      builder.events(threads[pick(0, 1)])
          .add(EventKind::kLaunch, launch, 1, builder.intern("launch"), ++correlation);
      if (pick(0, 2) == 0)
        builder.events(streams[1])
            .add(EventKind::kCollective, launch + pick(0, 300), pick(0, 60), builder.intern("c"),
                 correlation, CollectiveDetail{});
      else
        builder.events(streams[pick(0, 1)])
            .add(EventKind::kKernel, launch + pick(0, 300), pick(0, 60), builder.intern("k"),
                 correlation, KernelDetail{});
    }

    model::Run const run = phase_run(std::move(builder));
    Analysis const analysis = analyze(run);
    std::map<std::string, NaivePhase> found;
    for (PhaseStats const& phase : analysis.phases)
      found[phase.name] = {phase.count, phase.ops, *phase.busy_ns, *phase.compute_ns,
                           *phase.exposed_comm_ns};
    ASSERT_EQ(found, naive_phases(run.ranks[0].trace)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
