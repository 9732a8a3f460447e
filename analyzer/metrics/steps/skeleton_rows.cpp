#include "analyzer/metrics/steps/skeleton_rows.h"

#include "analyzer/metrics/steps/step_names.h"
#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

/// Indexed by string: whether it is the name of a step.
std::vector<bool> names_of_steps(model::Trace const& trace) {
  std::vector<bool> result(trace.strings().size());
  for (uint32_t id = 0; id < result.size(); ++id)
    result[id] = step_name(trace.text(model::StringId{id})).has_value();
  return result;
}

}  // namespace

bool marks_steps(model::Trace const& trace) {
  if (trace.details<model::StepDetail>().empty()) return false;
  auto const tracks = trace.tracks();
  bool any = false;
  for (uint32_t t = 0; t < tracks.size() && !any; ++t) {
    if (tracks[t].kind != model::TrackKind::kThread) continue;
    model::for_each_row_of<EventKind::kStep>(trace.columns(), trace.rows_of(model::TrackId{t}),
                                             [&](uint32_t /*row*/) { any = true; });
  }
  return any;
}

std::vector<uint32_t> skeleton_rows(model::Trace const& trace) {
  bool const is_marked = marks_steps(trace);
  std::vector<bool> const is_step = is_marked ? std::vector<bool>() : names_of_steps(trace);
  std::vector<bool> is_wanted(trace.event_count());
  auto const& columns = trace.columns();

  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    EventKind const kind = columns.kind[row];
    bool const is_kept = kind == EventKind::kCollective || kind == EventKind::kCollectiveCall ||
                         kind == EventKind::kStep ||
                         (!is_marked && model::is_range(kind) && is_step[columns.name[row].value]);
    if (is_kept) is_wanted[row] = true;
    if (kind == EventKind::kCollective && columns.link[row].valid())
      is_wanted[columns.link[row].value] = true;
  }

  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < is_wanted.size(); ++row)
    if (is_wanted[row]) rows.push_back(row);
  return rows;
}

}  // namespace stepscope::analyzer
