#include "viewer/timeline/mark_changes.h"

#include <algorithm>
#include <unordered_map>

namespace stepscope::viewer {
namespace {

ChangeMark mark_of_event(ChangeMarks const& marks, model::Trace const& trace, uint32_t row) {
  switch (trace.kind(row)) {
    case model::EventKind::kKernel:
    case model::EventKind::kMemset:
      return marks.of_kernel(trace.name(row));
    case model::EventKind::kCollective: {
      auto const& detail = trace.detail<model::CollectiveDetail>(row);
      return marks.of_collective(detail.op, detail.bytes);
    }
    case model::EventKind::kMemcpy:
      return ChangeMark::kUnknown;
    default:
      return ChangeMark::kOther;  // waits of a stream for another
  }
}

/// The longest of a few events of a folded mark.
uint32_t longest_of(model::Trace const& trace, Item const& item) {
  constexpr uint32_t kLooks = 8;
  auto const& columns = trace.columns();
  auto const rows = trace.rows_of(columns.track[item.index]);
  uint32_t const last =
      std::min(rows.last, item.index + std::min(item.count, rows.last - item.index));

  uint32_t best = item.index;
  uint32_t const stride = std::max((last - item.index) / kLooks, 1U);
  for (uint32_t row = item.index; row < last; row += stride)
    if (columns.dur[row] > columns.dur[best]) best = row;
  return best;
}

/// Marks of the ops of a frame: of kernels each name is looked up once a trace.
class Marker {
 public:
  Marker(Scene const& scene, ChangeMarks const& marks) : scene_(scene), marks_(marks) {}

  ChangeMark mark(Row const& row, Item const& item) {
    NodeKind const of = scene_.nodes[item.node].kind;
    // Rows of a communicator do not follow each other in the trace.
    bool const is_op =
        of == NodeKind::kStream || (of == NodeKind::kCommunicator && item.count == 1);
    if (item.kind == ItemKind::kSegment || !is_op) return ChangeMark::kOther;
    // The names of ops that were not read are unknown.
    if (!row.has_events()) return ChangeMark::kUnknown;

    model::Trace const& trace = row.trace();
    uint32_t const event = item.count > 1 ? longest_of(trace, item) : item.index;
    if (trace.kind(event) == model::EventKind::kCollective)
      return mark_of_event(marks_, trace, event);
    if (&trace != last_) names_ = &of_trace_[last_ = &trace];
    uint64_t const key = uint64_t{trace.columns().name[event].value} << 8U |
                         static_cast<uint64_t>(trace.kind(event));
    auto const [known, is_new] = names_->try_emplace(key, ChangeMark::kUnknown);
    if (is_new) known->second = mark_of_event(marks_, trace, event);
    return known->second;
  }

 private:
  using Names = std::unordered_map<uint64_t, ChangeMark>;  // by name and kind
  Scene const& scene_;
  ChangeMarks const& marks_;
  std::unordered_map<model::Trace const*, Names> of_trace_;
  model::Trace const* last_ = nullptr;
  Names* names_ = nullptr;
};

}  // namespace

void mark_changes(Scene const& scene, ChangeMarks const& marks, Layout& layout) {
  Marker marker(scene, marks);
  layout.by_change = true;
  for (Row const& row : layout.rows)
    for (uint32_t i = row.first_item; i < row.last_item; ++i)
      layout.items[i].change = marker.mark(row, layout.items[i]);
}

}  // namespace stepscope::viewer
