// Where things of a run are in its tree.
#include <algorithm>
#include <tuple>

#include "viewer/event_store/event_store.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

analyzer::CollectiveStats const* Scene::collective_of(Selection const& event) const {
  auto const place = store->place_of(*this, event);
  if (!place) return nullptr;

  // As find_participations() sorts them.
  bool const has_rows = place->row.has_value();
  auto const key_of = [&](Participation const& p) {
    return has_rows ? std::tuple(p.rank, p.row, int64_t{0}) : std::tuple(p.rank, p.track, p.start);
  };
  auto const wanted = has_rows ? std::tuple(event.rank, *place->row, int64_t{0})
                               : std::tuple(event.rank, place->track, place->start);
  auto const found =
      std::partition_point(participations.begin(), participations.end(),
                           [&](Participation const& p) { return key_of(p) < wanted; });
  if (found == participations.end() || key_of(*found) != wanted) return nullptr;
  return &analysis.collectives[found->collective];
}

uint64_t Scene::event_count(uint32_t rank, uint32_t track) const {
  return store->event_count(*this, rank, track);
}

uint64_t Scene::event_count(uint32_t rank) const {
  uint64_t count = 0;
  for (uint32_t track = 0; track < trace(rank).tracks().size(); ++track)
    count += event_count(rank, track);
  return count;
}

Selection Scene::selection_of(uint32_t rank, model::Trace const& of, uint32_t row) const {
  return store->selection_of(*this, rank, of, row);
}

Selection Scene::selection_of(analyzer::CollectiveStats::Participant const& participant) const {
  return store->selection_of(*this, participant);
}

std::optional<Scene::EventAt> Scene::find(Selection const& selection) const {
  if (selection.what != Selection::What::kEvent) return std::nullopt;
  return store->find(*this, selection);
}

model::Interval Scene::when(Selection const& selection) const {
  if (selection.what == Selection::What::kGap) {
    model::Interval const gap = analysis.gaps[selection.index].when;
    return {to_view(gap.begin), to_view(gap.end)};
  }
  auto const place = store->place_of(*this, selection);
  if (!place) return {0, 0};
  int64_t const by = shift(selection.rank);
  return {add(place->start, by), add(add(place->start, place->dur), by)};
}

std::optional<uint32_t> Scene::node_of_track(uint32_t rank, uint32_t track) const {
  if (rank >= track_nodes.size() || track >= track_nodes[rank].size()) return std::nullopt;
  uint32_t const node = track_nodes[rank][track];
  return node == kNoNode ? std::nullopt : std::optional(node);
}

std::optional<uint32_t> Scene::node_of_device(analyzer::DeviceRef ref) const {
  if (ref.rank_index < 0 || static_cast<size_t>(ref.rank_index) >= rank_nodes.size())
    return std::nullopt;
  uint32_t const rank = rank_nodes[static_cast<size_t>(ref.rank_index)];
  // A rank's devices are the first of its children.
  for (uint32_t i = rank + 1; i < nodes[rank].subtree_end && nodes[i].kind == NodeKind::kDevice;
       i = nodes[i].subtree_end)
    if (nodes[i].device_number == ref.device) return i;
  return std::nullopt;
}

std::optional<uint32_t> Scene::device_of(analyzer::DeviceRef ref) const {
  auto const& devices = analysis.devices;
  auto const found =
      std::find_if(devices.begin(), devices.end(), [&](auto const& d) { return d.ref == ref; });
  if (found == devices.end()) return std::nullopt;
  return static_cast<uint32_t>(found - devices.begin());
}

std::optional<uint32_t> Scene::node_of(analyzer::Finding::Evidence const& evidence) const {
  std::optional<uint32_t> node;
  if (evidence.track && evidence.ref.rank_index >= 0)
    node = node_of_track(static_cast<uint32_t>(evidence.ref.rank_index), *evidence.track);
  return node ? node : node_of_device(evidence.ref);
}

std::optional<uint32_t> cause_elsewhere(Scene const& scene, analyzer::Finding const& finding) {
  auto const is_elsewhere = [&](analyzer::Finding::Evidence const& place) {
    return place.ref.rank_index != finding.where->rank_index;
  };
  if (!finding.where || finding.evidence.empty() ||
      !std::all_of(finding.evidence.begin(), finding.evidence.end(), is_elsewhere))
    return std::nullopt;
  return scene.node_of_device(*finding.where);
}

std::optional<uint32_t> Scene::node_of(Selection const& selection) const {
  if (selection.what == Selection::What::kGap)
    return node_of_device(analysis.gaps[selection.index].ref);
  auto const place = store->place_of(*this, selection);
  return place ? node_of_track(selection.rank, place->track) : std::nullopt;
}

}  // namespace stepscope::viewer
