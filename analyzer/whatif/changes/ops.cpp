// Changes of device ops: kernels by name, classes, copies.
#include <algorithm>
#include <functional>
#include <memory>
#include <regex>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"
#include "trace/base/format.h"

namespace stepscope::analyzer {
namespace {

/// std::regex calls itself for each character: longer names would use up the stack.
constexpr size_t kMostMatchedBytes = 2048;

/// Whether a name has a match, asked once a name and process.
class NameMatcher {
 public:
  NameMatcher(ReplayContext const& context, std::string const& pattern)
      : context_(context),
        pattern_(pattern, std::regex::ECMAScript | std::regex::optimize),
        known_(context.graph.processes.size()) {}

  bool matches(ReplayNode const& node) {
    model::Trace const& trace = trace_of(context_, node);
    auto& known = known_[node.process];
    if (known.empty()) known.assign(trace.strings().size(), kUnknown);

    int8_t& of_name = known[trace.columns().name[node.row].value];
    if (of_name == kUnknown) {
      std::string_view const name = trace.name(node.row).substr(0, kMostMatchedBytes);
      of_name = std::regex_search(name.begin(), name.end(), pattern_) ? 1 : 0;
    }
    return of_name == 1;
  }

 private:
  static constexpr int8_t kUnknown = -1;
  ReplayContext const& context_;
  std::regex pattern_;
  std::vector<std::vector<int8_t>> known_;  ///< by process, by StringId
};

/// Which ops a change selects.
std::function<bool(ReplayNode const&)> selection(WhatIfChange const& change,
                                                 ReplayContext const& context) {
  auto const is_class = [](PathClass path_class) {
    return [path_class](ReplayNode const& node) { return node.path_class == path_class; };
  };
  if (change.kind == ChangeKind::kCopies || change.selector == "copy")
    return is_class(PathClass::kCopy);
  if (change.kind == ChangeKind::kClass && change.selector == "communication")
    return is_class(PathClass::kCommunication);
  if (change.kind == ChangeKind::kClass) return is_class(PathClass::kCompute);

  auto const matcher = std::make_shared<NameMatcher>(context, change.selector);
  return [matcher](ReplayNode const& node) {
    return node.path_class == PathClass::kCompute && matcher->matches(node);
  };
}

/// A call that waits for its copy only queues it, where copies cost nothing.
void stop_waiting_for_copies(ReplayContext const& context, ReplayWeights& weights) {
  for (uint32_t node = 1; node < context.graph.nodes.size(); ++node) {
    if (!context.graph.nodes[node].is_copy_call) continue;
    cut_edges(context.graph, node, ReplayEdge::kSync, weights);
    weights.own[node] = 0;
  }
}

std::string nothing_selected(WhatIfChange const& change, ReplayContext const& context) {
  if (change.kind == ChangeKind::kCopies) return "the measured steps have no copies";
  if (change.kind == ChangeKind::kClass)
    return fmt::format("the measured steps have no device op of the class {}", change.selector);

  constexpr size_t kMostListed = 3, kMostBytes = 60;
  std::vector<std::string> listed;
  for (ReplayNode const& node : context.graph.nodes) {
    if (node.kind != ReplayNodeKind::kOp || node.path_class != PathClass::kCompute) continue;
    std::string name =
        base::printable(base::valid_utf8(trace_of(context, node).name(node.row), kMostBytes));
    if (std::find(listed.begin(), listed.end(), name) != listed.end()) continue;
    listed.push_back(std::move(name));
    if (listed.size() == kMostListed) break;
  }

  if (listed.empty()) return "the run has no kernels";
  return fmt::format("no kernel's name has a match; there are {}, …", fmt::join(listed, ", "));
}

}  // namespace

void cut_edges(ReplayGraph const& graph, uint32_t node, ReplayEdge kind, ReplayWeights& weights) {
  for (uint32_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e)
    if (graph.edge_kind[e] == kind) weights.lag[e] = kNoEdge;
}

AppliedChange change_ops(WhatIfChange const& change, ReplayContext const& context,
                         ReplayWeights& weights) {
  auto const is_selected = selection(change, context);
  AppliedChange applied;

  for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
    ReplayNode const& node = context.graph.nodes[number];
    bool const has_time =
        node.kind == ReplayNodeKind::kOp || node.kind == ReplayNodeKind::kTransfer;
    if (!has_time || !is_selected(node)) continue;
    weights.own[number] = change.how.of(weights.own[number]);
    ++applied.changed;
  }

  if (change.kind == ChangeKind::kCopies && change.how.of(1000) == 0)
    stop_waiting_for_copies(context, weights);
  if (applied.changed == 0) applied.select_nothing(nothing_selected(change, context));
  return applied;
}

}  // namespace stepscope::analyzer
