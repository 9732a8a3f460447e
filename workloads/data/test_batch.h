// A batch of a test set in host memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "workloads/data/random.h"
#include "workloads/data/samples.h"

namespace stepscope::workloads {

/// A batch of the test set in host memory.
struct TestBatch {
  TestBatch(Samples const& from, size_t samples)
      : test(from),
        size(samples),
        inputs(samples * from.input_bytes()),
        labels(samples * from.label_bytes()) {}

  /// Samples first..first + size − 1; those behind the last one do not count.
  void fill(size_t first) {
    for (size_t i = 0; i < size; ++i) {
      std::byte* const label = labels.data() + i * test.label_bytes();
      if (first + i < test.size()) {
        test.prepare(first + i, Random(0), inputs.data() + i * test.input_bytes(), label);
      } else {
        std::memset(label, 0xFF, test.label_bytes());  // int32 −1
      }
    }
  }

  Samples const& test;
  size_t size;
  std::vector<std::byte> inputs, labels;
};

}  // namespace stepscope::workloads
