// Events of one track in the order in which they came: what recorders fill, files store block by
// block, and TraceBuilder takes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "trace/base/check.h"
#include "trace/model/details.h"
#include "trace/model/ids.h"
#include "trace/model/kinds.h"

namespace stepscope::model {

/// Index of Row's vector in DetailTables.
template <class Row, class Tables = DetailTables>
struct DetailTableOf;
template <class Row, class... Rows>
struct DetailTableOf<Row, std::tuple<DetailColumn<Rows>...>> {
  static constexpr DetailTable value = [] {
    int8_t index = 0;
    bool found = false;
    ((found = found || std::is_same_v<Row, Rows>,
      index = static_cast<int8_t>(index + (found ? 0 : 1))),
     ...);
    return static_cast<DetailTable>(index);
  }();
};

/// Struct of arrays, all of the same length. A row whose kind has a detail table owns the next row
/// of that table: the n-th copy of the batch has the n-th CopyDetail. Times in ns since the trace's
/// origin.
struct EventBatch {
  std::vector<int64_t> start, dur;
  std::vector<StringId> name;
  std::vector<EventKind> kind;
  std::vector<uint64_t> correlation;  ///< 0 = none
  DetailTables details;

  [[nodiscard]] size_t size() const { return start.size(); }
  [[nodiscard]] bool empty() const { return start.empty(); }

  /// An event of a kind without details.
  void add(EventKind event_kind, int64_t start_ns, int64_t dur_ns, StringId event_name,
           uint64_t event_correlation = 0) {
    STEPSCOPE_CHECK(kind_info(event_kind).table == DetailTable::kNone);
    add_row(event_kind, start_ns, dur_ns, event_name, event_correlation);
  }
  /// A kRange, the most frequent kind: has no details, so that nothing has to be looked up.
  void add_range(int64_t start_ns, int64_t dur_ns, StringId event_name) {
    add_row(EventKind::kRange, start_ns, dur_ns, event_name, 0);
  }
  /// An event with the details that its kind asks for.
  template <class Row>
  void add(EventKind event_kind, int64_t start_ns, int64_t dur_ns, StringId event_name,
           uint64_t event_correlation, Row const& detail) {
    STEPSCOPE_CHECK(kind_info(event_kind).table == DetailTableOf<Row>::value);
    add_row(event_kind, start_ns, dur_ns, event_name, event_correlation);
    std::get<DetailColumn<Row>>(details).push_back(detail);
  }
  /// Whether the rows are in (start, −dur) order: then nothing has to be reordered or copied.
  [[nodiscard]] bool is_sorted() const;
  /// Rows in (start, −dur) order; equal ones as they came. O(n) when few rows are out of place, O(n
  /// · bytes of the time range) otherwise.
  [[nodiscard]] std::vector<uint32_t> sorted_order() const;
  /// For every row, its row in its kind's detail table (0 for kinds without one).
  [[nodiscard]] std::vector<uint32_t> detail_rows() const;
  void reserve(size_t rows) {
    start.reserve(rows);
    dur.reserve(rows);
    name.reserve(rows);
    kind.reserve(rows);
    correlation.reserve(rows);
  }
  void clear() {
    start.clear();
    dur.clear();
    name.clear();
    kind.clear();
    correlation.clear();
    std::apply([](auto&... table) { (table.clear(), ...); }, details);
  }

 private:
  void add_row(EventKind event_kind, int64_t start_ns, int64_t dur_ns, StringId event_name,
               uint64_t event_correlation) {
    start.push_back(start_ns);
    dur.push_back(dur_ns);
    name.push_back(event_name);
    kind.push_back(event_kind);
    correlation.push_back(event_correlation);
  }
};

/// The batch's rows in (start, −dur) order, details along with them.
EventBatch sorted_copy(EventBatch const& batch);

/// Copies row `row` of table `table` of one set of detail tables to the end of another; returns its
/// new row. kNone: does nothing.
uint32_t copy_detail(DetailTables const& from, DetailTable table, uint32_t row, DetailTables& to);

}  // namespace stepscope::model
