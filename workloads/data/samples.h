// A data set as the input pipeline sees it: numbered samples, each a fixed number of bytes of input
// and of label.
#pragma once

#include <cstddef>

#include "workloads/data/random.h"

namespace stepscope::workloads {

class Samples {
 public:
  virtual ~Samples() = default;
  [[nodiscard]] virtual size_t size() const = 0;
  [[nodiscard]] virtual size_t input_bytes() const = 0;  ///< of one sample
  [[nodiscard]] virtual size_t label_bytes()
      const = 0;  ///< of one sample; 0 = the set has no labels
  /// What a device gets of sample `i`; `random` is the sample's own in this epoch. Called from
  /// several threads at once.
  virtual void prepare(size_t i, Random random, std::byte* input, std::byte* label) const = 0;
};

}  // namespace stepscope::workloads
