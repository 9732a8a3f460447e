// Which function of the program a host event was called by, where a profiler recorded calls of
// Python functions (with_stack).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/model/trace.h"

namespace stepscope::analyzer {

/// Whether a function of this name belongs to the program: "train.py(88): train". Functions of
/// PyTorch and of Python's own library do not, and functions without a file.
bool is_own_function(std::string_view name);

/// The callers in one process. `trace` must outlive it.
class Callers {
 public:
  /// O(strings).
  explicit Callers(model::Trace const& trace);

  /// The innermost function of the program around a host event. Invalid where none was recorded,
  /// and for the program's functions themselves. O(events of its thread) once, where functions were
  /// recorded at all.
  [[nodiscard]] model::StringId caller_of(uint32_t row);

 private:
  struct Thread {
    bool is_known = false;
    std::vector<model::StringId> of_row;  ///< from the thread's first row on
  };
  void find(model::TrackId thread);

  model::Trace const& trace_;
  std::vector<bool> is_own_;     ///< by string; empty: no function of the program was recorded
  std::vector<Thread> threads_;  ///< by track
};

}  // namespace stepscope::analyzer
