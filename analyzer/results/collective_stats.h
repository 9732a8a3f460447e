// Collectives and messages of the run, pipelines that they form, and the speed of links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/device_ref.h"
#include "trace/model/details.h"
#include "trace/model/ids.h"

namespace stepscope::analyzer {

/// The same collective on all its participants.
struct CollectiveStats {
  uint64_t communicator = 0, sequence = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t bytes = 0;
  uint32_t expected_participants = 0;
  struct Participant {
    DeviceRef ref;
    uint32_t row;
    Interval when;
    int64_t wait_ns;  ///< dur − transfer
    model::CollectiveOp op =
        model::CollectiveOp::kUnknown;  ///< its own: of a message, send or receive
    /// Exposed only because a peer came late: without late peers compute would hide it. At most
    /// wait_ns.
    int64_t exposed_late_ns = 0;
    int64_t exposed_transfer_ns = 0;  ///< the rest that no compute hides
    model::TrackId track;             ///< of the device's process
    int32_t rank = -1;                ///< in the communicator; < 0: unknown
  };
  std::vector<Participant> participants;  ///< by rank in the communicator
  int64_t transfer_ns = 0;                ///< the shortest participant's duration
  int64_t skew_ns = 0;                    ///< last start − first start
  int32_t last_participant = -1;          ///< index of the last arriver
  std::optional<double> busbw_gbps;  ///< none when a participant is missing or bytes are unknown
};

enum class PipelineSchedule : uint8_t { kUnknown, kGpipe, kOneForwardOneBackward };
/// "gpipe", "1f1b", "unknown".
char const* to_string(PipelineSchedule schedule);
/// Devices that pass micro-batches on to each other (DEFINITIONS, "Pipelines"); over the measured
/// steps.
struct PipelineStats {
  struct Stage {
    DeviceRef ref;
    int64_t total_ns = 0;    ///< Σ steps
    int64_t bubble_ns = 0;   ///< of total_ns: waiting for another stage
    int64_t compute_ns = 0;  ///< of total_ns
    uint64_t steps = 0;
    /// The mean of a sum over the steps.
    [[nodiscard]] int64_t per_step(int64_t sum_ns) const {
      return steps > 0 ? sum_ns / static_cast<int64_t>(steps) : sum_ns;
    }
    /// None without time.
    [[nodiscard]] std::optional<double> bubble_share() const {
      if (total_ns <= 0) return std::nullopt;
      return static_cast<double>(bubble_ns) / static_cast<double>(total_ns);
    }
  };
  std::vector<Stage> stages;  ///< the first stage first; at least two
  PipelineSchedule schedule = PipelineSchedule::kUnknown;
  uint32_t micro_batches = 0;  ///< of a step
  double bubble_share = 0;     ///< Σ bubble / Σ steps
  double ideal_share = 0;      ///< of equal stages and instant messages: (p − 1) / (m + p − 1)
  double imbalance = 1;        ///< compute of the stage with most / mean of all
};

/// How much longer steps of a pipeline take than if all its workers were equally fast (DEFINITIONS,
/// "Slowdown"). Step times are means over the steps. Each S is a step time over the one of equal
/// workers.
struct SlowdownStats {
  double s = 1;                   ///< with the recorded durations, without delays between them
  std::optional<double> m_stage;  ///< share of the loss that a faster last stage gets back; none
                                  ///< where there is no loss
  std::optional<double> m_slowest_stage;  ///< the same of the stage with the largest s
  std::optional<double> m_worker;         ///< the same of the slowest 3 % of the workers
  struct Stage {
    int32_t stage = 0;
    double s = 1;              ///< with this stage as recorded, all others equal
    double compute_ratio = 1;  ///< its compute time over the mean of all stages
  };
  std::vector<Stage> stages;  ///< by number
  struct DataRank {
    int32_t data_rank = 0;
    double s = 1;
  };
  std::vector<DataRank> data_ranks;  ///< by number
  struct Worker {
    DeviceRef ref;
    int32_t stage = 0, data_rank = 0, tensor_rank = 0;
    double s = 1;                   ///< the lesser one of its stage and its data rank
    bool is_among_slowest = false;  ///< m_worker speaks of it
  };
  std::vector<Worker> workers;  ///< by stage, data and tensor rank
  struct OperationType {
    std::string name;
    double s = 1;
  };
  std::vector<OperationType> operations;  ///< by s, descending

  uint64_t steps = 0, left_out_steps = 0;  ///< left out: workers did not do the same in them
  double recorded_step_ns = 0;             ///< first start to last end
  double step_ns = 0;                      ///< without delays
  double ideal_step_ns = 0;                ///< of equal workers
};

/// t = alpha + bytes / beta over collectives of one op and communicator.
struct LinkFit {
  uint64_t communicator = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  double alpha_us = 0, beta_gbps = 0, half_bandwidth_bytes = 0;
  uint32_t samples = 0;
};

}  // namespace stepscope::analyzer
