#include "analyzer/metrics/critical_path/op_slack.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <tbb/parallel_for.h>

#include "analyzer/metrics/critical_path/dependency_graph_streams.h"

namespace stepscope::analyzer {
namespace {

/// More than any delay that matters; sums of two do not overflow.
constexpr int64_t kUnlimited = model::kMaxTime;

int64_t add_delays(int64_t a, int64_t b) {
  return std::min(std::min(a, kUnlimited) + std::min(b, kUnlimited), kUnlimited);
}

/// What syncs of one scope allow: ops that end until `sync_end` may end until `latest`. Syncs come
/// from the last to the first.
class SyncLimits {
 public:
  void add(int64_t sync_end, int64_t latest) {
    if (!limits_.empty()) latest = std::min(latest, limits_.back().second);
    limits_.emplace_back(sync_end, latest);
  }
  [[nodiscard]] int64_t slack_of(int64_t op_end) const {
    // Ops come from the last to the first, too: nearly always it is one of the last limits.
    size_t first = limits_.size();
    for (size_t step = 1; first > 0 && limits_[first - 1].first < op_end; step *= 2)
      first -= std::min(step, first);
    auto const after =
        std::partition_point(limits_.begin() + static_cast<ptrdiff_t>(first), limits_.end(),
                             [&](auto const& l) { return l.first >= op_end; });
    return after == limits_.begin() ? kUnlimited : std::prev(after)->second - op_end;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> limits_;  ///< by sync_end descending
};

/// One process from its end to its begin. What is found of collectives is shared with the other
/// processes.
class SlackSweep {
 public:
  SlackSweep(DependencyGraph const& graph, Interval window) : graph_(graph), window_(window) {
    items_.reserve(graph.launches.size() + graph.syncs.size());
    for (uint32_t i = 0; i < graph.launches.size(); ++i)
      items_.push_back({graph.launches[i].start, true, i});
    for (uint32_t i = 0; i < graph.syncs.size(); ++i)
      items_.push_back({graph.syncs[i].end, false, i});

    // Each part comes from one thread and is sorted already.
    auto const syncs = items_.begin() + static_cast<ptrdiff_t>(graph.launches.size());
    if (!std::is_sorted(items_.begin(), syncs)) std::sort(items_.begin(), syncs);
    if (!std::is_sorted(syncs, items_.end())) std::sort(syncs, items_.end());
    std::inplace_merge(items_.begin(), syncs, items_.end());

    find_partners();
  }

  /// `shared`: by collective, by how much it could be later as far as is known; appends those that
  /// turn out to have less.
  void run(std::vector<int64_t>& shared, std::vector<uint32_t>& reduced) {
    slack_.assign(graph_.ops.size(), kUnlimited);
    of_launch_.assign(graph_.launches.size(), kUnlimited);
    of_thread_.assign(graph_.exits.size(), kUnlimited);
    of_process_ = SyncLimits();
    of_device_.assign(graph_.devices, {});
    of_stream_.assign(graph_.exits.size(), {});

    size_t items = items_.size(), joins = graph_.joins.size(), waits = graph_.waits.size();
    for (auto number = static_cast<uint32_t>(graph_.ops.size()); number-- > 0;) {
      GraphOp const& op = graph_.ops[number];

      for (; items > 0 && items_[items - 1].key > op.start; --items) pass(items_[items - 1]);
      for (; joins > 0 && graph_.joins[joins - 1].op > number; --joins) {
      }
      size_t const last_wait = waits;
      while (waits > 0 && graph_.waits[waits - 1].op == number) --waits;

      if (op.start < window_.begin || op.end > window_.end) {
        slack_[number] = kNoSlack;
        continue;
      }

      int64_t own = slack_as_known(number);
      int64_t lead = 0;
      if (joins > 0 && graph_.joins[joins - 1].op == number) {
        CollectiveJoin const& join = graph_.joins[joins - 1];
        lead = join.lead_ns;
        for (uint32_t const partner : partners_of(join))
          own = std::min(own, slack_as_known(partner));
        own = std::min(own, shared[join.collective]);
        if (own < shared[join.collective]) reduced.push_back(join.collective);
        shared[join.collective] = own;
      }

      slack_[number] = own;
      hand_on(op, add_delays(own, lead),
              {graph_.waits.data() + waits, graph_.waits.data() + last_wait});
    }
  }
  std::vector<int64_t> take() && { return std::move(slack_); }

 private:
  /// A launch call by its begin, a sync by its end.
  struct Item {
    int64_t key;
    bool is_launch;
    uint32_t number;
    friend auto operator<=>(Item const&, Item const&) = default;
  };

  /// Devices of one process that meet each other.
  void find_partners() {
    std::vector<std::pair<uint32_t, uint32_t>> all;  // collective, op
    for (CollectiveJoin const& join : graph_.joins) all.emplace_back(join.collective, join.op);
    std::sort(all.begin(), all.end());
    for (size_t first = 0, last = 0; first < all.size(); first = last) {
      while (last < all.size() && all[last].first == all[first].first) ++last;
      if (last - first < 2) continue;
      partner_groups_.push_back({all[first].first, static_cast<uint32_t>(partners_.size())});
      for (size_t i = first; i < last; ++i) partners_.push_back(all[i].second);
    }
  }
  [[nodiscard]] std::span<uint32_t const> partners_of(CollectiveJoin const& join) const {
    auto const group = std::lower_bound(partner_groups_.begin(), partner_groups_.end(),
                                        std::pair(join.collective, 0U));
    if (group == partner_groups_.end() || group->first != join.collective) return {};
    size_t const end =
        std::next(group) == partner_groups_.end() ? partners_.size() : std::next(group)->second;
    return {partners_.data() + group->second, partners_.data() + end};
  }

  /// The slack by what depends on the op and has been passed. All that depends on a partner begins
  /// behind the last start of the partners.
  [[nodiscard]] int64_t slack_as_known(uint32_t number) const {
    GraphOp const& op = graph_.ops[number];
    if (op.is_on_path) return 0;
    if (op.start < window_.begin || op.end > window_.end) return kUnlimited;
    return std::min({slack_[number], window_.end - op.end, limit_by_syncs(op)});
  }

  void pass(Item const& item) {
    if (item.is_launch) {
      int64_t& thread = of_thread_[graph_.launches[item.number].thread];
      thread = std::min(thread, of_launch_[item.number]);
      return;
    }

    PathSync const& sync = graph_.syncs[item.number];
    int64_t& thread = of_thread_[sync.thread];

    if (thread < kUnlimited) {
      int64_t const latest = sync.ready + thread;
      if (sync.scope == SyncScope::kProcess) of_process_.add(sync.end, latest);
      if (sync.scope == SyncScope::kDevice) of_device_[sync.scope_number].add(sync.end, latest);
      if (sync.scope == SyncScope::kStream) of_stream_[sync.scope_number].add(sync.end, latest);
      if (sync.scope == SyncScope::kOp) {
        int64_t& slack = slack_[sync.scope_number];
        slack = std::min(slack, latest - graph_.ops[sync.scope_number].end);
      }
    }

    thread = add_delays(thread, sync.ready - sync.begin);
  }

  [[nodiscard]] int64_t limit_by_syncs(GraphOp const& op) const {
    if (op.start == op.end) return kUnlimited;  // no op waits for what takes no time
    return std::min({of_process_.slack_of(op.end),
                     of_device_[graph_.device_of_stream[op.stream]].slack_of(op.end),
                     of_stream_[op.stream].slack_of(op.end)});
  }

  /// The op could begin so much later: what it waited for could be over so much later, and by so
  /// much as it was over earlier.
  void hand_on(GraphOp const& op, int64_t delay, std::span<PathWait const> waits) {
    if (op.ready == kNothingBefore) return;
    auto const limit = [&](int64_t& slack, int64_t over) {
      slack = std::min(slack, add_delays(delay, op.ready - over));
    };
    if (op.before != kNoNode)
      limit(slack_[op.before], std::min(graph_.ops[op.before].end, op.start));
    for (PathWait const& wait : waits) limit(slack_[wait.source], graph_.ops[wait.source].end);
    if (op.launch != kNoNode)
      limit(of_launch_[op.launch], launched_at(op, graph_.launches[op.launch]));
  }

  DependencyGraph const& graph_;
  Interval window_;
  std::vector<Item> items_;         ///< by key; of equal ones syncs before launches
  std::vector<uint32_t> partners_;  ///< ops
  std::vector<std::pair<uint32_t, uint32_t>>
      partner_groups_;  ///< collective, where its ops begin in partners_; by collective
  std::vector<int64_t> slack_, of_launch_, of_thread_;
  SyncLimits of_process_;
  std::vector<SyncLimits> of_device_, of_stream_;
};

/// Which processes take part in each collective.
class JoinProcesses {
 public:
  JoinProcesses(std::vector<DependencyGraph> const& graphs, size_t collectives) {
    std::vector<uint32_t> collective_of;
    for (uint32_t process = 0; process < graphs.size(); ++process) {
      for (CollectiveJoin const& join : graphs[process].joins) {
        process_of_.push_back(process);
        collective_of.push_back(join.collective);
      }
    }

    std::vector<uint32_t> entries(process_of_.size());
    std::iota(entries.begin(), entries.end(), 0U);
    entries_.emplace(entries, collective_of, collectives);
  }
  /// Marks all that have to be swept again after `process` has found less slack: itself only if it
  /// takes part more than once.
  void mark(uint32_t collective, uint32_t process, std::vector<bool>& marks) const {
    bool has_seen_own = false;
    for (uint32_t const entry : entries_->of(collective)) {
      bool const is_own = process_of_[entry] == process;
      if (!is_own || has_seen_own) marks[process_of_[entry]] = true;
      has_seen_own = has_seen_own || is_own;
    }
  }

 private:
  std::vector<uint32_t> process_of_;
  std::optional<OpBuckets> entries_;
};

}  // namespace

OpSlack find_slack(std::vector<DependencyGraph> const& graphs, size_t collectives,
                   Interval window) {
  JoinProcesses const processes(graphs, collectives);
  std::vector<int64_t> shared(collectives, kUnlimited);
  std::vector<std::optional<SlackSweep>> sweeps(graphs.size());
  tbb::parallel_for(size_t{0}, graphs.size(),
                    [&](size_t process) { sweeps[process].emplace(graphs[process], window); });

  for (DependencyGraph const& graph : graphs) {
    for (CollectiveJoin const& join : graph.joins)
      if (graph.ops[join.op].is_on_path) shared[join.collective] = 0;
  }

  std::vector<bool> is_due(graphs.size(), true);
  std::vector<uint32_t> reduced;
  OpSlack result;
  result.is_exact = false;

  for (int round = 0; round < kMostSlackRounds && !result.is_exact; ++round) {
    for (uint32_t process = 0; process < graphs.size(); ++process) {
      if (!is_due[process]) continue;
      is_due[process] = false;
      reduced.clear();
      sweeps[process]->run(shared, reduced);
      for (uint32_t const collective : reduced) processes.mark(collective, process, is_due);
    }
    result.is_exact = std::find(is_due.begin(), is_due.end(), true) == is_due.end();
  }

  for (auto& sweep : sweeps) result.of_process.push_back(std::move(*sweep).take());
  return result;
}

}  // namespace stepscope::analyzer
