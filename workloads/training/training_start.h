// What a data-parallel training begins with: memory that is enough, weights, and the same of all
// that counts in all processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/processes.h"
#include "workloads/training/checkpoint.h"
#include "workloads/training/data_parallel.h"

namespace stepscope::workloads {

/// Said before the weights are made on the host, which no memory limit holds back. Error: they do
/// not fit.
base::Expected<void> check_size(Device const& device, Network const& network, UpdateKind update,
                                size_t members);

/// Fresh weights, or those of --resume. Errors: those of resume_checkpoint().
base::Expected<Checkpoint> starting_point(TrainOptions const& options, Network const& network,
                                          int64_t global_batch);

/// Opens this process's devices, once all processes can, and agree on the training. Errors: those
/// of open_devices() and agree_on_training(), also of another process.
base::Expected<DeviceGroup> open_training_devices(TrainOptions const& options,
                                                  std::shared_ptr<mpi::Processes> const& processes,
                                                  Network const& network);

/// Error: the processes differ in what decides which steps, batches or collectives there are, or
/// what they compute. All must call it. `devices`: of this process.
base::Expected<void> agree_on_training(mpi::Processes& processes, TrainOptions const& options,
                                       Network const& network, size_t devices);
/// Error: they begin with different steps or weights.
base::Expected<void> agree_on_start(mpi::Processes& processes, int64_t first_step,
                                    uint64_t checksum);

}  // namespace stepscope::workloads
