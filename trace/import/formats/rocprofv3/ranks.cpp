#include "trace/import/formats/rocprofv3/ranks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "trace/import/common/rank_from_name.h"
#include "trace/model/derive/clock_drift.h"

namespace stepscope::import::rocm {
namespace {

/// Launchers give each process of a host the GPU of its number.
bool sort_by_device(std::vector<Process*>& workers) {
  std::set<int32_t> devices;
  for (Process const* const worker : workers) devices.insert(worker->only_device());
  if (devices.size() != workers.size() || devices.contains(-1)) return false;

  std::sort(workers.begin(), workers.end(),
            [](Process const* a, Process const* b) { return a->only_device() < b->only_device(); });
  return true;
}

/// Whether each worker states a rank that no other has.
bool take_stated_ranks(std::vector<Process*> const& workers) {
  std::set<int32_t> ranks;
  for (Process const* const worker : workers)
    if (!worker->stated_rank || !ranks.insert(*worker->stated_rank).second) return false;

  for (Process* const worker : workers) worker->builder.info().rank = *worker->stated_rank;
  return true;
}

}  // namespace

std::vector<Process*> order_by_rank(std::deque<Process>& processes, std::string const& file) {
  std::vector<Process*> workers, others;
  for (Process& process : processes) {
    (process.has_device_ops() ? workers : others).push_back(&process);
    model::TraceInfo& info = process.builder.info();
    info.tool = "rocprofv3";
    info.rank = -1;
    info.facts.emplace_back(model::kClockFact, model::kBootClock);
  }

  for (Process* const worker : workers) {
    int32_t& world = worker->builder.info().world_size;
    world = std::max(world, static_cast<int32_t>(workers.size()));
  }

  if (workers.size() == 1 && !workers.front()->stated_rank)
    workers.front()->builder.info().rank = rank_of_name(file).value_or(-1);
  else if (!take_stated_ranks(workers)) {
    bool const by_device = sort_by_device(workers);
    for (Process* const worker : workers)
      worker->builder.log().notes.push_back(
          fmt::format("the capture does not say which rank this process is: {} by the order of {}",
                      kRankIsAGuess, by_device ? "the processes' devices" : "the file"));
  }

  workers.insert(workers.end(), others.begin(), others.end());
  return workers;
}

}  // namespace stepscope::import::rocm
