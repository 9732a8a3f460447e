// Waits attributed in random runs: they sum to the waits that were measured, and agree with a twin
// that looks at every ns and follows DEFINITIONS word by word.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/communication/wait_attribution.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/made_ranks.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using testing_support::all_reduce_of;
using testing_support::MadeRanks;

int64_t all_attributed_ns(Analysis const& analysis) {
  return std::accumulate(analysis.waits.begin(), analysis.waits.end(), int64_t{0},
                         [](int64_t sum, WaitStats const& row) { return sum + row.gpu_ns; });
}

struct RandomWaits {
  std::mt19937 random;
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  /// Three or four ranks with kernels, copies and collectives of some or all ranks on two streams.
  /// Some runs have steps.
  model::Run make(bool with_steps) {
    auto const ranks = static_cast<int32_t>(pick(3, 4));
    MadeRanks made(ranks);
    std::vector<int64_t> now(static_cast<size_t>(ranks), 0), host(now), step(now);
    std::array<std::vector<int64_t>, 2> stream = {now, now};
    std::map<std::pair<uint64_t, size_t>, uint64_t> sequence;

    for (int64_t round = 0; round < 14; ++round) {
      for (size_t r = 0; r < now.size(); ++r) {
        if (with_steps && round % 3 == 0) {
          if (round > 0) made.step(static_cast<int32_t>(r), step[r], host[r] + 1, round / 3 - 1);
          step[r] = host[r] = std::max(host[r] + 1, now[r] - pick(0, 20));
        }
        for (int64_t kernels = pick(0, 3); kernels-- > 0;)
          run_op(made, static_cast<int32_t>(r), now[r], host[r]);
      }

      auto const which = static_cast<size_t>(pick(0, 1));
      uint64_t const communicator = static_cast<uint64_t>(pick(1, 3));
      std::vector<int32_t> members;
      for (int32_t r = 0; r < ranks; ++r)
        if (communicator == 1 || (communicator == 2 ? r < 2 : r > 0)) members.push_back(r);

      int64_t last = 0;
      std::vector<int64_t> arrivals;
      for (int32_t const r : members) {
        auto const i = static_cast<size_t>(r);
        arrivals.push_back(std::max(now[i], stream[which][i]) + pick(0, 10));
        last = std::max(last, arrivals.back());
      }

      int64_t const end = last + pick(1, 20);
      uint64_t const number = ++sequence[{communicator, 0}];
      bool const is_awaited = pick(0, 2) > 0;

      for (size_t m = 0; m < members.size(); ++m) {
        auto const i = static_cast<size_t>(members[m]);
        int64_t const left = end + pick(0, 2);
        made.collective(members[m], arrivals[m], left, host[i],
                        all_reduce_of(static_cast<int32_t>(m), static_cast<int32_t>(members.size()),
                                      number, communicator),
                        which);
        stream[which][i] = left;
        if (is_awaited) now[i] = std::max(now[i], left);
      }
    }

    for (size_t r = 0; r < now.size() && with_steps; ++r)
      made.step(static_cast<int32_t>(r), step[r], host[r] + 1, 4);
    return made.finish();
  }

  void run_op(MadeRanks& made, int32_t rank, int64_t& now, int64_t& host) {
    if (pick(0, 3) == 0) {
      int64_t const begin = host;
      host = std::max(host, now - pick(0, 10)) + pick(0, 60);
      made.host(rank, pick(0, 1) == 0 ? EventKind::kRange : EventKind::kInputWait, begin, host,
                "op " + std::to_string(pick(0, 2)));
    }

    int64_t const begin = std::max(now, host) + pick(0, 3), end = begin + pick(1, 60);
    if (pick(0, 4) == 0) {
      made.copy(rank, begin, end, host);
    } else {
      made.kernel(rank, begin, end, host);
    }
    now = end;
  }
};

AnalyzeOptions short_latencies() {
  AnalyzeOptions options;
  options.launch_latency_limit_ns = 4;
  return options;
}

/// Whether the device has measured steps, and the instant lies in one; without steps all time
/// counts.
bool is_in_measured_step(Analysis const& analysis, DeviceRef ref, int64_t instant) {
  bool has_steps = false, inside = false;
  for (StepStats const& step : analysis.steps) {
    if (step.ref != ref) continue;
    has_steps = true;
    inside = inside || (!step.warmup && step.window.begin <= instant && instant < step.window.end);
  }
  return has_steps ? inside : true;
}

TEST(Waits, AttributedTimesSumToTheWaitsOfMeasuredParticipants) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Analysis const analysis =
        analyze(RandomWaits{std::mt19937(seed)}.make(seed % 2 == 0), short_latencies());
    int64_t waited = 0, exposed = 0, attributed_exposed = 0;

    for (CollectiveStats const& collective : analysis.collectives)
      for (auto const& own : collective.participants) {
        EXPECT_LE(own.exposed_late_ns, own.wait_ns);
        EXPECT_LE(own.exposed_transfer_ns, own.when.length() - own.wait_ns);
        if (!is_in_measured_step(analysis, own.ref, own.when.begin)) continue;
        waited += own.wait_ns;
        exposed += own.exposed_late_ns;
      }

    for (WaitStats const& row : analysis.waits) attributed_exposed += row.exposed_ns;
    ASSERT_EQ(all_attributed_ns(analysis), waited) << "seed " << seed;
    ASSERT_EQ(attributed_exposed, exposed) << "seed " << seed;
  }
}

TEST(Waits, InSyntheticTrainingRunsSumToTheNanosecond) {
  std::vector<support::SyntheticOptions> variants(4);
  variants[0].straggler_device = 1;
  variants[1].jitter = 0.5;
  variants[2].process_per_device = true;
  variants[2].rank_clock_offset_ns = 123'456'789;
  variants[2].straggler_device = 0;
  variants[3].marks = support::StepMarks::kNone;

  for (support::SyntheticOptions& options : variants) {
    options.devices = 4;
    Analysis const analysis = analyze(make_synthetic_run(options));
    int64_t waited = 0;
    for (CollectiveStats const& collective : analysis.collectives)
      for (auto const& own : collective.participants)
        if (is_in_measured_step(analysis, own.ref, own.when.begin)) waited += own.wait_ns;

    EXPECT_GT(waited, 0);
    EXPECT_EQ(all_attributed_ns(analysis), waited);
  }
}

/// What a device does at every ns, and the waits attributed from that, without any index.
class NaiveWaits {
 public:
  using Key = std::pair<int32_t, std::string>;  // rank, cause

  NaiveWaits(model::Run const& run, Analysis const& analysis) : analysis_(analysis) {
    for (size_t r = 0; r < run.ranks.size(); ++r)
      activity_times_.push_back(activity_times_of(run.ranks[r].trace, static_cast<int32_t>(r)));
  }

  std::map<Key, double> attribute_waits() {
    amounts_.assign(analysis_.collectives.size(), 0);
    std::vector<size_t> order;
    for (size_t c = 0; c < amounts_.size(); ++c) {
      auto const& participants = analysis_.collectives[c].participants;
      for (auto const& own : participants)
        if (is_in_measured_step(analysis_, own.ref, own.when.begin))
          amounts_[c] += static_cast<double>(own.wait_ns);
      if (participants.size() > 1) order.push_back(c);
    }

    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return late(a).when.begin > late(b).when.begin; });
    for (size_t const c : order) attribute_one(c);
    return rows_;
  }

 private:
  using Participant = CollectiveStats::Participant;
  static bool covers(Interval when, int64_t ns) { return when.begin <= ns && ns < when.end; }

  std::map<int64_t, std::string> activity_times_of(model::Trace const& trace, int32_t rank) const {
    std::map<int64_t, std::string> result;
    auto const set = [&](Interval when, std::string const& what) {
      for (int64_t ns = when.begin; ns < when.end; ++ns) result[ns] = what;
    };
    for (IdleGap const gap : analysis_.gaps)
      if (gap.ref.rank_index == rank) set(gap.when, to_string(gap.cause));

    auto const ops = [&](EventKind kind, std::string const& what) {
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (trace.kind(row) == kind) set({trace.start(row), trace.end(row)}, what);
    };

    ops(EventKind::kMemcpy, "copy");
    ops(EventKind::kCollective, "comm");
    for (CollectiveStats const& collective : analysis_.collectives)
      for (Participant const& own : collective.participants)
        if (own.ref.rank_index == rank) set({own.when.begin, own.when.begin + own.wait_ns}, "peer");
    ops(EventKind::kKernel, "compute");
    return result;
  }

  Participant const& late(size_t c) const {
    auto const& all = analysis_.collectives[c].participants;
    return *std::min_element(all.begin(), all.end(),
                             [](auto const& a, auto const& b) { return a.wait_ns < b.wait_ns; });
  }
  Participant const* in(size_t c, DeviceRef ref) const {
    for (Participant const& own : analysis_.collectives[c].participants)
      if (own.ref == ref) return &own;
    return nullptr;
  }
  std::set<DeviceRef> group(size_t c) const {
    std::set<DeviceRef> refs;
    for (Participant const& own : analysis_.collectives[c].participants) refs.insert(own.ref);
    return refs;
  }
  std::map<std::string, double> done(DeviceRef ref, int64_t begin, int64_t end) const {
    std::map<std::string, double> result;
    auto const& all = activity_times_[static_cast<size_t>(ref.rank_index)];
    for (auto at = all.lower_bound(begin); at != all.end() && at->first < end; ++at)
      result[at->second] += 1;
    return result;
  }
  int64_t step_begin(DeviceRef ref, int64_t instant) const {
    std::optional<int64_t> begin;
    for (StepStats const& step : analysis_.steps)
      if (step.ref == ref && step.window.begin <= instant)
        begin = std::max(begin.value_or(step.window.begin), step.window.begin);
    if (begin) return *begin;
    for (auto const& [ns, what] : activity_times_[static_cast<size_t>(ref.rank_index)])
      if (what == "compute" || what == "comm" || what == "copy" || what == "peer")
        return std::min(ns, instant);
    return instant;
  }

  void attribute_one(size_t c) {
    if (amounts_[c] == 0) return;
    Participant const& own = late(c);

    std::optional<size_t> previous;
    for (size_t earlier = 0; earlier < c; ++earlier)
      if (group(earlier) == group(c) && in(earlier, own.ref)->when.end <= own.when.begin)
        previous = earlier;
    if (previous) {
      auto const& all = activity_times_[static_cast<size_t>(own.ref.rank_index)];
      int64_t const end = in(*previous, own.ref)->when.end;
      auto const at = [&](int64_t ns) { return all.contains(ns) ? all.at(ns) : std::string(); };
      // The end lies inside a kernel or between two adjoining ones: compute hides it, so the
      // previous collective did not level the ranks.
      if (at(end) == "compute" && at(end - 1) == "compute") previous.reset();
    }

    auto const since = [&](Participant const& p) {
      return previous ? in(*previous, p.ref)->when.end : step_begin(p.ref, p.when.begin);
    };

    std::map<std::string, double> more = done(own.ref, since(own), own.when.begin);
    double waits = 0;
    for (Participant const& p : analysis_.collectives[c].participants)
      waits += static_cast<double>(p.wait_ns);
    for (Participant const& p : analysis_.collectives[c].participants)
      if (&p != &own)
        for (auto const& [what, ns] : done(p.ref, since(p), p.when.begin))
          more[what] -= ns * static_cast<double>(p.wait_ns) / waits;

    double total = 0;
    for (auto const& [what, ns] : more) total += std::max(0.0, ns);
    if (total < 1e-3) rows_[{own.ref.rank_index, "unknown"}] += amounts_[c];

    for (auto const& [what, ns] : more) {
      if (total < 1e-3 || ns <= 0) continue;
      double const part = amounts_[c] * ns / total;
      if (what != "peer" || !pass_on(own, since(own), part))
        rows_[{own.ref.rank_index, what}] += part;
    }
  }

  bool pass_on(Participant const& own, int64_t since, double amount) {
    std::map<size_t, double> waited;
    double total = 0;
    for (size_t c = 0; c < analysis_.collectives.size(); ++c) {
      Participant const* const mine = in(c, own.ref);
      if (mine == nullptr || mine->wait_ns == 0 || late(c).when.begin >= own.when.begin ||
          mine->when.begin > own.when.begin)
        continue;

      int64_t const ns = std::min(mine->when.begin + mine->wait_ns, own.when.begin) -
                         std::max(mine->when.begin, since);
      if (ns > 0) total += waited[c] = static_cast<double>(ns);
    }

    for (auto const& [c, ns] : waited) amounts_[c] += amount * ns / total;
    return total > 0;
  }

  Analysis const& analysis_;
  std::vector<std::map<int64_t, std::string>> activity_times_;
  std::vector<double> amounts_;
  std::map<Key, double> rows_;
};

TEST(Waits, AgreeWithATwinThatLooksAtEveryNanosecond) {
  uint32_t const runs = support::kSanitized ? 100 : 400;
  std::set<std::string> causes;
  for (uint32_t seed = 0; seed < runs; ++seed) {
    model::Run const run = RandomWaits{std::mt19937(seed)}.make(seed % 2 == 0);
    Analysis const analysis = analyze(run, short_latencies());
    std::map<NaiveWaits::Key, double> found, expected = NaiveWaits(run, analysis).attribute_waits();

    for (WaitStats const& row : analysis.waits) {
      found[{row.ref.rank_index, cause_of(row)}] += static_cast<double>(row.gpu_ns);
      causes.insert(cause_of(row));
    }

    for (auto const& [key, ns] : expected) found.try_emplace(key, 0);
    for (auto const& [key, ns] : found)
      ASSERT_NEAR(ns, expected[key], 30) << "seed " << seed << " rank " << key.first << " "
                                         << key.second;  // of rounding, 1 a part
  }

  for (char const* cause : {"compute", "comm", "copy", "launch_starved", "input", "unknown"})
    EXPECT_TRUE(causes.contains(cause)) << cause;
}

}  // namespace
}  // namespace stepscope::analyzer
