// Conditions that tables take from SQLite give the rows that a look at every row gives.
#include <functional>
#include <random>
#include <set>
#include <string_view>

#include "tests/support/random_ranks.h"
#include "tests/unit/query/collect.h"

namespace stepscope::query {
namespace {

using model::Cell;
using model::TraceTable;

/// Three-valued logic is not needed: a comparison with NULL is no, and conditions are joined by
/// AND.
struct Condition {
  std::string sql;
  std::function<bool(model::TableSource const&, uint32_t)> holds;
};

class RandomConditions {
 public:
  RandomConditions(uint64_t seed, TraceTable const& table) : random_(seed), table_(table) {}

  /// `place`: an event of the run, so that conditions are often met.
  Condition next(model::TableSource const& source, uint32_t row) {
    model::TableColumn const& column = table_.columns[random_() % table_.columns.size()];
    Cell const cell = column.read(source, row);
    if (cell.is_null() || random_() % 20 == 0) return null_condition(column);
    if (cell.type == Cell::Type::kText) return text_condition(column, std::string(cell.text));
    if (cell.type == Cell::Type::kInteger)
      return number_condition(column, cell.integer() + static_cast<int64_t>(random_() % 5) - 2);
    return null_condition(column);
  }

 private:
  Condition null_condition(model::TableColumn const& column) {
    bool const wanted = random_() % 2 == 0;
    auto const read = column.read;
    return {fmt::format("{} IS {}NULL", column.name, wanted ? "" : "NOT "),
            [=](model::TableSource const& source, uint32_t row) {
              return read(source, row).is_null() == wanted;
            }};
  }
  Condition text_condition(model::TableColumn const& column, std::string const& text) {
    auto const read = column.read;
    std::string quoted;
    for (char const c : text) quoted += c == '\'' ? "''" : std::string(1, c);
    auto const equal = [=](model::TableSource const& source, uint32_t row) {
      Cell const cell = read(source, row);
      return cell.type == Cell::Type::kText && cell.text == text;
    };

    switch (random_() % 3) {
      case 0:
        return {
            fmt::format("{} IN ('{}', 'no such text', 'kernel')", column.name, quoted),
            [=](model::TableSource const& source, uint32_t row) {
              Cell const cell = read(source, row);
              return cell.type == Cell::Type::kText &&
                     (cell.text == text || cell.text == "no such text" || cell.text == "kernel");
            }};
      case 1:
        return {fmt::format("{} = '{}' COLLATE nocase", column.name,
                            quoted),  // not the comparison that a table can do
                [=](model::TableSource const& source, uint32_t row) {
                  Cell const cell = read(source, row);
                  return cell.type == Cell::Type::kText && lower(cell.text) == lower(text);
                }};
      default:
        return {fmt::format("{} = '{}'", column.name, quoted), equal};
    }
  }
  static std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return result;
  }
  Condition number_condition(model::TableColumn const& column, int64_t number) {
    static constexpr std::array<char const*, 5> kOperators = {"=", "<", "<=", ">", ">="};
    size_t const op = random_() % kOperators.size();
    // As a whole number, between two of them, and as a text that is one: SQLite compares all of
    // them with the column's number.
    size_t const form = random_() % 6;
    // A long double has 64 bits for digits, so that no number is rounded.
    long double const value = static_cast<long double>(number) + (form == 0 ? 0.5L : 0);
    std::string written = fmt::format("{}", number);
    if (form == 0) written = fmt::format("{:.1f}", static_cast<double>(value));
    if (form == 1) written = "'" + written + "'";
    // What SQL takes for a number with a half is a double.
    long double const meant = form == 0 ? static_cast<long double>(std::stod(written)) : value;

    auto const read = column.read;
    return {fmt::format("{} {} {}", column.name, kOperators[op], written),
            [=](model::TableSource const& source, uint32_t row) {
              Cell const cell = read(source, row);
              if (cell.is_null() || cell.type == Cell::Type::kText) return false;
              return is_true(number_of(cell), kOperators[op], meant);
            }};
  }
  static long double number_of(Cell const& cell) {
    if (cell.type == Cell::Type::kReal) return cell.real();
    if (cell.type == Cell::Type::kUnsigned) return static_cast<double>(cell.bits);
    return static_cast<long double>(cell.integer());
  }
  static bool is_true(long double left, std::string_view comparison, long double right) {
    if (comparison == "=") return left == right;
    if (comparison == "<") return left < right;
    if (comparison == "<=") return left <= right;
    if (comparison == ">") return left > right;
    return left >= right;
  }

  std::mt19937_64 random_;
  TraceTable const& table_;
};

/// "rank id" of the rows for which all conditions hold.
std::vector<std::vector<std::string>> look_at_all(std::vector<model::TableSource> const& sources,
                                                  TraceTable const& table,
                                                  std::vector<Condition> const& conditions) {
  std::vector<std::vector<std::string>> rows;
  for (model::TableSource const& source : sources)
    for (uint32_t row = 0; row < table.row_count(source.trace()); ++row) {
      bool holds = table.has(source.trace(), row);
      for (Condition const& condition : conditions) holds = holds && condition.holds(source, row);
      if (holds) rows.push_back({std::to_string(source.trace().info().rank), std::to_string(row)});
    }

  std::sort(rows.begin(), rows.end());
  return rows;
}

/// A random row of the table, if there is one.
std::optional<std::pair<size_t, uint32_t>> random_row(
    std::mt19937_64& random, std::vector<model::TableSource> const& sources,
    TraceTable const& table) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    size_t const source = random() % sources.size();
    uint32_t const events = table.row_count(sources[source].trace());
    if (events == 0) continue;

    auto const row = static_cast<uint32_t>(random() % events);
    if (table.has(sources[source].trace(), row)) return std::pair{source, row};
  }
  return std::nullopt;
}

void compare(uint64_t seed) {
  model::Run const run =
      support::random_ranks({.seed = seed, .ranks = 1 + static_cast<int>(seed % 4)});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  std::vector<model::TableSource> sources;
  for (model::RankTrace const& rank : run.ranks) sources.emplace_back(rank.trace, rank.offset_ns);
  std::mt19937_64 random(seed);

  for (TraceTable const& table : model::trace_tables()) {
    if (table.rows != model::TableRows::kEvents) continue;
    RandomConditions conditions(random(), table);
    for (int i = 0; i < 12; ++i) {
      auto const place = random_row(random, sources, table);
      if (!place) break;
      std::vector<Condition> wanted;
      std::string sql = fmt::format("SELECT rank, id FROM {} WHERE 1", table.name);
      for (size_t count = 1 + random() % 3; wanted.size() < count;) {
        wanted.push_back(conditions.next(sources[place->first], place->second));
        sql += " AND " + wanted.back().sql;
      }

      ASSERT_EQ(ask(*database, sql).sorted(), look_at_all(sources, table, wanted))
          << "seed " << seed << ": " << sql;
    }
  }
}

TEST(Pushdown, GivesTheRowsThatALookAtEveryRowGives) {
  for (uint64_t seed = 1; seed <= 25; ++seed) compare(seed);
}

TEST(Pushdown, ValuesAreWhatSqliteMakesOfThemForTheColumn) {
  model::Run const run = support::random_ranks({.seed = 3, .ranks = 3, .events_per_track = 400});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  auto const count = [&](std::string const& where) {
    return ask(*database, "SELECT count(*), sum(id) FROM events WHERE " + where).rows;
  };

  for (auto const& [given, same] :
       std::vector<std::pair<std::string, std::string>>{{"start_ns < 1e3", "+start_ns < 1000"},
                                                        {"start_ns <= 1e3", "+start_ns <= 1000"},
                                                        {"start_ns > 1e3", "+start_ns > 1000"},
                                                        {"start_ns > 99.5", "+start_ns > 99"},
                                                        {"start_ns < 99.5", "+start_ns < 100"},
                                                        {"start_ns >= '100'", "+start_ns >= 100"},
                                                        {"dur_ns = 50.5", "0"},
                                                        {"rank = 1.0", "+rank = 1"},
                                                        {"rank = '1'", "+rank = 1"},
                                                        {"rank = 1.5", "0"},
                                                        {"name = 5", "0"},
                                                        {"kind = x'00'", "0"}})
    EXPECT_EQ(count(given), count(same)) << given;
}

TEST(Pushdown, JoinsFindTheOtherEventById) {
  model::Run const run = support::random_ranks({.seed = 7, .ranks = 2, .events_per_track = 200});
  auto database = Database::open(run);
  ASSERT_TRUE(database);

  std::vector<std::vector<std::string>> expected;
  for (model::RankTrace const& rank : run.ranks)
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
      if (auto const link = rank.trace.columns().link[row];
          link.valid() && rank.trace.kind(row) == model::EventKind::kKernel)
        expected.push_back({std::to_string(rank.trace.info().rank), std::to_string(row),
                            std::to_string(link.value)});
  std::sort(expected.begin(), expected.end());
  ASSERT_FALSE(expected.empty());

  EXPECT_EQ(ask(*database,
                "SELECT k.rank, k.id, l.id FROM kernels k JOIN events l ON l.id = k.linked_id AND "
                "l.rank = k.rank")
                .sorted(),
            expected);
}

TEST(Pushdown, CorrelationsAreFound) {
  model::Run const run = support::random_ranks({.seed = 8, .ranks = 2});

  std::vector<std::vector<std::string>> expected;
  for (model::RankTrace const& rank : run.ranks) {
    auto const& correlation = rank.trace.columns().correlation;
    for (uint32_t a = 0; a < rank.trace.event_count(); ++a)
      for (uint32_t b = 0; b < rank.trace.event_count(); ++b)
        if (correlation[a] != 0 && correlation[a] <= INT64_MAX &&
            correlation[a] == correlation[b] && rank.trace.kind(a) == model::EventKind::kLaunch)
          expected.push_back(
              {std::to_string(rank.trace.info().rank), std::to_string(a), std::to_string(b)});
  }
  std::sort(expected.begin(), expected.end());
  ASSERT_FALSE(expected.empty());

  EXPECT_EQ(ask(run,
                "SELECT a.rank, a.id, b.id FROM events a JOIN events b ON a.correlation = "
                "b.correlation AND a.rank = b.rank WHERE a.kind = 'launch' AND a.correlation <= "
                "9223372036854775807 AND typeof(a.correlation) = 'integer'")
                .sorted(),
            expected);
}

std::string without_directions(std::string order) {
  for (size_t at = order.find(" DESC"); at != std::string::npos; at = order.find(" DESC"))
    order.erase(at, 5);
  return order;
}

/// What is asked for in the order in which rows lie needs no sorting; the order is right either
/// way.
TEST(Pushdown, OrdersAreKept) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    model::Run const run =
        support::random_ranks({.seed = seed, .ranks = 1 + static_cast<int>(seed % 3)});
    auto database = Database::open(run);
    ASSERT_TRUE(database);

    for (std::string const order :
         {"rank, process, track, start_ns", "rank, track, start_ns", "start_ns", "track, start_ns",
          "rank DESC, start_ns", "start_ns DESC", "process, rank", "track"}) {
      for (std::string const where :
           {"1", "track = 2", "rank = 0 AND track = 0", "rank = 0", "kind = 'kernel'"}) {
        // A column with a plus is an expression, whose order no table can promise: SQLite sorts.
        std::string sorted = "+" + order;
        for (size_t at = sorted.find(", "); at != std::string::npos; at = sorted.find(", ", at + 1))
          sorted.insert(at + 2, "+");

        std::string const select = fmt::format("SELECT {} FROM events WHERE {} ORDER BY ",
                                               without_directions(order), where);
        EXPECT_EQ(ask(*database, select + order).rows, ask(*database, select + sorted).rows)
            << "seed " << seed << " WHERE " << where << " ORDER BY " << order;
      }
    }
  }
}

}  // namespace
}  // namespace stepscope::query
