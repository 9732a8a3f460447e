// Processes train with the same settings, end after the same step, and have the same weights:
// settings are compared once, notes go from each to the others between steps. A note is read a step
// later, when it has long arrived, so that agreeing costs no waiting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi/processes.h"
#include "trace/base/expected.h"

namespace stepscope::workloads {

struct Setting {
  std::string name;  ///< "--batch"
  std::string value;
};
/// Error: another process has another value. The same on all: of the first process that differs
/// from rank 0. All must call it, with the same names in the same order.
base::Expected<void> agree_on_settings(mpi::Processes& processes, std::vector<Setting> const& mine);

class Agreement {
 public:
  explicit Agreement(mpi::Processes& processes) : processes_(processes) {}

  struct Note {
    int64_t wants_end = 0;
    int64_t checked_step = -1;  ///< the latest after which the weights were looked at
    uint64_t checksum = 0;      ///< of them
  };
  /// Before each step. True: end now, in every process, because one of them wanted it before the
  /// previous step, or is gone.
  bool ends(Note const& mine);
  /// How the steps went.
  struct End {
    bool interrupted = false;
    std::optional<std::string> failure;
    int64_t failed_step = -1;   ///< of the failure
    int64_t checked_step = -1;  ///< as in a note
    uint64_t checksum = 0;
  };
  /// After the last step, what all have in common: whether one was interrupted, and the earliest
  /// failure, which may be that their weights differ. The same on all; this process's own when
  /// another one is gone. All must call it.
  End conclude(End const& mine);
  /// The weights of two processes differed: which, and after which step. As of the notes that were
  /// read.
  [[nodiscard]] std::optional<std::string> const& difference() const { return difference_; }

 private:
  /// True when one of them wants to end.
  bool read_notes();

  mpi::Processes& processes_;
  std::optional<Note> sent_;  ///< whose answers were not read yet
  std::optional<std::string> difference_;
  int64_t difference_step_ = -1;
};

}  // namespace stepscope::workloads
