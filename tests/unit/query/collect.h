// Answers of a database, kept.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "query/database.h"

namespace stepscope::query {

/// Every cell as text, NULL as "NULL", texts in quotes.
struct Collected {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
  [[nodiscard]] std::vector<std::vector<std::string>> sorted() const {
    auto copy = rows;
    std::sort(copy.begin(), copy.end());
    return copy;
  }
};

class Collector final : public RowSink {
 public:
  explicit Collector(Collected& into) : into_(into) {}
  void begin(std::span<std::string const> columns) override {
    into_.names.assign(columns.begin(), columns.end());
  }
  bool row(std::span<model::Cell const> cells) override {
    std::vector<std::string>& kept = into_.rows.emplace_back();
    for (model::Cell const& cell : cells) kept.push_back(literal(cell));
    return true;
  }

 private:
  /// As SQL writes it, with nine digits at most.
  static std::string literal(model::Cell const& cell) {
    if (cell.is_null()) return "NULL";
    if (cell.type == model::Cell::Type::kText) return "'" + std::string(cell.text) + "'";
    if (cell.type == model::Cell::Type::kReal) return fmt::format("{:.9g}", cell.real());
    return model::to_text(cell);
  }

  Collected& into_;
};

inline auto run_into(Database& database, std::string const& sql, Collected& collected,
                     QueryOptions const& options = {}) {
  Collector collector(collected);
  return database.run(sql, collector, options);
}
inline Collected ask(Database& database, std::string const& sql, QueryOptions const& options = {}) {
  Collected collected;
  auto const rows = run_into(database, sql, collected, options);
  EXPECT_TRUE(rows) << sql << "\n" << (rows ? "" : rows.error().message);
  if (rows) {
    EXPECT_EQ(*rows, collected.rows.size());
  }
  return collected;
}
inline Collected ask(model::Run const& run, std::string const& sql,
                     QueryOptions const& options = {}) {
  auto database = Database::open(run);
  EXPECT_TRUE(database);
  return ask(*database, sql, options);
}
/// The only cell of the answer.
inline std::string ask_one(Database& database, std::string const& sql) {
  Collected const answer = ask(database, sql);
  EXPECT_EQ(answer.rows.size(), 1U) << sql;
  return answer.rows.size() == 1 && answer.rows[0].size() == 1 ? answer.rows[0][0] : "";
}
inline QueryError ask_wrongly(Database& database, std::string const& sql) {
  Collected collected;
  auto const rows = run_into(database, sql, collected);
  EXPECT_FALSE(rows) << sql;
  return rows ? QueryError{} : rows.error();
}

}  // namespace stepscope::query
