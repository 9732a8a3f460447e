// One result of a training from those of its processes: losses, times, counts and checksums of all
// devices, by rank.
#pragma once

#include "mpi/processes.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

/// Every process gets the whole result, but for the weights: each keeps those of its own devices.
/// `correct`: summed up. Without a change when a process is gone. All processes must call it, with
/// as many devices and steps each.
void merge_results(mpi::Processes& processes, TrainingResult& result, int64_t& correct);

}  // namespace stepscope::workloads
