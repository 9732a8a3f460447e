#include "tracer/core/rows/row_batch.h"

#include <utility>

namespace stepscope::tracer {
namespace {

/// Calls visit(column) with each column but the details.
template <class Visit>
void with_columns(RowBatch& batch, Visit&& visit) {
  visit(batch.start);
  visit(batch.dur);
  visit(batch.name);
  visit(batch.kind);
  visit(batch.correlation);
}

}  // namespace

void RowBatch::reserve(size_t rows) {
  with_columns(*this, [rows](auto& column) { column.reserve(rows); });
}

void RowBatch::resize(size_t rows) {
  with_columns(*this, [rows](auto& column) { column.resize(rows); });
}

void RowBatch::clear() {
  with_columns(*this, [](auto& column) { column.clear(); });
  std::apply([](auto&... table) { (table.clear(), ...); }, details);
}

model::EventView RowBatch::view() const {
  model::EventView view;
  view.start = start;
  view.dur = dur;
  view.name = name;
  view.kind = kind;
  view.correlation = correlation;
  std::apply([&](auto const&... table) { view.details = model::DetailSpans(table...); }, details);
  return view;
}

model::EventBatch RowBatch::copy() const {
  model::EventBatch batch;
  batch.start.assign(start.begin(), start.end());
  batch.dur.assign(dur.begin(), dur.end());
  batch.name.assign(name.begin(), name.end());
  batch.kind.assign(kind.begin(), kind.end());
  batch.correlation.assign(correlation.begin(), correlation.end());

  auto const copy_table = []<class Row>(UnforkedColumn<Row> const& from,
                                        model::DetailColumn<Row>& to) {
    to.assign(from.begin(), from.end());
  };
  [&]<size_t... Table>(std::index_sequence<Table...>) {
    (copy_table(std::get<Table>(details), std::get<Table>(batch.details)), ...);
  }
  (std::make_index_sequence<model::kDetailTableCount>());
  return batch;
}

}  // namespace stepscope::tracer
