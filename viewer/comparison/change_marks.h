// How a device op's kernel or collective changed between two runs, as a colour says it: the
// verdicts and the relative changes of a call are analyzer::Comparison's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "trace/model/details.h"
#include "viewer/comparison/change_mark.h"
#include "viewer/widgets/theme.h"

namespace stepscope::viewer {

/// The colour of a metric's change, where less is better.
ChangeMark mark_of(analyzer::Metric const& metric);
/// Blue is faster, orange slower, told apart with any kind of colour blindness; stronger = more.
uint32_t mark_colour(ChangeMark mark, Theme theme);
/// Only the new run has it, or only the base.
[[nodiscard]] inline bool is_of_one_side(ChangeMark mark) {
  return mark == ChangeMark::kNew || mark == ChangeMark::kVanished;
}
/// "<−20 %", "same", "only in new": as the legend has it.
char const* mark_words(ChangeMark mark);

/// What is known of every kernel and collective of a comparison.
class ChangeMarks {
 public:
  ChangeMarks() = default;
  explicit ChangeMarks(analyzer::Comparison const& comparison);

  /// `name`: as the trace has it.
  [[nodiscard]] ChangeMark of_kernel(std::string_view name) const;
  [[nodiscard]] ChangeMark of_collective(model::CollectiveOp op, uint64_t bytes) const;

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, ChangeMark, TextHash, std::equal_to<>> kernels_;
  struct Collective {
    std::string op;
    uint64_t bytes = 0;
    ChangeMark mark = ChangeMark::kUnknown;
  };
  std::vector<Collective> collectives_;  ///< few
};

}  // namespace stepscope::viewer
