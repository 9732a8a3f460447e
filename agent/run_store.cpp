#include "agent/run_store.h"

#include <algorithm>
#include <utility>

#include "trace/import/open/open_run.h"

namespace stepscope::agent {
namespace {

uint64_t events_of(model::Run const& run) {
  uint64_t events = 0;
  for (model::RankTrace const& rank : run.ranks) events += rank.trace.event_count();
  return events;
}

}  // namespace

OpenRun::OpenRun(std::string path, std::vector<FileStamp> files, run_loading::AnalyzedRun analyzed)
    : path_(std::move(path)), files_(std::move(files)), analyzed_(std::move(analyzed)) {}

base::Expected<query::Database*> OpenRun::database() {
  if (database_) return &*database_;
  if (!is_in_memory() && !whole_) {
    auto whole = import::open_run(path_);
    if (!whole) return base::fail_with(whole);
    whole_ = std::move(*whole);
  }

  auto opened = query::Database::open(whole_ ? *whole_ : analyzed_.run);
  if (!opened) return base::fail_with(opened);
  database_ = std::move(*opened);
  return &*database_;
}

uint64_t OpenRun::events() const {
  return events_of(analyzed_.run) + (whole_ ? events_of(*whole_) : 0);
}

void RunStore::drop_for(uint64_t events) {
  auto const is_full = [&] {
    uint64_t all = events;
    for (auto const& run : runs_) all += run->events();
    return runs_.size() >= kMostRuns || all > kMostEvents;
  };
  while (!runs_.empty() && is_full()) runs_.pop_back();
}

base::Expected<std::shared_ptr<OpenRun>> RunStore::open(std::string const& run) {
  auto const path = served_.find(run);
  if (!path) return base::fail_with(path);
  auto files = served_.files_below(*path);
  if (!files) return base::fail_with(files);

  auto const known = std::find_if(runs_.begin(), runs_.end(),
                                  [&](auto const& each) { return each->path() == *path; });
  if (known != runs_.end() && (*known)->files() == *files) {
    runs_.splice(runs_.begin(), runs_, known);
    return runs_.front();
  }
  if (known != runs_.end()) runs_.erase(known);

  ++reads_;
  auto analyzed = run_loading::analyze_files({*path}, {}, run_loading::Reading::kBySize);
  if (!analyzed) return base::fail_with(analyzed);
  drop_for(events_of(analyzed->run));
  runs_.push_front(std::make_shared<OpenRun>(*path, std::move(*files), std::move(*analyzed)));
  return runs_.front();
}

}  // namespace stepscope::agent
