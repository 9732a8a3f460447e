// The MNIST workload: TensorFlow's introductory convolutional network, trained synchronously
// data-parallel. See mnist.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "workloads/data/mnist_file.h"
#include "workloads/options.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

constexpr char const* kMnistDescription =
    "MNIST: a small convolutional network for digits, data-parallel (conv 32, conv 64, conv 64, fc "
    "64, softmax 10)";

/// Widths of the network; tests use smaller ones.
struct MnistWidths {
  int64_t conv1 = 32, conv2 = 64, conv3 = 64, fc1 = 64;
};

/// What --help shows, and what train_mnist() is meant for.
TrainOptions mnist_defaults();

/// Errors: wrong options, unreadable checkpoint, out of memory.
base::Expected<TrainingResult> train_mnist(TrainOptions const& options, MnistWidths const& widths,
                                           MnistDataSet const& data, std::FILE* log);

base::Expected<int> run_mnist(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
