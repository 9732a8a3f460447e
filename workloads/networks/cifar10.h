// The CIFAR-10 workload: the TensorFlow tutorial's convolutional network, trained data-parallel.
// See cifar10.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "workloads/data/cifar10_file.h"
#include "workloads/options.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

constexpr char const* kCifar10Description =
    "CIFAR-10: the TensorFlow tutorial's convolutional network, data-parallel (conv 64, conv 64, "
    "fc 384, fc 192, softmax 10)";

/// Widths of the network; tests use smaller ones.
struct Cifar10Widths {
  int64_t conv = 64, fc1 = 384, fc2 = 192;
};

/// Errors: wrong options, unreadable data or checkpoint, out of memory.
base::Expected<TrainingResult> train_cifar10(TrainOptions const& options,
                                             Cifar10Widths const& widths, CifarDataSet const& data,
                                             std::FILE* log);

/// Weights shared by all devices, without waiting: --mode async. Errors: options that need all
/// devices at the same step.
base::Expected<void> make_asynchronous(TrainOptions& options);

base::Expected<int> run_cifar10(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
