// stepscope query RUN... "SQL": asks a run anything, in SQL over its events and its analysis.
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "cli/commands.h"
#include "mpi/launch.h"
#include "query/output.h"
#include "query/part.h"
#include "query/schema.h"

namespace stepscope::cli {
namespace {

struct QueryOptions {
  std::vector<std::string> words;  ///< runs, and the SQL behind them
  std::string format = "table";
  bool tables = false, is_one_run = false;
  std::string steps;
  std::optional<int32_t> rank;
};

std::unique_ptr<query::ResultWriter> writer_of(std::string const& format) {
  if (format == "csv") return query::csv_writer(stdout);
  if (format == "json") return query::json_writer(stdout);
  bool const terminal = ::isatty(STDOUT_FILENO) == 1 && !mpi::has_passed_on_output();
  return query::table_writer(stdout, terminal ? static_cast<size_t>(terminal_width()) : 0);
}

/// A file or folder in its place is one more run.
bool is_question_missing(std::vector<std::string> const& words) {
  std::error_code ignored;
  return words.size() < 2 ||
         (words.back() != "-" && std::filesystem::exists(words.back(), ignored));
}

int query_run(QueryOptions const& options) {
  if (options.tables) {
    std::fputs(query::schema_text().c_str(), stdout);
    return kGood;
  }

  if (is_question_missing(options.words))
    return report_error(
        {"query: name a run and a SELECT, such as: stepscope query RUN "
         "\"select name, sum(dur_ns) from kernels group by name order by 2 desc\". "
         "stepscope query --tables lists all tables"});

  std::string sql = options.words.back();
  if (sql == "-")
    sql.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());

  query::Part part{.rank = options.rank};
  if (!options.steps.empty()) {
    auto const steps = parse_steps(options.steps);
    if (!steps) return report_error(steps.error());
    part.steps = *steps;
  }

  auto const run =
      open_run_and_warn({options.words.begin(), options.words.end() - 1}, options.is_one_run);
  if (!run) return report_error(run.error());
  auto database = query::Database::open(*run, part);
  if (!database) return report_error({"query: " + database.error().message});
  if (auto const steps = database->chosen_steps()) warn_of_missing_steps(*part.steps, *steps);

  auto const writer = writer_of(options.format);
  auto const rows = database->run(sql, *writer);
  if (!rows) {
    int const code = report_error({"query: " + rows.error().message});
    if (rows.error().offset)
      std::fputs(query::marked_place(sql, *rows.error().offset).c_str(), stderr);
    return code;
  }

  auto const finished = writer->finish();
  return finished ? kGood : report_error(finished.error());
}

}  // namespace

Action add_query(CLI::App& app) {
  auto const options = std::make_shared<QueryOptions>();
  app.footer(
      "stepscope query RUN... SQL\nTables, their columns and useful queries: "
      "docs/reference/QUERY.md. Times are ns of the run. Only SELECT "
      "is possible.");

  app.add_option("RUN", options->words,
                 "trace files or a run folder; the last is the question: a SELECT in SQLite's SQL, "
                 "- reads it from the standard input");
  app.add_option("--format", options->format, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  app.add_option("--steps", options->steps, "use only the steps first:last, as analyze does");
  app.add_option("--rank", options->rank, "use only this rank")->check(whole_number(0, INT32_MAX));
  add_one_run_option(app, options->is_one_run);
  app.add_flag("--tables", options->tables, "list every table and column");

  return [options] { return query_run(*options); };
}

}  // namespace stepscope::cli
