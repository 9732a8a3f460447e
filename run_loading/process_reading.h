// How one process of an open run is read: its skeleton, all of it, or the part that the critical
// path asks for.
#pragma once

#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/intervals.h"
#include "trace/model/run.h"

namespace stepscope::run_loading {

/// The rows that skeleton_rows() (analyzer/metrics/steps/skeleton_rows.h) keeps. `is_analyzed`: the
/// process will also be read whole, which completes them (model::complete_skeleton). Errors: those
/// of reading.
base::Expected<model::Trace> read_skeleton(import::TraceSource const& source, bool is_analyzed);

/// A process with all its events. Errors: those of reading.
base::Expected<model::RankTrace> read_process(import::RankSource const& source,
                                              file::Selection const& selection = {});
/// All events with these columns, and the details that reading them rightly takes.
file::Selection all_events(import::TraceSource const& source, file::ColumnSelection columns);
/// The part of a process that its observer needs.
file::Selection observed_selection();

/// What the critical path asks of a process in a window of run time, nested: for who draws it.
/// Errors: those of reading.
base::Expected<model::RankTrace> read_path_window(import::RankSource const& source,
                                                  model::Interval window);
/// The same as a selection, not nested.
file::Selection path_selection(import::RankSource const& rank, model::Interval window);

/// A process with nothing but its identity: without a device, which would otherwise look idle all
/// the time.
model::Trace without_events(import::TraceSource const& source);
/// The same with what is known of its losses.
model::RankTrace head_of_process(import::RankSource const& source);

}  // namespace stepscope::run_loading
