#include "analyzer/metrics/critical_path/critical_path.h"

#include <algorithm>
#include <tuple>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/core/saturate.h"
#include "analyzer/metrics/critical_path/dependency_graphs.h"
#include "analyzer/metrics/critical_path/op_slack.h"

namespace stepscope::analyzer {
namespace {

/// First begin to last end of the chosen devices' windows; none if all are empty.
std::optional<Interval> path_window(std::vector<DeviceStats> const& chosen) {
  std::optional<Interval> window;
  for (DeviceStats const& device : chosen) {
    if (device.window.length() <= 0) continue;
    window = window ? Interval{std::min(window->begin, device.window.begin),
                               std::max(window->end, device.window.end)}
                    : device.window;
  }
  return window;
}

/// The op that ends last until the window's end; of equal ones the one of the first rank, there the
/// one that began last.
OpPlace last_op(std::vector<DependencyGraph> const& graphs,
                std::vector<PathProcess> const& processes, Interval window) {
  OpPlace best;
  auto const key = [&](uint32_t process, uint32_t op) {
    return std::tuple(graphs[process].ops[op].end,
                      -int64_t{processes[process].front().trace().info().rank}, -int64_t{process},
                      op);
  };

  for (uint32_t p = 0; p < graphs.size(); ++p) {
    for (uint32_t op = 0; op < graphs[p].ops.size() && graphs[p].ops[op].start <= window.end;
         ++op) {
      if (graphs[p].ops[op].end > window.end) continue;
      if (best.op == kNoNode || key(p, op) > key(best.process, best.op)) best = {p, op};
    }
  }

  return best;
}

/// The steps of the process's first device that has any: by time.
std::vector<StepStats> steps_of(PathProcess process, std::vector<StepStats> const& all) {
  std::vector<StepStats> steps;
  for (DeviceOps const& device : process) {
    auto const before = [](StepStats const& step, DeviceRef ref) { return step.ref < ref; };
    auto step = std::lower_bound(all.begin(), all.end(), device.ref, before);
    for (; step != all.end() && step->ref == device.ref; ++step) steps.push_back(*step);
    if (!steps.empty()) break;
  }

  std::stable_sort(steps.begin(), steps.end(), [](StepStats const& a, StepStats const& b) {
    return a.window.begin < b.window.begin;
  });
  return steps;
}

/// Slack of ops by their class and name.
class SlackTable {
 public:
  explicit SlackTable(int64_t nearly_below_ns) : nearly_below_ns_(nearly_below_ns) {}
  /// `name`: a number, as they are given out one after the other.
  void add(uint32_t name, PathClass path_class, int64_t slack, int64_t dur) {
    size_t const place = size_t{name} * kClasses + static_cast<size_t>(path_class);
    if (place >= rows_.size()) rows_.resize((size_t{name} + 1) * kClasses);
    Row& row = rows_[place];
    row.slack.push_back(slack);
    add_saturated(row.total_ns, dur);
    if (slack < nearly_below_ns_) add_saturated(row.nearly_critical_ns, dur);
  }

  /// One row a class.
  [[nodiscard]] std::vector<PathSlack> by_class() const {
    std::vector<PathSlack> result;
    for (size_t path_class = 0; path_class < kClasses; ++path_class) {
      Row all;
      for (size_t place = path_class; place < rows_.size(); place += kClasses)
        all.add(rows_[place]);
      if (!all.slack.empty())
        result.push_back(std::move(all).facts(static_cast<PathClass>(path_class)));
    }
    return result;
  }
  /// One row a name and class.
  [[nodiscard]] std::vector<PathSlack> by_name(PathNames const& names) && {
    std::vector<PathSlack> result;
    for (size_t place = 0; place < rows_.size(); ++place) {
      if (rows_[place].slack.empty()) continue;
      result.push_back(std::move(rows_[place]).facts(static_cast<PathClass>(place % kClasses)));
      result.back().name = names.text(static_cast<uint32_t>(place / kClasses));
    }
    return result;
  }

 private:
  struct Row {
    std::vector<int64_t> slack;
    int64_t total_ns = 0, nearly_critical_ns = 0;

    void add(Row const& other) {
      slack.insert(slack.end(), other.slack.begin(), other.slack.end());
      add_saturated(total_ns, other.total_ns);
      add_saturated(nearly_critical_ns, other.nearly_critical_ns);
    }
    /// Needs at least one op.
    [[nodiscard]] PathSlack facts(PathClass path_class) && {
      PathSlack facts;
      facts.path_class = path_class;
      facts.ops = slack.size();
      facts.total_ns = total_ns;
      facts.nearly_critical_ns = nearly_critical_ns;
      facts.median_ns = lower_median(slack);
      facts.min_ns = *std::min_element(slack.begin(), slack.end());
      return facts;
    }
  };
  /// Compute, communication, copy: the first ones are those of ops.
  static constexpr size_t kClasses = static_cast<size_t>(PathClass::kCopy) + 1;

  int64_t nearly_below_ns_;
  std::vector<Row> rows_;  ///< by name, then class
};

/// Below this an op is nearly critical: a change that is worth making moves that much.
int64_t nearly_critical_below(CriticalPathInput const& input, Interval window) {
  constexpr int64_t kPart = 100;
  std::vector<int64_t> lengths;
  for (StepStats const& step : input.steps)
    if (!step.warmup) lengths.push_back(step.window.length());
  if (lengths.empty()) return window.length() / kPart;
  return lower_median(lengths) / kPart;
}

PathClass class_of_slack(model::EventKind kind) {
  model::OpClass const op_class = model::kind_info(kind).op_class;
  if (op_class == model::OpClass::kComm) return PathClass::kCommunication;
  return op_class == model::OpClass::kCopy ? PathClass::kCopy : PathClass::kCompute;
}

class SlackSummary {
 public:
  SlackSummary(OpSlack const& slack, PathNames& names, CriticalPathStats& facts)
      : slack_(slack), names_(names), facts_(facts), table_(facts.nearly_critical_below_ns) {}

  void add(PathProcess process, size_t number, DependencyGraph const& graph) {
    model::Trace const& trace = process.front().trace();
    std::vector<uint32_t> number_of_name(trace.strings().size(), kNoNode);

    for (size_t op = 0; op < graph.ops.size(); ++op) {
      int64_t const slack = slack_.of_process[number][op];
      if (slack == kNoSlack || graph.ops[op].is_on_path) continue;

      uint32_t const row = graph.ops[op].row;
      uint32_t& name = number_of_name[trace.columns().name[row].value];
      if (name == kNoNode) name = names_.number(trace.name(row));
      table_.add(name, class_of_slack(trace.kind(row)), slack, trace.columns().dur[row]);
    }
  }

  void finish() && {
    facts_.slack_by_class = table_.by_class();
    facts_.slack_by_name = std::move(table_).by_name(names_);

    std::sort(facts_.slack_by_name.begin(), facts_.slack_by_name.end(),
              [](PathSlack const& a, PathSlack const& b) {
                return a.total_ns != b.total_ns
                           ? a.total_ns > b.total_ns
                           : std::pair(a.path_class, a.name) < std::pair(b.path_class, b.name);
              });
    if (facts_.slack_by_name.size() > kMaxContributors)
      facts_.slack_by_name.resize(kMaxContributors);
  }

 private:
  OpSlack const& slack_;
  PathNames& names_;
  CriticalPathStats& facts_;
  SlackTable table_;
};

void copy_route_facts(CriticalPathWalk const& route, CriticalPathStats& facts) {
  facts.jumps = route.jumps;
  facts.clock_disagreement_ns = route.clock_disagreement_ns;
  facts.clock_filled_ns = route.clock_filled_ns;
  facts.clock_cut_ns = route.clock_cut_ns;
}

}  // namespace

std::optional<CriticalPathStats> find_critical_path(CriticalPathInput const& input,
                                                    std::vector<PathPiece>* pieces) {
  std::optional<Interval> const window = path_window(input.chosen);
  if (!window) return std::nullopt;
  ProcessGraphs made =
      make_process_graphs({input.devices, input.host_steps, input.collectives, input.chosen,
                           input.launch_latency_limit_ns, input.stop});
  if (input.stop.stop_requested()) return std::nullopt;
  std::vector<PathProcess> const& processes = made.processes;
  std::vector<DependencyGraph>& graphs = made.graphs;

  OpPlace const start = last_op(graphs, processes, *window);
  if (start.op == kNoNode) return std::nullopt;
  std::vector<OpPlace> const last_participants = find_last_participants(input.collectives, made);
  CriticalPathWalk const route = find_route(graphs, start, window->begin, last_participants);

  PathNames names;
  CriticalPathTotals account(pieces, names);
  account.enter(*processes[start.process].front().rank, {});
  int64_t const last_end = graphs[start.process].ops[start.op].end;
  if (last_end < window->end)
    account.add({{last_end, window->end},
                 graphs[start.process].rank_index,
                 {},
                 {},
                 PathClass::kUnexplained});
  std::vector<std::vector<PathStretch>> of_process(processes.size());
  for (PathStretch const& stretch : route.stretches) of_process[stretch.process].push_back(stretch);
  for (size_t p = 0; p < processes.size(); ++p) {
    if (input.stop.stop_requested()) return std::nullopt;
    account.enter(*processes[p].front().rank, steps_of(processes[p], input.steps));
    account_process(processes[p], of_process[p], graphs[p], account);
  }
  CriticalPathStats facts = std::move(account).finish(window->length());
  facts.window = *window;
  copy_route_facts(route, facts);
  facts.nearly_critical_below_ns = nearly_critical_below(input, *window);
  if (!input.wants_slack) return facts;

  OpSlack const slack = find_slack(graphs, input.collectives.size(), *window);
  facts.is_slack_exact = slack.is_exact;
  SlackSummary summary(slack, names, facts);
  for (size_t p = 0; p < processes.size(); ++p) summary.add(processes[p], p, graphs[p]);
  std::move(summary).finish();
  return facts;
}

}  // namespace stepscope::analyzer
