// The first rows of a query, as JSON and as a Markdown table, within limits that an agent's memory
// can take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/json_rpc.h"
#include "query/database.h"

namespace stepscope::agent {

/// Bytes of JSON that the rows of an answer may take. A language model reads no more at once.
inline constexpr size_t kMostRowBytes = size_t{128} << 10;
/// Bytes of a text in the Markdown table; the JSON has all of it.
inline constexpr size_t kMostCellBytes = 120;

class RowCollector final : public query::RowSink {
 public:
  explicit RowCollector(size_t most_rows) : most_rows_(most_rows) {}

  void begin(std::span<std::string const> columns) override;
  bool row(std::span<model::Cell const> cells) override;

  [[nodiscard]] std::vector<std::string> const& columns() const { return columns_; }
  /// An array of arrays; texts are valid UTF-8, and NULL and infinity are null.
  [[nodiscard]] OrderedJson const& rows() const { return rows_; }
  /// Why there are no more rows; empty: these are all.
  [[nodiscard]] std::string const& cut_reason() const { return cut_reason_; }
  [[nodiscard]] std::string markdown() const;

 private:
  size_t most_rows_, bytes_ = 0;
  std::vector<std::string> columns_;
  OrderedJson rows_ = OrderedJson::array();
  std::string cut_reason_;
};

}  // namespace stepscope::agent
