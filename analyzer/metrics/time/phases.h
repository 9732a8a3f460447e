// Named parts of the program as populations: forward, backward, optimizer, evaluate, checkpoint,
// the two networks of a GAN. How often each ran, and what the ops that it launched cost on each
// device (DEFINITIONS, "Phases").
//
// An op belongs to every phase that is open on its launching thread when its launch call begins.
// Where several phases of one name are open at that time, it belongs to the outermost. Phases are
// those of the annotation API. In a process that has none, they are ranges whose first word is a
// phase's: "forward", "Optimizer.step#SGD.step", "## backward ##".
#pragma once

#include <span>

#include "analyzer/metrics/time/device_time.h"

namespace stepscope::analyzer {

/// Rows of a device that name a phase; further ones together are one more. Programs that number
/// their phases ("batch 17") have any number of names.
inline constexpr size_t kMostPhases = 200;

/// True for range names by which programs mark phases.
bool is_phase_name(std::string_view name);

/// The phases of one process.
class ProcessPhases {
 public:
  /// `devices`: all of one process.
  explicit ProcessPhases(std::span<DeviceOps const> devices);

  /// The phases of one of these devices, by device time, then host time, both descending. `ops`:
  /// those of the device that count, by start. With `within`, phases that launched none of them
  /// count where they begin in it (run time, host); without it, all do. A phase without ops belongs
  /// to the device for which its thread launches most, else to the process's first.
  [[nodiscard]] std::vector<PhaseStats> of_device(DeviceOps const& device, DeviceSets const& sets,
                                                  std::vector<uint32_t> const& ops,
                                                  std::optional<Interval> within) const;

 private:
  struct Occurrence {
    Interval when;    ///< run time
    uint32_t name;    ///< place in names_
    uint32_t parent;  ///< the occurrence that was open as it began, kNone
  };
  struct Thread {
    std::vector<Occurrence> occurrences;  ///< by begin
    int32_t device = 0;                   ///< for which it launches most
  };
  class Sums;
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  /// Deeper ones are not looked at: programs that nest phases mean "step, micro-batch, forward,
  /// layer".
  static constexpr int kDeepest = 16;

  /// Collects the phases among the rows of these kinds.
  template <model::EventKind... Kinds, class IsPhase>
  void collect(model::RankTrace const& rank, IsPhase const& is_phase);
  void find_devices(std::span<DeviceOps const> devices);

  std::vector<Thread> threads_;  ///< by track
  std::vector<model::StringId> names_;
};

}  // namespace stepscope::analyzer
