#include "analyzer/metrics/critical_path/critical_path_totals.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "analyzer/metrics/host/innermost_host_events.h"
#include "analyzer/metrics/steps/step_names.h"

namespace stepscope::analyzer {
namespace {

PathClass class_of_op(model::EventKind kind) {
  switch (model::kind_info(kind).op_class) {
    case model::OpClass::kComm:
      return PathClass::kCommunication;
    case model::OpClass::kCopy:
      return PathClass::kCopy;
    case model::OpClass::kCompute:
    case model::OpClass::kNone:
      break;
  }
  return PathClass::kCompute;
}

int64_t total(PathSplit const& split) {
  int64_t sum = 0;
  for (int64_t const part : split) sum += part;
  return sum;
}

/// Back in time over what one process did.
class StretchWalker {
 public:
  StretchWalker(std::span<DeviceOps const> devices, DependencyGraph& graph,
                CriticalPathTotals& account)
      : devices_(devices),
        rank_(*devices.front().rank),
        graph_(graph),
        account_(account),
        classes_(rank_.trace),
        leaves_(rank_.trace.tracks().size()) {}

  void walk(PathStretch const& stretch) {
    at_ = stretch.from;
    until_ = stretch.until;
    last_op_ = stretch.last_op;
    for (uint32_t op = stretch.op; op != kNoNode;) op = pass_op(op);
  }

 private:
  /// A stretch that ends with a jump goes on to the op from which it jumps, even if no time is left
  /// for that.
  [[nodiscard]] bool is_over() const { return last_op_ == kNoNode && at_ <= until_; }

  /// Takes the op and what was between it and what it waited for; returns the op before it, or none
  /// at the stretch's end.
  uint32_t pass_op(uint32_t number) {
    GraphOp& op = graph_.ops[number];
    if (!op.is_on_path) account_.count_op(op.is_guess);
    op.is_on_path = true;

    std::optional<int32_t> const device = devices_[graph_.device_of_stream[op.stream]].ref.device;
    PathClass const own = class_of_op(rank_.trace.kind(op.row));

    if (number == last_op_) {
      take(until_, own, device, op.row);
      return kNoNode;
    }

    CollectiveJoin const* const join = graph_.join_of(number);
    if (join != nullptr && join->lead_ns > 0) {
      take(op.start + join->wait_ns, own, device, op.row);
      take(op.start, PathClass::kPeer, device, op.row);
    } else {
      take(op.start, own, device, op.row);
    }

    int64_t const ready = std::max(op.ready, until_);
    bool const is_in_call = op.launch != kNoNode && graph_.launches[op.launch].waits_for_copy;
    take(ready,
         is_in_call || at_ - ready < graph_.latency_limit_of(op) ? PathClass::kLaunch
                                                                 : PathClass::kUnexplained,
         device, op.row);

    if (is_over()) return kNoNode;
    if (op.waited_for != kNoNode) return op.waited_for;
    return pass_host(graph_.launches[op.launch].thread);
  }

  /// Takes what the host did before `at_`; returns the device op that it had waited for.
  uint32_t pass_host(uint32_t thread) {
    while (!is_over()) {
      HostExit const* const exit = graph_.exit_of(thread, at_);
      take_leaves(thread, exit == nullptr ? until_ : std::max(exit->to, until_));
      if (exit == nullptr || is_over()) break;
      if (exit->op != kNoNode) return exit->op;
      thread = exit->thread;
    }
    return kNoNode;
  }

  void take_leaves(uint32_t thread, int64_t lower) {
    std::unique_ptr<InnermostHostEvents>& leaves = leaves_[thread];
    if (!leaves)
      leaves = std::make_unique<InnermostHostEvents>(rank_, model::TrackId{thread}, classes_);

    while (at_ > lower) {
      std::optional<HostLeaf> const leaf = leaves->before(at_);
      if (!leaf) break;
      take(std::max(leaf->begin, lower), leaf->path_class, std::nullopt,
           leaf->row == kNoLeafRow ? std::nullopt : std::optional(leaf->row));
    }

    take(lower, PathClass::kUnexplained, std::nullopt,
         std::nullopt);  // before all that the thread is known to have done
  }

  /// What is left of the path from `begin` on.
  void take(int64_t begin, PathClass path_class, std::optional<int32_t> device,
            std::optional<uint32_t> row) {
    begin = std::max(begin, until_);
    if (begin >= at_) return;
    account_.add({{begin, at_}, graph_.rank_index, device, row, path_class});
    at_ = begin;
  }

  std::span<DeviceOps const> devices_;
  model::RankTrace const& rank_;
  DependencyGraph& graph_;
  CriticalPathTotals& account_;
  HostClasses classes_;
  std::vector<std::unique_ptr<InnermostHostEvents>> leaves_;  ///< by track, when first asked for
  int64_t at_ = 0, until_ = 0;
  uint32_t last_op_ = kNoNode;
};

}  // namespace

void CriticalPathTotals::enter(model::RankTrace const& rank, std::vector<StepStats> steps) {
  rank_ = &rank;
  steps_ = std::move(steps);
  of_last_step_ = nullptr;
  number_of_name_.assign(rank.trace.strings().size(), kNoNode);
  is_step_name_.assign(rank.trace.strings().size(), -1);
}

void CriticalPathTotals::add(PathPiece const& piece) {
  if (pieces_ != nullptr) pieces_->push_back(piece);

  auto const path_class = static_cast<size_t>(piece.path_class);
  int64_t const ns = piece.when.length();
  facts_.by_class[path_class] += ns;
  if (piece.path_class == PathClass::kHost && is_bare(piece)) facts_.bare_host_ns += ns;
  add_to_place(piece);

  uint64_t name = 0;
  if (piece.row) {
    uint32_t& number = number_of_name_[rank_->trace.columns().name[*piece.row].value];
    if (number == kNoNode) number = names_.number(rank_->trace.name(*piece.row));
    name = uint64_t{number} + 1;
  }

  Sum& sum = by_name_[name * kPathClassCount + path_class];
  sum.ns += ns;
  ++sum.count;

  add_to_steps(piece);
}

bool CriticalPathTotals::is_bare(PathPiece const& piece) {
  if (!piece.row) return true;
  model::EventKind const kind = rank_->trace.kind(*piece.row);
  if (kind == model::EventKind::kStep) return true;
  if (!model::is_range(kind)) return false;
  int8_t& known = is_step_name_[rank_->trace.columns().name[*piece.row].value];
  if (known < 0) known = step_name(rank_->trace.name(*piece.row)) ? 1 : 0;
  return known == 1;
}

void CriticalPathTotals::add_to_place(PathPiece const& piece) {
  std::pair const place(piece.rank_index, piece.device.value_or(-1));
  if (of_last_place_ == nullptr || place != last_place_) {
    last_place_ = place;
    of_last_place_ = &by_place_[place];
  }
  (*of_last_place_)[static_cast<size_t>(piece.path_class)] += piece.when.length();
}

void CriticalPathTotals::add_to_steps(PathPiece const& piece) {
  auto const path_class = static_cast<size_t>(piece.path_class);
  if (of_last_step_ != nullptr && last_step_.begin <= piece.when.begin &&
      piece.when.end <= last_step_.end) {
    (*of_last_step_)[path_class] += piece.when.length();
    return;
  }

  auto step = std::partition_point(steps_.begin(), steps_.end(), [&](StepStats const& s) {
    return s.window.end <= piece.when.begin;
  });

  for (; step != steps_.end() && step->window.begin < piece.when.end; ++step) {
    int64_t const ns =
        std::min(piece.when.end, step->window.end) - std::max(piece.when.begin, step->window.begin);
    if (ns <= 0) continue;
    last_step_ = step->window;
    of_last_step_ = &by_step_[{step->step, piece.rank_index}];
    (*of_last_step_)[path_class] += ns;
  }
}

CriticalPathStats CriticalPathTotals::finish(int64_t path_ns) && {
  for (auto const& [place, split] : by_place_)
    facts_.places.push_back(
        {place.first, place.second < 0 ? std::nullopt : std::optional(place.second), split});

  std::vector<int64_t> most;  // beside facts_.steps: of one process
  for (auto const& [place, split] : by_step_) {
    if (facts_.steps.empty() || facts_.steps.back().step != place.first) {
      facts_.steps.push_back({place.first, place.second, {}});
      most.push_back(0);
    }

    PathStep& step = facts_.steps.back();
    for (size_t c = 0; c < split.size(); ++c) step.by_class[c] += split[c];
    if (total(split) > most.back()) {
      most.back() = total(split);
      step.rank_index = place.second;
    }
  }

  for (auto const& [key, sum] : by_name_) {
    PathContributor contributor;
    contributor.path_class = static_cast<PathClass>(key % kPathClassCount);
    if (key >= kPathClassCount)
      contributor.name = names_.text(static_cast<uint32_t>(key / kPathClassCount - 1));
    contributor.ns = sum.ns;
    contributor.count = sum.count;
    contributor.share =
        path_ns > 0 ? static_cast<double>(sum.ns) / static_cast<double>(path_ns) : 0;
    facts_.contributors.push_back(std::move(contributor));
  }

  auto const is_before = [](PathContributor const& a, PathContributor const& b) {
    return a.ns != b.ns ? a.ns > b.ns
                        : std::pair(a.path_class, a.name) < std::pair(b.path_class, b.name);
  };
  std::sort(facts_.contributors.begin(), facts_.contributors.end(), is_before);
  if (facts_.contributors.size() > kMaxContributors) facts_.contributors.resize(kMaxContributors);

  return std::move(facts_);
}

void account_process(std::span<DeviceOps const> devices, std::vector<PathStretch> const& stretches,
                     DependencyGraph& graph, CriticalPathTotals& account) {
  StretchWalker walker(devices, graph, account);
  for (PathStretch const& stretch : stretches) walker.walk(stretch);
}

}  // namespace stepscope::analyzer
