// A run that Python has open: what was read of it, its analysis, and what is asked about it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "query/columns.h"
#include "run_loading/analyzed_files.h"
#include "trace/base/expected.h"

namespace stepscope::python {

/// Any thread may ask; one question is answered at a time. Not after a fork: see is_of_parent().
class OpenRun {
 public:
  /// Reads and analyzes as `stepscope analyze` does. Errors: those of run_loading::analyze_files().
  static base::Expected<std::shared_ptr<OpenRun>> open(std::vector<std::string> paths,
                                                       bool is_one_run,
                                                       run_loading::LoadingProgress& progress);

  [[nodiscard]] std::vector<std::string> const& paths() const { return paths_; }
  /// What `stepscope analyze` says on stderr of a run that it can read in part only.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// The process was forked since: threads that computed are gone.
  [[nodiscard]] bool is_of_parent() const;

  /// As `stepscope analyze --json`; a part of it is analyzed anew. Errors: there is no such part.
  base::Expected<std::string> analysis_json(std::optional<std::pair<int64_t, int64_t>> steps,
                                            std::optional<int32_t> rank);
  base::Expected<std::string> analysis_text();
  /// As `stepscope report`: `language` is en or zh. Errors: those of reading the run again.
  base::Expected<std::string> report_html(std::string const& language);
  /// As `stepscope whatif --json`. Errors: no such change, or it cannot be replayed.
  base::Expected<std::string> whatif_json(std::vector<std::string> const& changes, bool together);
  /// What comparisons keep of it.
  analyzer::RunMeasurements sample();

  /// A SELECT. Errors: those of SQL, or it was given up.
  tl::expected<std::vector<query::Column>, query::QueryError> query(
      std::string const& sql, std::function<bool()> const& is_given_up);
  /// A table of the trace or of the analysis. `columns`: empty = all. Errors: no table or column of
  /// that name.
  base::Expected<std::vector<query::Column>> table(std::string const& name,
                                                   std::vector<std::string> const& columns,
                                                   std::function<bool()> const& is_given_up);

 private:
  OpenRun(std::vector<std::string> paths, bool is_one_run, run_loading::AnalyzedRun analyzed);
  base::Expected<model::Run const*> whole();
  base::Expected<query::Database*> database();

  std::vector<std::string> const paths_;
  bool const is_one_run_;
  int64_t const process_;
  std::mutex mutex_;
  run_loading::AnalyzedRun analyzed_;
  std::optional<model::Run> whole_;          ///< of a run that was analyzed process by process
  std::optional<query::Database> database_;  ///< of one of the two, which it refers to
};

}  // namespace stepscope::python
