// A run as a SELECT needs it: analyzed where it asks what the analysis says, process by process
// where it asks for sums, and else with all events at hand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/database.h"
#include "query/part.h"
#include "query/tables/rows_table.h"
#include "trace/base/expected.h"
#include "trace/model/run.h"

namespace stepscope::cli {

class AskedRun {
 public:
  /// Opens a run for one statement that reads `reads` of it, and prints what could not be read.
  /// Errors: those of reading; the run has no such part.
  static base::Expected<AskedRun> open(std::vector<std::string> const& paths, bool is_one_run,
                                       query::Part const& part, std::string sql,
                                       query::Reads reads);

  /// As query::Database::run(), once.
  tl::expected<uint64_t, query::QueryError> answer(query::RowSink& sink);

 private:
  AskedRun(std::unique_ptr<model::Run> run, query::Database database, std::string sql)
      : run_(std::move(run)), database_(std::move(database)), sql_(std::move(sql)) {}
  static base::Expected<AskedRun> open_analyzed(std::vector<std::string> const& paths,
                                                bool is_one_run, query::Part const& part,
                                                std::string sql);
  /// Nothing where its events must be looked at one by one.
  static base::Expected<std::optional<AskedRun>> open_sums(std::vector<std::string> const& paths,
                                                           bool is_one_run, query::Part const& part,
                                                           std::string const& sql);
  static base::Expected<AskedRun> open_events(std::vector<std::string> const& paths,
                                              bool is_one_run, query::Part const& part,
                                              std::string sql);

  std::unique_ptr<model::Run> run_;  ///< where the database finds it
  query::Database database_;
  std::string sql_;
  std::optional<query::Rows> sums_;
};

}  // namespace stepscope::cli
