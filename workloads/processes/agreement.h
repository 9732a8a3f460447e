// Processes end a training after the same step, and have the same weights: notes that each sends to the others between steps. A
// note is read a step later, when it has long arrived, so that agreeing costs no waiting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/processes/processes.h"

namespace stepscope::workloads {

class Agreement {
 public:
  explicit Agreement(Processes& processes) : processes_(processes) {}

  struct Note {
    int64_t wants_end = 0;
    int64_t checked_step = -1;  ///< the latest after which the weights were looked at
    uint64_t checksum = 0;      ///< of them
  };
  /// Before each step. True: end now, in every process, because one of them wanted it before the previous step, or is gone.
  bool ends(Note const& mine);
  /// After the last step: each process's reason to fail, if it has one. All must call it.
  std::vector<std::string> conclude(std::optional<std::string> const& failure);
  /// The weights of two processes differed: which, and after which step. As of the notes that were read.
  [[nodiscard]] std::optional<std::string> const& difference() const { return difference_; }

 private:
  /// True when one of them wants to end.
  bool read_notes();

  Processes& processes_;
  std::optional<Note> sent_;  ///< whose answers were not read yet
  std::optional<std::string> difference_;
};

}  // namespace stepscope::workloads
