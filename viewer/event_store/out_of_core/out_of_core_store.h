// The events of a run that is not in memory: read from its files when a question needs them.
#pragma once

#include <memory>

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {

class OutOfCoreRun;

class OutOfCoreStore final : public EventStore {
 public:
  explicit OutOfCoreStore(std::unique_ptr<OutOfCoreRun> run);
  ~OutOfCoreStore() override;
  OutOfCoreStore(OutOfCoreStore const&) = delete;
  OutOfCoreStore& operator=(OutOfCoreStore const&) = delete;

  /// The files with what was read of them.
  [[nodiscard]] OutOfCoreRun& run() const { return *run_; }

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

  void begin_frame() const override;
  void want(Scene const& scene, std::optional<Selection> const& selection, TimeWindow window,
            ShownTracks const& shown) const override;
  [[nodiscard]] bool is_reading() const override;
  void finish_reading() const override;
  [[nodiscard]] std::shared_ptr<import::RunSources const> files() const override;

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

 private:
  std::unique_ptr<OutOfCoreRun> run_;
};

/// The run behind a scene whose store is an OutOfCoreStore.
[[nodiscard]] OutOfCoreRun& out_of_core_run(Scene const& scene);

}  // namespace stepscope::viewer
