// Pipelines of devices that pass micro-batches on to each other, and the time in which their stages
// wait for one another (DEFINITIONS, "Pipelines").
//
// Devices that send to and receive from each other are neighbours; a pipeline is a chain of
// neighbours, each device with one or two of them. On every boundary as many messages go one way as
// the other in a step. One of its sides answers: its n-th message of a step begins after the n-th
// of the other has come. The answering side is the later stage. Chains without a clear answering
// side, rings and meshes (attention over rings, halo exchange, all-to-all) are no pipelines. O(n
// log n).
#pragma once

#include <optional>
#include <vector>

#include "analyzer/metrics/communication/wait_attribution.h"

namespace stepscope::analyzer {

class PipelineFinder {
 public:
  /// `collectives`: of all ranks; must outlive this.
  explicit PipelineFinder(std::vector<CollectiveStats> const& collectives);

  /// When a device waits in collectives with another one of its chain; none where it is in no
  /// chain.
  [[nodiscard]] std::optional<std::vector<Interval>> waits_of(DeviceRef ref) const;
  /// `bubble`: find_bubble() of the device's waits.
  void add_device(DeviceRef ref, model::IntervalSet bubble);

  /// The pipelines whose stages were all added and have measured steps (`measured`: by ref). Sorted
  /// by first stage.
  [[nodiscard]] std::vector<PipelineStats> find(std::vector<MeasuredTime> const& measured) const;

 private:
  /// The messages of two devices, a < b: places in collectives_.
  struct Boundary {
    DeviceRef a, b;
    std::vector<uint32_t> from_a, from_b;
  };
  struct Member {
    DeviceRef ref;
    uint32_t chain = 0;
    std::vector<Interval> waits;  ///< in collectives with another device of the chain
    model::IntervalSet bubble;    ///< when it waits for another stage; of a device that was added
  };
  /// What the messages over a boundary show.
  struct Crossing {
    bool is_forward = false;  ///< towards the second of the two devices
    uint32_t micro_batches = 0;
    bool is_one_by_one = false;  ///< gradients came before the last activations had gone
  };

  [[nodiscard]] Boundary const* find_boundary(DeviceRef x, DeviceRef y) const;
  [[nodiscard]] Member const* find_member(DeviceRef ref) const;
  void find_boundaries();
  void find_chains();
  void find_waits();
  [[nodiscard]] std::optional<Crossing> cross(MeasuredTime const& first,
                                              MeasuredTime const& second) const;
  [[nodiscard]] std::optional<PipelineStats> judge(std::vector<DeviceRef> chain,
                                                   std::vector<MeasuredTime> const& measured) const;

  std::vector<CollectiveStats> const& collectives_;
  std::vector<Boundary> boundaries_;  ///< by (a, b), those with messages both ways
  std::vector<std::vector<DeviceRef>> chains_;
  std::vector<Member> members_;  ///< by ref
};

/// When a device waits for other stages. `waits`: PipelineFinder::waits_of(); `gaps`: by time,
/// disjoint; `trace`: of its process.
model::IntervalSet find_bubble(std::vector<Interval> waits, DeviceSets const& sets,
                               std::vector<IdleGap> const& gaps, model::Trace const& trace);

/// Share of a step in which a stage of p equal ones waits, with m micro-batches and instant
/// messages: (p − 1) / (m + p − 1).
double ideal_bubble(size_t stages, uint32_t micro_batches);

}  // namespace stepscope::analyzer
