// stepscope query RUN... "SQL": asks a run anything, in SQL over its events and its analysis.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/commands/asked_run.h"
#include "cli/pager.h"
#include "cli/run_parts.h"
#include "query/output.h"
#include "query/part.h"
#include "query/schema.h"
#include "trace/base/files/partial_file.h"

namespace stepscope::cli {
namespace {

using base::Expected;
using base::fail;

struct QueryOptions {
  std::vector<std::string> words;  ///< runs, and the SQL behind them
  std::string format, output;
  bool tables = false, is_one_run = false, force = false;
  std::string steps;
  std::optional<int32_t> rank;
};

using MakeWriter = std::unique_ptr<query::ResultWriter> (*)(query::WriteBytes);

struct ResultFormat {
  std::string_view name, file_suffix;
  bool is_for_people;  ///< false: bytes that a terminal cannot show
  MakeWriter make;     ///< not of the table, which asks for the terminal's width
};
constexpr std::array kResultFormats = {
    ResultFormat{"table", ".txt", true, nullptr},
    ResultFormat{"csv", ".csv", true, query::csv_writer},
    ResultFormat{"json", ".json", true, query::json_writer},
    ResultFormat{"parquet", ".parquet", false,
                 [](query::WriteBytes write) {
                   return query::columnar_writer(std::move(write), columns::parquet_file);
                 }},
    ResultFormat{"arrow", ".arrow", false,
                 [](query::WriteBytes write) {
                   return query::columnar_writer(std::move(write), columns::arrow_file);
                 }},
};

std::vector<std::string> result_format_names() {
  std::vector<std::string> names;
  for (ResultFormat const& format : kResultFormats) names.emplace_back(format.name);
  return names;
}

/// The named one, else that of the file's name, else a table.
ResultFormat const& format_of(QueryOptions const& options) {
  auto const fits = [&](ResultFormat const& format) {
    return options.format.empty()
               ? !options.output.empty() && options.output.ends_with(format.file_suffix)
               : format.name == options.format;
  };
  auto const found = std::find_if(kResultFormats.begin(), kResultFormats.end(), fits);
  return found == kResultFormats.end() ? kResultFormats.front() : *found;
}

std::unique_ptr<query::ResultWriter> writer_of(ResultFormat const& format, bool is_in_terminal,
                                               query::WriteBytes write) {
  if (format.make != nullptr) return format.make(std::move(write));
  auto const width = is_in_terminal ? static_cast<size_t>(terminal_width()) : 0;
  return query::table_writer(std::move(write), width);
}

/// Before a large run is read: whether the result can go there.
Expected<void> check_result_place(QueryOptions const& options, bool is_in_terminal) {
  ResultFormat const& format = format_of(options);
  if (is_in_terminal && !format.is_for_people)
    return fail("query: {} is not for a terminal, write it to a file with -o result{}", format.name,
                format.file_suffix);
  if (options.output.empty()) return {};

  std::vector<std::string> const runs(options.words.begin(), options.words.end() - 1);
  std::error_code ignored;
  if (is_source(options.output, runs))
    return fail("{}: is where the run itself lies, choose another place with -o", options.output);
  if (std::filesystem::exists(options.output, ignored) && !options.force)
    return fail("{}: is there already, choose another name with -o or replace it with --force",
                options.output);
  return {};
}

/// A file or folder in its place is one more run.
bool is_question_missing(std::vector<std::string> const& words) {
  std::error_code ignored;
  return words.size() < 2 ||
         (words.back() != "-" && std::filesystem::exists(words.back(), ignored));
}

int report_sql_error(std::string const& sql, query::QueryError const& error) {
  int const code = report_error({"query: " + error.message});
  if (error.offset) std::fputs(query::marked_place(sql, *error.offset).c_str(), stderr);
  return code;
}

int answer(AskedRun& run, std::string const& sql, query::ResultWriter& writer) {
  auto const rows = run.answer(writer);
  if (!rows) return report_sql_error(sql, rows.error());
  auto const finished = writer.finish();
  return finished ? kGood : report_error(finished.error());
}

/// The file is whole, or not there.
int answer_into_file(AskedRun& run, std::string const& sql, QueryOptions const& options) {
  auto file = base::PartialFile::create(options.output);
  if (!file) return report_error(file.error());

  auto const writer = writer_of(format_of(options), false,
                                [&](std::string_view bytes) { return file->write(bytes); });
  if (int const code = answer(run, sql, *writer); code != kGood) return code;
  auto const finished = file->finish();
  return finished ? kGood : report_error(finished.error());
}

int query_run(QueryOptions const& options) {
  if (options.tables) {
    begin_paging();
    std::fputs(query::schema_text(wrap_width()).c_str(), stdout);
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

  bool const is_in_terminal = options.output.empty() && is_output_terminal();
  if (auto const free = check_result_place(options, is_in_terminal); !free)
    return report_error(free.error());

  query::Part part{.rank = options.rank};
  if (!options.steps.empty()) {
    auto const steps = parse_steps(options.steps);
    if (!steps) return report_error(steps.error());
    part.steps = *steps;
  }

  // Before a large run is read: the question may have a mistake.
  auto const reads = query::Database::reads_of(sql);
  if (!reads) return report_sql_error(sql, reads.error());
  auto run = AskedRun::open({options.words.begin(), options.words.end() - 1}, options.is_one_run,
                            part, sql, *reads);
  if (!run) return report_error(run.error());

  if (options.output.empty()) {
    // The pager comes with the first output: until then Ctrl-C ends a long question.
    bool is_begun = false;
    auto const print = [&, to_stdout = query::to_stream(stdout)](std::string_view bytes) {
      if (!std::exchange(is_begun, true)) begin_paging();
      return to_stdout(bytes);
    };
    auto const writer = writer_of(format_of(options), is_in_terminal, print);
    return answer(*run, sql, *writer);
  }
  return answer_into_file(*run, sql, options);
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
  auto* const format =
      app.add_option(
             "--format", options->format,
             "table, csv, json, parquet or arrow (default: as the file's name ends, else table)")
          ->check(CLI::IsMember(result_format_names()));
  auto* const output =
      app.add_option("-o,--output", options->output,
                     "the file to write: result.csv, .json, .parquet, .arrow, .txt");
  app.add_flag("--force", options->force, "replace the file that is there");
  app.add_option("--steps", options->steps, "use only the steps first:last, as analyze does");
  app.add_option("--rank", options->rank, "use only this rank")->check(whole_number(0, INT32_MAX));
  add_one_run_option(app, options->is_one_run);
  app.add_flag("--tables", options->tables, "list every table and column")
      ->excludes(format)
      ->excludes(output);

  return [options] { return query_run(*options); };
}

}  // namespace stepscope::cli
