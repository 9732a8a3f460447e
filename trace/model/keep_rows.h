// A part of a batch.
#pragma once

#include "trace/model/event_batch.h"

namespace stepscope::model {

/// The rows for which keep(row) is true, in their order, details along with them.
template <class Keep>
EventBatch keep_rows(EventBatch const& batch, Keep&& keep) {
  std::vector<uint32_t> const details = batch.detail_rows();
  EventBatch kept;
  for (size_t row = 0; row < batch.size(); ++row) {
    if (!keep(row)) continue;
    kept.start.push_back(batch.start[row]);
    kept.dur.push_back(batch.dur[row]);
    kept.name.push_back(batch.name[row]);
    kept.kind.push_back(batch.kind[row]);
    kept.correlation.push_back(batch.correlation[row]);
    copy_detail(batch.details, kind_info(batch.kind[row]).table, details[row], kept.details);
  }
  return kept;
}

}  // namespace stepscope::model
