// The events of a run that is in memory: those of the scene's traces and nodes.
#pragma once

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {

/// Has nothing of its own: a scene can be moved with it.
class InMemoryStore final : public EventStore {
 public:
  [[nodiscard]] uint64_t event_count(Scene const& scene, uint32_t rank,
                                     uint32_t track) const override;
  [[nodiscard]] Selection selection_of(Scene const& scene, uint32_t rank, model::Trace const& trace,
                                       uint32_t row) const override;
  [[nodiscard]] Selection selection_of(
      Scene const& scene, analyzer::CollectiveStats::Participant const& participant) const override;
  [[nodiscard]] std::optional<Scene::EventAt> find(Scene const& scene,
                                                   Selection const& event) const override;
  [[nodiscard]] std::optional<EventPlace> place_of(Scene const& scene,
                                                   Selection const& event) const override;
  [[nodiscard]] std::optional<Selection> selection_at(Scene const& scene, uint32_t rank,
                                                      EventPlace const& place) const override;
  [[nodiscard]] GapNames gap_names(Scene const& scene, analyzer::IdleGap const& gap) const override;
  [[nodiscard]] std::optional<SameNameFound> next_of_name_at_once(
      Scene const& scene, SameNameKey const& key) const override;

  [[nodiscard]] RowEvents row_events(Scene const& scene, uint32_t node,
                                     TimeWindow window) const override;
  [[nodiscard]] std::vector<DensityColumn> density(Scene const& scene, uint32_t node,
                                                   TimeWindow window, float width) const override;
  [[nodiscard]] std::vector<CounterPixel> curve(Scene const& scene, uint32_t node,
                                                TimeWindow window, float width) const override;
  [[nodiscard]] RankSteps steps(Scene const& scene, uint32_t rank,
                                TimeWindow window) const override;

  [[nodiscard]] SearchHits search(Scene const& scene, Query const& query,
                                  std::stop_token const& stop, SearchFeed* feed) const override;
  [[nodiscard]] RangeStatistics statistics(Scene const& scene, TimeWindow range,
                                           std::stop_token const& stop) const override;
  [[nodiscard]] std::vector<int64_t> durations(Scene const& scene, HistogramKey const& key,
                                               std::stop_token const& stop) const override;
  [[nodiscard]] SameNameFound next_of_name(Scene const& scene, SameNameKey const& key,
                                           std::stop_token const& stop) const override;
  void find_path(Scene const& scene, PathFeed& feed, std::stop_token const& stop) const override;
  [[nodiscard]] base::Expected<std::shared_ptr<analyzer::ReplaySession const>> open_replay(
      Scene const& scene, std::stop_token const& stop) const override;
  [[nodiscard]] TrackRows rows_in(Scene const& scene, uint32_t node, TimeWindow range,
                                  uint64_t most_events, std::stop_token const& stop) const override;
  [[nodiscard]] std::shared_ptr<model::RankTrace const> process(Scene const& scene,
                                                                uint32_t rank) const override;
  [[nodiscard]] std::vector<CounterPixel> counter_pixels(Scene const& scene, uint32_t node,
                                                         TimeWindow window,
                                                         size_t count) const override;
  [[nodiscard]] std::vector<StripPiece> device_strip(Scene const& scene, uint32_t node,
                                                     TimeWindow window, float width) const override;
};

}  // namespace stepscope::viewer
