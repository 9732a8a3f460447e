#include "viewer/queries/memory_owners.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/metrics/memory/memory.h"
#include "analyzer/metrics/memory/memory_owners.h"
#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {

std::optional<analyzer::MemoryOwners> owners_at(Scene const& scene, OwnersKey const& key) {
  if (key.device >= scene.analysis.devices.size()) return std::nullopt;
  analyzer::DeviceRef const ref = scene.analysis.devices[key.device].ref;
  if (ref.rank_index < 0 || static_cast<size_t>(ref.rank_index) >= scene.run.ranks.size())
    return std::nullopt;
  // The whole process: who allocated follows from what was open then.
  auto const of = scene.store->process(scene, static_cast<uint32_t>(ref.rank_index));
  if (!of) return std::nullopt;

  model::RankTrace const& rank = *of;
  analyzer::ProcessMemory const memory = analyzer::memory_of_process(rank);
  auto const history = std::find_if(memory.devices.begin(), memory.devices.end(),
                                    [&](auto const& h) { return h.device == ref.device; });
  if (history == memory.devices.end()) return std::nullopt;
  auto const after =
      std::partition_point(history->timeline.begin(), history->timeline.end(),
                           [&](auto const& point) { return point.time_ns <= key.time_ns; });
  auto const calls = static_cast<size_t>(after - history->timeline.begin());
  if (calls == 0) return std::nullopt;
  std::vector<analyzer::LiveBlock> blocks;
  for (size_t i = 0; i < calls && i < history->rows.size() && i < history->freed_by.size(); ++i) {
    uint32_t const freed = history->freed_by[i];
    bool const is_live = freed == analyzer::MemoryHistory::kNever ||
                         (freed != analyzer::MemoryHistory::kNoBlock && freed >= calls);
    if (is_live)
      blocks.push_back(
          {history->rows[i], rank.trace.detail<model::MemoryDetail>(history->rows[i]).bytes});
  }
  return analyzer::owners_of(rank.trace, std::move(blocks),
                             history->timeline[calls - 1].allocated_bytes);
}

}  // namespace stepscope::viewer
