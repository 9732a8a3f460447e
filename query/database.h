// A run as a database that is asked in SQL: its tables (schema.h) are read where the trace has
// them, nothing is copied.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "analyzer/results/analysis.h"
#include "trace/base/expected.h"
#include "trace/model/run.h"
#include "trace/model/tables.h"

namespace stepscope::query {

/// Takes the rows of a result, one after the other.
class RowSink {
 public:
  RowSink() = default;
  RowSink(RowSink const&) = delete;
  RowSink& operator=(RowSink const&) = delete;
  virtual ~RowSink() = default;
  /// Once, before the first row.
  virtual void begin(std::span<std::string const> columns) = 0;
  /// Texts are valid during the call. False: no more rows are wanted.
  virtual bool row(std::span<model::Cell const> cells) = 0;
};

struct QueryError {
  std::string message;           ///< as for base::Error, without the name of a file
  std::optional<size_t> offset;  ///< where in the SQL, in bytes
};

/// What is asked about.
struct Part;
class Rows;

/// What a statement reads of a run.
enum class Reads : uint8_t {
  kAnalysis,  ///< tables of the analysis (tables/fact_tables.h), or none
  kSums,      ///< sums over groups of events, and nothing else (rewrite.h)
  kEvents     ///< the events one by one, all of them at hand
};

struct QueryOptions {
  bool rewrite = true;  ///< false: SQLite sees every row itself (for tests and measurements)
  /// Asked again and again while SQLite computes; true ends the statement with an error. May be
  /// empty.
  std::function<bool()> is_given_up;
  int longest_value_bytes = 1'000'000'000;  ///< a longer text or blob is an error
};

/// Not thread-safe.
class Database {
 public:
  /// `run` outlives it. Errors: SQLite cannot begin.
  static base::Expected<Database> open(model::Run const& run);
  /// A part of it alone. Errors: as above, and that the run has no such part.
  static base::Expected<Database> open(model::Run const& run, Part const& part);
  /// What has been analyzed, for statements of Reads::kAnalysis: outlines of processes do.
  static base::Expected<Database> open(model::Run const& run, analyzer::Analysis analysis);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// Without a run. Errors: those of run().
  static tl::expected<Reads, QueryError> reads_of(std::string const& sql);

  /// First and last of the steps that Part::steps chose; nothing where it chose none.
  [[nodiscard]] std::optional<std::pair<int64_t, int64_t>> chosen_steps() const;
  /// One SELECT (or EXPLAIN of one); nothing else is allowed. Returns the number of rows that were
  /// taken.
  tl::expected<uint64_t, QueryError> run(std::string const& sql, RowSink& sink,
                                         QueryOptions const& options = {});
  /// The same of a statement of Reads::kSums, with what group_events() gives of all processes: the
  /// run that was opened has none.
  tl::expected<uint64_t, QueryError> run_over(Rows sums, std::string const& sql, RowSink& sink,
                                              QueryOptions const& options = {});

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepscope::query
