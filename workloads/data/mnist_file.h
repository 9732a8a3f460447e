// The MNIST files (http://yann.lecun.com/exdb/mnist): the IDX format, big-endian 32-bit words.
// Images: magic 2051, count, rows, columns, then a byte a pixel, 0 = background. Labels: magic
// 2049, count, then a byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::workloads {

constexpr size_t kMnistSide = 28;
constexpr size_t kMnistPixels = kMnistSide * kMnistSide;
constexpr int kMnistClasses = 10;

struct MnistImages {
  std::vector<uint8_t> pixels;  ///< [size][28][28]
  std::vector<uint8_t> labels;  ///< [size]

  [[nodiscard]] size_t size() const { return labels.size(); }
  [[nodiscard]] int32_t label(size_t i) const { return labels[i]; }
  [[nodiscard]] std::span<uint8_t const, kMnistPixels> image(size_t i) const {
    return std::span<uint8_t const, kMnistPixels>(pixels.data() + i * kMnistPixels, kMnistPixels);
  }
};
struct MnistDataSet {
  MnistImages train, test;
};

/// Errors of both: missing, empty, compressed or cut file, other magic, images that are not 28 ×
/// 28, a label above 9.
base::Expected<std::vector<uint8_t>> read_mnist_images(std::string const& path);
base::Expected<std::vector<uint8_t>> read_mnist_labels(std::string const& path);
/// Reads the four files of `folder`, or of its subfolder MNIST/raw (as torchvision unpacks them).
/// Errors also: not as many labels as images.
base::Expected<MnistDataSet> read_mnist_folder(std::string const& folder);

/// The four files' names as they are distributed; "train-images.idx3-ubyte" is read too.
struct MnistNames {
  char const *images, *labels;
};
constexpr MnistNames kMnistTrain = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
constexpr MnistNames kMnistTest = {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/// The content of the two files.
std::string encode_mnist_images(MnistImages const& images);
std::string encode_mnist_labels(MnistImages const& images);

}  // namespace stepscope::workloads
