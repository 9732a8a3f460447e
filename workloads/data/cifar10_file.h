// The CIFAR-10 binary format (https://www.cs.toronto.edu/~kriz/cifar.html): records of 3,073 bytes,
// a label (0-9) and 3 × 32 × 32 pixels, red plane first. Train: data_batch_1.bin …
// data_batch_5.bin; test: test_batch.bin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::workloads {

constexpr size_t kCifarSide = 32;
constexpr size_t kCifarPlane = kCifarSide * kCifarSide;
constexpr size_t kCifarPixels = 3 * kCifarPlane;
constexpr size_t kCifarRecord = 1 + kCifarPixels;
constexpr int kCifarClasses = 10;

struct CifarImages {
  std::vector<uint8_t> records;  ///< whole records, as in the files

  [[nodiscard]] size_t size() const { return records.size() / kCifarRecord; }
  [[nodiscard]] int32_t label(size_t i) const { return records[i * kCifarRecord]; }
  /// Red, green and blue plane, row by row.
  [[nodiscard]] std::span<uint8_t const, kCifarPixels> pixels(size_t i) const {
    return std::span<uint8_t const, kCifarPixels>(records.data() + i * kCifarRecord + 1,
                                                  kCifarPixels);
  }
};
struct CifarDataSet {
  CifarImages train, test;
};

/// Appends the file's records. Errors: missing or empty file, not a whole number of records, a
/// label above 9.
base::Expected<void> read_cifar_file(std::string const& path, CifarImages& images);
/// Reads the six files of `folder`, or of its subfolder cifar-10-batches-bin.
base::Expected<CifarDataSet> read_cifar_folder(std::string const& folder);

/// The training files' names; the test file's.
std::vector<std::string> cifar_train_files();
constexpr char const* kCifarTestFile = "test_batch.bin";

}  // namespace stepscope::workloads
