#include "python/native/open_run.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>
#include <unistd.h>

#include "analyzer/analyze.h"
#include "analyzer/whatif/whatif.h"
#include "reports/html/html.h"
#include "reports/json/json.h"
#include "reports/json/whatif_json.h"
#include "reports/text/text.h"
#include "reports/words/language.h"
#include "trace/import/open/open_run.h"

namespace stepscope::python {

using base::Expected;

namespace {

/// "it has steps 5 to 10".
std::string steps_there(analyzer::Analysis const& analysis) {
  if (analysis.steps.empty()) return "it has none; those of its threads are in analyze().hosts";
  auto const by_number = [](auto const& a, auto const& b) { return a.step < b.step; };
  auto const [first, last] =
      std::minmax_element(analysis.steps.begin(), analysis.steps.end(), by_number);
  return fmt::format("it has steps {} to {}", first->step, last->step);
}

}  // namespace

OpenRun::OpenRun(std::vector<std::string> paths, bool is_one_run, run_loading::AnalyzedRun analyzed)
    : paths_(std::move(paths)),
      is_one_run_(is_one_run),
      process_(::getpid()),
      analyzed_(std::move(analyzed)) {}

Expected<std::shared_ptr<OpenRun>> OpenRun::open(std::vector<std::string> paths, bool is_one_run,
                                                 run_loading::LoadingProgress& progress) {
  auto analyzed = run_loading::analyze_files(paths, {}, run_loading::Reading::kBySize, is_one_run,
                                             nullptr, &progress);
  if (!analyzed) return base::fail_with(analyzed);
  return std::shared_ptr<OpenRun>(new OpenRun(std::move(paths), is_one_run, std::move(*analyzed)));
}

std::vector<std::string> OpenRun::notes() const {
  std::vector<std::string> notes = analyzed_.run.notes;
  for (model::RankTrace const& rank : analyzed_.run.ranks)
    for (std::string const& note : rank.trace.log().notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  return notes;
}

bool OpenRun::is_of_parent() const { return process_ != ::getpid(); }

Expected<std::string> OpenRun::analysis_json(std::optional<std::pair<int64_t, int64_t>> steps,
                                             std::optional<int32_t> rank) {
  std::lock_guard const lock(mutex_);
  if (!steps && !rank) return reports::analysis_json(analyzed_.run, analyzed_.analysis);

  analyzer::AnalyzeOptions options;
  options.steps = steps;
  options.rank = rank;
  bool const is_in_memory = !analyzed_.read;
  std::set<int32_t> ranks;
  for (model::RankTrace const& each : analyzed_.run.ranks) ranks.insert(each.trace.info().rank);
  if (rank && !ranks.contains(*rank))
    return base::fail("rank {} is not in the run, it has {}", *rank, fmt::join(ranks, ", "));

  auto const part = is_in_memory
                        ? analyzer::analyze(analyzed_.run, options)
                        : analyzer::analyze(run_loading::streamed_run_of(analyzed_), options);
  if (!part) return base::fail_with(part);
  if (steps && part->steps.empty())
    return base::fail("the run has no steps {} to {} of devices, {}", steps->first, steps->second,
                      steps_there(analyzed_.analysis));
  return reports::analysis_json(analyzed_.run, *part);
}

Expected<std::string> OpenRun::analysis_text() {
  std::lock_guard const lock(mutex_);
  return reports::analysis_text(analyzed_.run, analyzed_.analysis, {});
}

Expected<std::string> OpenRun::report_html(std::string const& language) {
  std::lock_guard const lock(mutex_);
  reports::ReportOptions options;
  auto const known = reports::language_of(language);
  if (!known) return base::fail("language {}: is not known, give en or zh", language);
  options.language = *known;
  if (analyzed_.read)
    return reports::report_html(analyzed_.run, analyzed_.analysis, analyzed_.read, options);
  return reports::report_html(analyzed_.run, analyzed_.analysis, options);
}

Expected<std::string> OpenRun::whatif_json(std::vector<std::string> const& changes, bool together) {
  std::lock_guard const lock(mutex_);
  auto question = analyzer::question_of(changes, together);
  if (!question) return base::fail("change {}", question.error().message);
  question->wants_fixes = changes.empty();

  auto const stats = analyzed_.read
                         ? analyzer::what_if(run_loading::streamed_run_of(analyzed_),
                                             analyzed_.analysis, *question)
                         : analyzer::what_if(analyzed_.run, analyzed_.analysis, *question);
  if (!stats) return base::fail_with(stats);
  return reports::whatif_json(analyzed_.analysis, *stats);
}

analyzer::RunMeasurements OpenRun::sample() {
  std::lock_guard const lock(mutex_);
  auto sample = analyzer::sample_run(analyzed_.run, analyzed_.analysis);
  sample.name = paths_.front();
  return sample;
}

Expected<model::Run const*> OpenRun::whole() {
  if (!analyzed_.read) return &analyzed_.run;
  if (!whole_) {
    auto opened = import::open_run(paths_, is_one_run_);
    if (!opened) return base::fail_with(opened);
    whole_ = std::move(*opened);
  }
  return &*whole_;
}

Expected<query::Database*> OpenRun::database() {
  if (database_) return &*database_;
  auto const run = whole();
  if (!run) return base::fail_with(run);
  auto opened = query::Database::open(**run);
  if (!opened) return base::fail_with(opened);
  database_ = std::move(*opened);
  return &*database_;
}

tl::expected<std::vector<query::Column>, query::QueryError> OpenRun::query(
    std::string const& sql, std::function<bool()> const& is_given_up) {
  std::lock_guard const lock(mutex_);
  auto const opened = database();
  if (!opened) return tl::unexpected(query::QueryError{opened.error().message, std::nullopt});

  query::ColumnSink sink;
  query::QueryOptions options;
  options.is_given_up = is_given_up;
  auto const rows = (*opened)->run(sql, sink, options);
  if (!rows) return tl::unexpected(rows.error());
  return sink.take();
}

Expected<std::vector<query::Column>> OpenRun::table(std::string const& name,
                                                    std::vector<std::string> const& columns,
                                                    std::function<bool()> const& is_given_up) {
  if (query::is_trace_table(name)) {
    std::lock_guard const lock(mutex_);
    auto const run = whole();
    if (!run) return base::fail_with(run);
    return query::read_table(**run, name, columns, is_given_up);
  }

  auto const quoted = [](std::string const& text) {
    std::string result = "\"";
    for (char const c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
  };
  std::string list;
  for (std::string const& column : columns) list += (list.empty() ? "" : ", ") + quoted(column);
  auto rows = query("SELECT " + (list.empty() ? "*" : list) + " FROM " + quoted(name), is_given_up);
  if (!rows) return base::fail("{}", rows.error().message);
  return std::move(*rows);
}

}  // namespace stepscope::python
