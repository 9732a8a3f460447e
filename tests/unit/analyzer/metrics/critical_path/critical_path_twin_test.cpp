// The critical path and the slack of ops off the path, compared with a twin that follows
// DEFINITIONS word by word. The twin looks at all events for every question and walks piece by
// piece over all ranks at once. It relaxes slack until nothing changes.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/analyze.h"
#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/results/analysis.h"
#include "tests/support/sanitized.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_runs.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_twin_rank.h"
#include "tests/unit/analyzer/metrics/critical_path/random_path_run.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::SyncKind;
using testing_support::path_pieces;
using testing_support::RandomPathRun;

uint32_t const kTwinRuns = support::kSanitized ? 300 : 1500;

AnalyzeOptions twin_options() {
  AnalyzeOptions options;
  options.launch_latency_limit_ns = kTwinLimit;
  return options;
}

/// The path of a whole run.
class Twin {
 public:
  Twin(model::Run const& run, Analysis const& analysis) : host_steps_(find_host_steps(run)) {
    ranks_.reserve(run.ranks.size());  // a rank must not move: its syncs refer to it
    for (size_t r = 0; r < run.ranks.size(); ++r) {
      std::map<int32_t, int64_t> limits;
      for (DeviceStats const& device : analysis.devices)
        if (device.ref.rank_index == static_cast<int32_t>(r))
          limits[device.ref.device] = device.launch.latency_limit_ns;
      ranks_.emplace_back(run.ranks[r], host_steps_.threads[r], limits);
    }

    window_ = {kFar, -kFar};
    for (DeviceStats const& device : analysis.devices)
      if (device.window.length() > 0)
        window_ = {std::min(window_.begin, device.window.begin),
                   std::max(window_.end, device.window.end)};

    for (uint32_t c = 0; c < analysis.collectives.size(); ++c) join(analysis.collectives[c], c);
    walk();
    relax();
  }

  Interval window_;
  std::map<std::tuple<size_t, int32_t, PathClass, std::string>, int64_t>
      ns;  // (rank, device or −1, class, name)
  uint64_t jumps = 0, ops = 0, guesses = 0;
  int64_t disagreement = 0, filled = 0, cut = 0;
  std::vector<TwinRank> ranks_;
  std::vector<std::vector<int64_t>> slack;  // by rank, by op; −1 = not in the window

 private:
  struct Place {
    size_t rank, op;
  };
  TwinRank::Op& at(Place place) { return ranks_[place.rank].ops[place.op]; }

  void join(CollectiveStats const& stats, uint32_t number) {
    last_.push_back(std::nullopt);
    if (stats.participants.size() < 2) return;

    std::vector<Place> places;
    for (auto const& participant : stats.participants)
      for (size_t i = 0; i < ranks_[static_cast<size_t>(participant.ref.rank_index)].ops.size();
           ++i) {
        Place const place{static_cast<size_t>(participant.ref.rank_index), i};
        if (at(place).row != participant.row) continue;
        at(place).collective = number;
        at(place).wait = participant.wait_ns;
        places.push_back(place);
      }

    auto const lead = [&](Place place) {
      TwinRank::Op const& op = at(place);
      int64_t const late = op.ready && op.start - *op.ready >= ranks_[place.rank].limit(op)
                               ? op.start - *op.ready
                               : 0;
      return op.wait + late;
    };

    for (Place const place : places)
      if (!last_.back() ||
          std::tuple(lead(place), place.rank, place.op) <
              std::tuple(lead(*last_.back()), last_.back()->rank, last_.back()->op))
        last_.back() = place;
    for (Place const place : places) at(place).lead = lead(place) - lead(*last_.back());
  }

  void walk() {
    std::optional<Place> first;
    for (size_t r = 0; r < ranks_.size(); ++r)
      for (size_t i = 0; i < ranks_[r].ops.size(); ++i)
        if (ranks_[r].ops[i].end <= window_.end &&
            (!first || ranks_[r].ops[i].end > at(*first).end ||
             (first->rank == r && ranks_[r].ops[i].end == at(*first).end)))
          first = Place{r, i};

    here_ = *first;
    time_ = window_.end;
    shift_ = 0;
    take(at(here_).end, PathClass::kUnexplained, -1, "");

    std::set<std::pair<size_t, size_t>> taken;
    bool goes_on = true, is_trusted = true;
    while (goes_on && time_ + shift_ > window_.begin) {
      TwinRank::Op& op = at(here_);
      ops += op.is_on_path ? 0 : 1;
      guesses += op.is_guess && !op.is_on_path ? 1 : 0;
      op.is_on_path = true;

      // Ranks that send the path round in a circle are not trusted any longer.
      bool const has_jumped = op.lead > 0 && !taken.emplace(here_.rank, here_.op).second;
      is_trusted = is_trusted && !has_jumped;
      if (is_trusted && op.lead > 0)
        jump(op);
      else
        goes_on = step(op);
    }
    cut = -shift_;
  }
  void jump(TwinRank::Op const& op) {
    Place const target = *last_[*op.collective];
    int64_t const arrival = at(target).start + at(target).wait;
    int64_t const end = time_;
    int64_t const until = std::max(std::min(arrival - shift_, end), window_.begin - shift_);

    filled += std::max<int64_t>(op.start - until, 0);
    take(until, op_class(op), device(op), op_name(op));
    shift_ = std::min<int64_t>(end + shift_ - arrival, 0);
    time_ = arrival;
    here_ = target;

    if (time_ + shift_ <= window_.begin) return;  // the path goes on nowhere
    ++jumps;
    disagreement = std::max(disagreement, std::abs(op.start + op.wait - arrival));
  }
  bool step(TwinRank::Op const& op) {
    if (op.lead > 0) {
      take(op.start + op.wait, op_class(op), device(op), op_name(op));
      take(op.start, PathClass::kPeer, device(op), op_name(op));
    }
    take(op.start, op_class(op), device(op), op_name(op));

    int64_t const ready = std::max(op.ready.value_or(-kFar), window_.begin - shift_);
    bool const is_in_call = op.launch && rank().waits_for_copy(*op.launch);
    take(ready,
         is_in_call || time_ - ready < rank().limit(op) ? PathClass::kLaunch
                                                        : PathClass::kUnexplained,
         device(op), op_name(op));

    if (time_ + shift_ <= window_.begin) return false;
    if (op.waited_for) {
      here_.op = *op.waited_for;
      return true;
    }
    return step_host(rank().track(*op.launch));
  }
  bool step_host(uint32_t thread) {
    for (;;) {
      auto const exit = rank().exit_of(thread, time_);
      take_host(thread, std::max(exit ? exit->to : -kFar, window_.begin - shift_));
      if (!exit || time_ + shift_ <= window_.begin) return false;

      if (exit->op) {
        here_.op = *exit->op;
        return true;
      }
      thread = exit->thread;
    }
  }
  void take_host(uint32_t thread, int64_t begin) {
    auto const first = rank().first_activity(thread);
    while (time_ > begin) {
      if (!first || time_ <= *first) return take(begin, PathClass::kUnexplained, -1, "");
      auto const [row, path_class] = rank().innermost(thread, time_ - 1);
      take(time_ - 1, path_class, -1, row ? std::string(rank().trace.name(*row)) : "");
    }
  }
  void take(int64_t begin, PathClass path_class, int32_t device, std::string const& name) {
    begin = std::max(begin, window_.begin - shift_);
    if (begin >= time_) return;
    ns[{here_.rank, device, path_class, name}] += time_ - begin;
    time_ = begin;
  }
  TwinRank& rank() { return ranks_[here_.rank]; }
  int32_t device(TwinRank::Op const& op) { return rank().trace.track(op.row).device; }
  std::string op_name(TwinRank::Op const& op) { return std::string(rank().trace.name(op.row)); }
  PathClass op_class(TwinRank::Op const& op) {
    EventKind const kind = rank().trace.kind(op.row);
    if (kind == EventKind::kCollective) return PathClass::kCommunication;
    return kind == EventKind::kMemcpy ? PathClass::kCopy : PathClass::kCompute;
  }

  bool is_inside(TwinRank::Op const& op) const {
    return window_.begin <= op.start && op.end <= window_.end;
  }
  /// The slack without any edge: until the end of the window.
  int64_t first_slack(TwinRank::Op const& op) const {
    if (!is_inside(op)) return kFar;
    return op.is_on_path ? 0 : window_.end - op.end;
  }

  /// Relaxes over all edges until nothing changes.
  void relax() {
    for (TwinRank const& rank : ranks_) {
      slack.emplace_back();
      for (TwinRank::Op const& op : rank.ops) slack.back().push_back(first_slack(op));
    }

    for (bool changed = true; changed;) {
      std::vector<std::vector<int64_t>> const old = slack;
      for (size_t r = 0; r < ranks_.size(); ++r) relax(ranks_[r], slack[r]);

      std::map<uint32_t, int64_t> shared;
      for (bool const is_second : {false, true})
        for (size_t r = 0; r < ranks_.size(); ++r)
          for (size_t i = 0; i < ranks_[r].ops.size(); ++i) {
            auto const& op = ranks_[r].ops[i];
            if (!op.collective || !is_inside(op)) continue;
            int64_t& least = shared.try_emplace(*op.collective, kFar).first->second;
            (is_second ? slack[r][i] : least) = least = std::min(least, slack[r][i]);
          }
      changed = slack != old;
    }

    for (size_t r = 0; r < ranks_.size(); ++r)
      for (size_t i = 0; i < ranks_[r].ops.size(); ++i)
        if (!is_inside(ranks_[r].ops[i])) slack[r][i] = -1;
  }
  void relax(TwinRank const& rank, std::vector<int64_t>& of) const {
    std::map<uint32_t, int64_t> of_launch;
    for (size_t i = 0; i < rank.ops.size(); ++i) {
      TwinRank::Op const& op = rank.ops[i];
      if (!is_inside(op) || !op.ready) continue;
      auto const limit = [&](int64_t& slack_ns, int64_t over) {
        slack_ns = std::min(slack_ns, of[i] + op.lead + *op.ready - over);
      };

      if (op.before) limit(of[*op.before], std::min(rank.ops[*op.before].end, op.start));
      for (size_t const source : op.sources) limit(of[source], rank.ops[source].end);
      if (op.launch)
        limit(of_launch.try_emplace(*op.launch, kFar).first->second, rank.launched(op));
    }

    for (TwinRank::Sync const& sync : rank.syncs) {
      int64_t const delay = delay_behind(rank, sync, of_launch);
      if (delay >= kFar) continue;
      for (size_t i = 0; i < rank.ops.size(); ++i) {
        bool const is_awaited = sync.waits_for(i) && rank.ops[i].start < rank.ops[i].end &&
                                rank.ops[i].end <= rank.end(sync.row);
        if (is_awaited && is_inside(rank.ops[i]))
          of[i] = std::min(of[i], delay + sync.ready - rank.ops[i].end);
      }
    }
  }
  /// The delay of the sync that changes nothing: the slack of a launch behind it plus the waits of
  /// the syncs between, at its least over all launches.
  static int64_t delay_behind(TwinRank const& rank, TwinRank::Sync const& sync,
                              std::map<uint32_t, int64_t> const& of_launch) {
    using Key = std::tuple<int64_t, bool, uint32_t>;
    auto const key_of = [&](TwinRank::Sync const& s) { return Key{rank.end(s.row), false, s.row}; };

    int64_t least = kFar;
    for (auto const& [launch, delay] : of_launch) {
      Key const key{rank.start(launch), true, launch};
      if (rank.track(launch) != rank.track(sync.row) || key < key_of(sync)) continue;

      int64_t sum = delay;
      for (TwinRank::Sync const& between : rank.syncs)
        if (rank.track(between.row) == rank.track(sync.row) && key_of(sync) < key_of(between) &&
            key_of(between) < key)
          sum += between.ready - rank.start(between.row);

      least = std::min(least, sum);
    }
    return least;
  }

  HostSteps host_steps_;
  std::vector<std::optional<Place>> last_;  // by collective
  Place here_{0, 0};
  int64_t time_ = 0, shift_ = 0;
};

TEST(CriticalPathTwin, EveryNanosecondIsWhatTheDefinitionsSay) {
  uint64_t jumps = 0, guesses = 0;
  for (uint32_t seed = 0; seed < kTwinRuns; ++seed) {
    model::Run const run = RandomPathRun(seed).make();
    Analysis const analysis = analyze(run, twin_options());
    if (!analysis.critical_path) continue;
    CriticalPathStats const& path = *analysis.critical_path;
    Twin const twin(run, analysis);

    std::map<std::tuple<size_t, int32_t, PathClass, std::string>, int64_t> found;
    for (PathPiece const& piece : path_pieces(run, analysis, kTwinLimit))
      found[{static_cast<size_t>(piece.rank_index), piece.device.value_or(-1), piece.path_class,
             piece.row ? std::string(run.ranks[static_cast<size_t>(piece.rank_index)].trace.name(
                             *piece.row))
                       : ""}] += piece.when.length();
    ASSERT_EQ(found, twin.ns) << "seed " << seed;

    EXPECT_EQ(path.window, twin.window_);
    EXPECT_EQ(path.ops, twin.ops);
    EXPECT_EQ(path.guessed_waits, twin.guesses);
    EXPECT_EQ(path.jumps, twin.jumps);
    EXPECT_EQ(path.clock_disagreement_ns, twin.disagreement);
    EXPECT_EQ(path.clock_filled_ns, twin.filled);
    EXPECT_EQ(path.clock_cut_ns, twin.cut);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;

    jumps += path.jumps;
    guesses += path.guessed_waits;
  }

  // The runs contain jumps and guesses in numbers.
  EXPECT_GT(jumps, kTwinRuns / 10);
  EXPECT_GT(guesses, kTwinRuns / 10);
}

char const* class_prefix(EventKind kind) {
  if (kind == EventKind::kMemcpy) return "copy ";
  return kind == EventKind::kCollective ? "communication " : "compute ";
}

TEST(CriticalPathTwin, SlackIsTheLeastOverAllChainsOfWork) {
  uint32_t exact = 0, compared = 0;
  for (uint32_t seed = 0; seed < kTwinRuns; ++seed) {
    model::Run const run = RandomPathRun(seed).make();
    Analysis const analysis = analyze(run, twin_options());
    if (!analysis.critical_path) continue;
    ++compared;
    if (!analysis.critical_path->is_slack_exact) continue;
    ++exact;
    Twin const twin(run, analysis);

    std::map<std::string, std::vector<int64_t>> by_name;
    std::map<std::string, int64_t> nearly;
    for (size_t r = 0; r < twin.ranks_.size(); ++r) {
      for (size_t i = 0; i < twin.ranks_[r].ops.size(); ++i) {
        auto const& op = twin.ranks_[r].ops[i];
        if (op.is_on_path || twin.slack[r][i] < 0) continue;
        EventKind const kind = run.ranks[r].trace.kind(op.row);
        std::string const path_class = class_prefix(kind);
        for (std::string const& key :
             {path_class, path_class + std::string(run.ranks[r].trace.name(op.row))}) {
          by_name[key].push_back(twin.slack[r][i]);
          if (twin.slack[r][i] < analysis.critical_path->nearly_critical_below_ns)
            nearly[key] += op.end - op.start;
        }
      }
    }

    std::vector<PathSlack> all = analysis.critical_path->slack_by_class;
    all.insert(all.end(), analysis.critical_path->slack_by_name.begin(),
               analysis.critical_path->slack_by_name.end());
    ASSERT_EQ(all.size(), by_name.size()) << "seed " << seed;

    for (PathSlack const& slack : all) {
      std::string const key =
          std::string(to_string(slack.path_class)) + " " + slack.name.value_or("");
      std::vector<int64_t>& expected = by_name[key];
      ASSERT_EQ(slack.ops, expected.size()) << key << ", seed " << seed;
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(slack.min_ns, expected.front());
      EXPECT_EQ(slack.median_ns, expected[(expected.size() - 1) / 2]);
      EXPECT_EQ(slack.nearly_critical_ns, nearly[key]);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(exact, compared * 9 / 10);
}

}  // namespace
}  // namespace stepscope::analyzer
