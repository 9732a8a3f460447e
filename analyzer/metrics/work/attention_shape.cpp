#include "analyzer/metrics/work/attention_shape.h"

#include <optional>
#include <vector>

#include "analyzer/metrics/work/kernel_roles.h"

namespace stepscope::analyzer {
namespace {

/// Between a softmax and its products there are a scale, a mask, a cast, a dropout and copies, and
/// seldom more.
constexpr uint32_t kFarthestProduct = 6;
/// So many softmax kernels are looked at: a network repeats its layers.
constexpr size_t kMostLookedAt = 1'000;
/// Softmax that has its products: most, for the first and the last of a recording lack them.
constexpr double kLeastBetween = 0.5;

/// Asks once a name what its kernels do.
class RoleOfName {
 public:
  using Test = bool (*)(std::string_view);
  RoleOfName(model::Trace const& trace, Test test) : trace_(trace), test_(test) {
    answers_.resize(trace.strings().size());
  }

  bool operator()(uint32_t row) {
    if (trace_.kind(row) != model::EventKind::kKernel) return false;
    model::StringId const name = trace_.columns().name[row];
    std::optional<bool>& answer = answers_[name.value];
    if (!answer) answer = test_(trace_.text(name));
    return *answer;
  }

 private:
  model::Trace const& trace_;
  Test test_;
  std::vector<std::optional<bool>> answers_;  ///< by string
};

/// Whether a product is among the few ops next to the row of its stream, in the direction.
bool is_near_product(RoleOfName& is_product, model::Trace::Rows rows, uint32_t row, bool before) {
  for (uint32_t i = 1; i <= kFarthestProduct; ++i) {
    if (before ? row < rows.first + i : row + i >= rows.last) return false;
    if (is_product(before ? row - i : row + i)) return true;
  }
  return false;
}

}  // namespace

bool is_softmax_between_products(model::Trace const& trace, int32_t device) {
  RoleOfName is_softmax_row(trace, is_softmax), is_product(trace, is_matrix_product);
  size_t seen = 0, between = 0;

  for (uint32_t t = 0; t < trace.tracks().size() && seen < kMostLookedAt; ++t) {
    model::Track const& track = trace.tracks()[t];
    if (track.kind != model::TrackKind::kStream || track.device != device) continue;

    model::Trace::Rows const rows = trace.rows_of(model::TrackId{t});
    for (uint32_t row = rows.first; row < rows.last && seen < kMostLookedAt; ++row) {
      if (!is_softmax_row(row)) continue;
      ++seen;
      if (is_near_product(is_product, rows, row, true) &&
          is_near_product(is_product, rows, row, false))
        ++between;
    }
  }

  return seen == 0 || static_cast<double>(between) >= kLeastBetween * static_cast<double>(seen);
}

}  // namespace stepscope::analyzer
