#include "analyzer/metrics/core/streamed_run.h"

#include "trace/model/build/row_copy.h"

namespace stepscope::analyzer {

model::RankTrace window_in_memory(model::RankTrace const& rank, Interval window) {
  bool const is_all = window == kAllTime;  // has no room for an offset
  Interval const of_trace =
      is_all ? window : Interval{window.begin - rank.offset_ns, window.end - rank.offset_ns};
  return model::RankTrace{model::window_of(rank.trace, of_trace), rank.offset_ns, rank.file,
                          rank.drift};
}

StreamedRun streamed_in_memory(model::Run const& run) {
  auto const read_window = [&run](size_t process,
                                  Interval window) -> base::Expected<model::RankTrace> {
    return window_in_memory(run.ranks[process], window);
  };
  return {run, [read_window](size_t process) { return read_window(process, kAllTime); },
          read_window};
}

}  // namespace stepscope::analyzer
