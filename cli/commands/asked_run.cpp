#include "cli/commands/asked_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/analyze_and_warn.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/team.h"
#include "query/process_sums.h"
#include "run_loading/analyzed_files.h"
#include "run_loading/each_process.h"
#include "run_loading/process_reading.h"

namespace stepscope::cli {

using base::Expected;

Expected<AskedRun> AskedRun::open(std::vector<std::string> const& paths, bool is_one_run,
                                  query::Part const& part, std::string sql, query::Reads reads) {
  if (reads == query::Reads::kAnalysis)
    return open_analyzed(paths, is_one_run, part, std::move(sql));

  // Which events lie in chosen steps, only the analysis of all of them tells.
  if (reads == query::Reads::kSums && !part.steps) {
    auto sums = open_sums(paths, is_one_run, part, sql);
    if (!sums) return base::fail_with(sums);
    if (*sums) return std::move(**sums);
  }
  return open_events(paths, is_one_run, part, std::move(sql));
}

Expected<AskedRun> AskedRun::open_analyzed(std::vector<std::string> const& paths, bool is_one_run,
                                           query::Part const& part, std::string sql) {
  auto analyzed = analyze_and_warn(paths, part.analyze_options(), Reading::kBySize, is_one_run);
  if (!analyzed) return base::fail_with(analyzed);

  auto run = std::make_unique<model::Run>(std::move(analyzed->run));
  auto database = query::Database::open(*run, std::move(analyzed->analysis));
  if (!database) return base::fail_with(database);
  return AskedRun(std::move(run), std::move(*database), std::move(sql));
}

namespace {

/// Takes the other ranks out of the sources. Errors: there is no such rank.
Expected<std::vector<import::RankSource>> take_others(import::RunSources& sources, int32_t rank) {
  std::set<int32_t> there;
  std::vector<import::RankSource> of_rank, others;
  for (import::RankSource& source : sources.ranks) {
    int32_t const own = source.source.info().rank;
    there.insert(own);
    (own == rank ? of_rank : others).push_back(std::move(source));
  }

  if (of_rank.empty())
    return base::fail("--rank {}: is not in the run, it has {}", rank, ranks_there(there));
  sources.ranks = std::move(of_rank);
  return others;
}

/// Each process of the part gives its own.
Expected<run_loading::WorkedRun> sums_of_processes(std::vector<std::string> const& paths,
                                                   bool is_one_run, query::Part const& part,
                                                   std::string const& sql) {
  ProgressWatch const watch([] { return std::string("reading the run"); });
  auto sources = run_loading::open_by_size(paths, is_one_run, team());
  if (!sources) return base::fail_with(sources);

  std::vector<import::RankSource> others;
  if (part.rank) {
    auto taken = take_others(*sources, *part.rank);
    if (!taken) return base::fail_with(taken);
    others = std::move(*taken);
  }

  auto worked = run_loading::work_on_each_process(*sources, {sql, query::columns_of_sums(sql)},
                                                  query::sums_of_process, team());
  // What is known of the others without reading them is worth a note, too.
  for (import::RankSource const& other : others)
    if (worked) worked->run.ranks.push_back(run_loading::head_of_process(other));
  return worked;
}

}  // namespace

Expected<std::optional<AskedRun>> AskedRun::open_sums(std::vector<std::string> const& paths,
                                                      bool is_one_run, query::Part const& part,
                                                      std::string const& sql) {
  base::keep_freed_memory();
  auto worked = sums_of_processes(paths, is_one_run, part, sql);
  if (!worked) return base::fail_with(worked);
  auto sums = query::sums_of_all(sql, std::move(worked->answers));
  if (!sums) return std::nullopt;

  warn_of_run(worked->run);
  auto run = std::make_unique<model::Run>();
  auto database = query::Database::open(*run);
  if (!database) return base::fail_with(database);
  AskedRun asked(std::move(run), std::move(*database), sql);
  asked.sums_ = std::move(sums);
  return asked;
}

Expected<AskedRun> AskedRun::open_events(std::vector<std::string> const& paths, bool is_one_run,
                                         query::Part const& part, std::string sql) {
  auto opened = open_run_and_warn(paths, is_one_run);
  if (!opened) return base::fail_with(opened);

  auto run = std::make_unique<model::Run>(std::move(*opened));
  auto database = query::Database::open(*run, part);
  if (!database) return base::fail("query: {}", database.error().message);
  if (auto const steps = database->chosen_steps()) warn_of_missing_steps(*part.steps, *steps);
  return AskedRun(std::move(run), std::move(*database), std::move(sql));
}

tl::expected<uint64_t, query::QueryError> AskedRun::answer(query::RowSink& sink) {
  if (sums_) return database_.run_over(std::move(*sums_), sql_, sink);
  return database_.run(sql_, sink);
}

}  // namespace stepscope::cli
