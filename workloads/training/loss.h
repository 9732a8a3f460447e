// Softmax with cross entropy over a batch: two operations, a row each and their sum.
#pragma once

#include "workloads/backend/backend.h"

namespace stepscope::workloads {

struct CrossEntropyLoss {
  int64_t rows, classes;
  float const* logits;    ///< [rows][classes]
  int32_t const* labels;  ///< [rows]; negative: the row counts for nothing
  float* d_logits;        ///< ← d mean loss / d logits
  float* row_results;     ///< [rows][2], scratch
  float* result;  ///< ← mean loss over `rows`, number of rows whose largest logit is the label's
};

inline void softmax_cross_entropy(Device& device, CrossEntropyLoss const& l) {
  float const scale = 1.0F / static_cast<float>(l.rows);
  device.run_rows(
      "softmax.loss",
      rowwise::CrossEntropy{l.classes, l.logits, l.labels, l.d_logits, l.row_results, scale},
      l.rows);
  device.run_rows("softmax.loss.sum", rowwise::SumOfPairs{l.rows, l.row_results, l.result, scale},
                  1);
}

}  // namespace stepscope::workloads
