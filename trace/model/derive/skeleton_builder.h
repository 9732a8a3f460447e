// Makes traces of the parts of others: what run_skeleton.h and packed_trace.h need of a Trace
// beside its interface.
#pragma once

#include <span>

#include "trace/model/derive/run_skeleton.h"
#include "trace/model/string_table.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// Has access to Trace.
class SkeletonBuilder {
 public:
  static void complete(Trace& skeleton, WholeOfSkeleton const& facts);
  static void replace_head(Trace& trace, TraceHead const& head);
  static Trace make(Trace whole, std::span<uint32_t const> rows);
  /// Names everything that a trace has but its texts, for trace/base/pack.h.
  template <class Archive>
  static void pack_fields(Archive& at, Trace& trace) {
    at(trace.info_, trace.log_, trace.tracks_, trace.devices_, trace.track_begin_);
    Trace::Columns& columns = trace.columns_;
    at(columns.start, columns.dur, columns.name, columns.kind, columns.correlation, columns.detail,
       columns.link, columns.depth, columns.track);
    at(trace.details_, trace.time_range_, trace.whole_event_count_, trace.may_have_graphs_);
  }
  static StringTable& texts(Trace& trace) { return trace.strings_; }

 private:
  static void reserve(size_t rows, Trace::Columns& columns);
  static void copy_row(Trace::Columns const& from, DetailTables const& details, uint32_t row,
                       std::span<uint32_t const> rows, Trace& trace);
  static EventId moved(EventId link, std::span<uint32_t const> rows);
};

}  // namespace stepscope::model
