#include "trace/model/build/selected_rows.h"

#include <tuple>
#include <utility>

namespace stepscope::model {
namespace {

template <class Rows>
void append(Rows const& from, size_t first, size_t last, Rows& to) {
  to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(first),
            from.begin() + static_cast<ptrdiff_t>(last));
}

}  // namespace

void RowCopier::copy(size_t first, size_t last) {
  append(from_.start, first, last, to_.start);
  append(from_.dur, first, last, to_.dur);
  append(from_.name, first, last, to_.name);
  append(from_.kind, first, last, to_.kind);
  append(from_.correlation, first, last, to_.correlation);

  pass_details_until(first);
  auto const begins = details_;
  pass_details_until(last);

  [&]<size_t... Table>(std::index_sequence<Table...>) {
    (append(std::get<Table>(from_.details), begins[Table], details_[Table],
            std::get<Table>(to_.details)),
     ...);
  }
  (std::make_index_sequence<kDetailTableCount>());
}

void RowCopier::pass_details_until(size_t row) {
  for (; passed_ < row; ++passed_) {
    DetailTable const table = kind_info(from_.kind[passed_]).table;
    if (table != DetailTable::kNone) ++details_[static_cast<size_t>(table)];
  }
}

}  // namespace stepscope::model
