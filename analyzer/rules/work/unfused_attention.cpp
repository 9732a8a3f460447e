// unfused-attention: attention runs as two products of matrices with a softmax kernel between them,
// so that the whole matrix of scores goes to memory and back. No cost: what a fused kernel takes
// for the same work is not known, only that it is no more.
#include <algorithm>

#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/kernel_roles.h"
#include "analyzer/rules/work/kernel_share.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

/// Below, softmax is one small kernel among many: a loss, a router, scores of few tokens.
constexpr LeastShares kLeastSoftmax{0.10, 0.10};
/// A softmax of the loss or of sampling comes once in a step; attention has one in every layer.
constexpr double kFewestLayers = 2;
/// Between a softmax and its products there are a scale, a mask, a cast, a dropout and copies, and
/// seldom more.
constexpr uint32_t kFarthestProduct = 6;
/// So many softmax kernels are looked at: a network repeats its layers.
constexpr size_t kMostLookedAt = 1'000;
/// Softmax that has its products: most, for the first and the last of a recording lack them.
constexpr double kLeastBetween = 0.5;

/// Whether a product is among the few ops next to the row of its stream, in the direction.
bool is_near_product(model::Trace const& trace, model::Trace::Rows rows, uint32_t row,
                     bool before) {
  for (uint32_t i = 1; i <= kFarthestProduct; ++i) {
    if (before ? row < rows.first + i : row + i >= rows.last) return false;
    uint32_t const other = before ? row - i : row + i;
    if (trace.kind(other) == model::EventKind::kKernel && is_matrix_product(trace.name(other)))
      return true;
  }
  return false;
}

/// Whether most softmax kernels of the device stand between products. Outlines of long recordings
/// have no kernels: true.
bool is_between_products(model::Trace const& trace, DeviceRef ref) {
  size_t seen = 0, between = 0;
  for (uint32_t t = 0; t < trace.tracks().size() && seen < kMostLookedAt; ++t) {
    model::Track const& track = trace.tracks()[t];
    if (track.kind != model::TrackKind::kStream || track.device != ref.device) continue;

    model::Trace::Rows const rows = trace.rows_of(model::TrackId{t});
    for (uint32_t row = rows.first; row < rows.last && seen < kMostLookedAt; ++row) {
      if (trace.kind(row) != model::EventKind::kKernel || !is_softmax(trace.name(row))) continue;
      ++seen;
      if (is_near_product(trace, rows, row, true) && is_near_product(trace, rows, row, false))
        ++between;
    }
  }

  return seen == 0 || static_cast<double>(between) >= kLeastBetween * static_cast<double>(seen);
}

bool is_attention(RuleInput const& input, KernelShare const& share) {
  DeviceRef const ref = share.device->ref;
  uint64_t products = 0, softmax = 0;
  for (KernelStats const& kernel : kernels_of(input, ref)) {
    if (is_fused_attention(kernel.name)) return false;
    if (is_matrix_product(kernel.name)) products += kernel.count;
    if (is_softmax(kernel.name)) softmax += kernel.count;
  }
  if (share.count_per_step < kFewestLayers || products < 2 * softmax) return false;
  return is_between_products(input.run.ranks[static_cast<size_t>(ref.rank_index)].trace, ref);
}

}  // namespace

void find_unfused_attention(RuleInput const& input, std::vector<Finding>& findings) {
  KernelShare const share = find_kernel_share(
      input, is_softmax, kLeastSoftmax,
      [&](KernelShare const& candidate) { return is_attention(input, candidate); });
  if (share.device != nullptr) findings.push_back(make_share_finding("unfused-attention", share));
}

}  // namespace stepscope::analyzer
