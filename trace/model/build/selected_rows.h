// A part of a batch.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "trace/model/event_batch.h"

namespace stepscope::model {

/// Copies rows of a batch, details along with them, run by run: those that are kept mostly follow
/// each other.
class RowCopier {
 public:
  /// `from` must outlive this.
  explicit RowCopier(EventBatch const& from) : from_(from) {}
  /// Rows first..last − 1, which come behind all that were copied before.
  void copy(size_t first, size_t last);
  EventBatch take() && { return std::move(to_); }

 private:
  void pass_details_until(size_t row);

  EventBatch const& from_;
  EventBatch to_;
  size_t passed_ = 0;                                ///< rows
  std::array<size_t, kDetailTableCount> details_{};  ///< rows of each table that those own
};

/// The rows for which keep(row) is true, in their order, with their details. keep() may be called
/// twice for a row.
template <class Keep>
EventBatch copy_selected_rows(EventBatch const& batch, Keep&& keep) {
  RowCopier copier(batch);
  for (size_t row = 0; row < batch.size();) {
    size_t const first = row;
    while (row < batch.size() && keep(row)) ++row;
    if (row > first) copier.copy(first, row);
    while (row < batch.size() && !keep(row)) ++row;
  }
  return std::move(copier).take();
}

}  // namespace stepscope::model
