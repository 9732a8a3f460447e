// unfused-attention: attention runs as two products of matrices with a softmax kernel between them,
// so that the whole matrix of scores goes to memory and back. No cost: what a fused kernel takes
// for the same work is not known, only that it is no more.
#include <algorithm>

#include "analyzer/metrics/work/kernel_roles.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/kernel_share.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

/// Below, softmax is one small kernel among many: a loss, a router, scores of few tokens.
constexpr LeastShares kLeastSoftmax{0.10, 0.10};
/// A softmax of the loss or of sampling comes once in a step; attention has one in every layer.
constexpr double kFewestLayers = 2;

bool is_attention(RuleInput const& input, KernelShare const& share) {
  DeviceRef const ref = share.device->ref;
  uint64_t products = 0, softmax = 0;

  for (KernelStats const& kernel : kernels_of(input, ref)) {
    if (is_fused_attention(kernel.name)) return false;
    if (is_matrix_product(kernel.name)) products += kernel.count;
    if (is_softmax(kernel.name)) softmax += kernel.count;
  }
  if (share.count_per_step < kFewestLayers || products < 2 * softmax) return false;

  auto const device = rows_of_device(input.facts.devices, ref);
  return device.empty() || device.front().is_softmax_between_products;
}

}  // namespace

void find_unfused_attention(RuleInput const& input, std::vector<Finding>& findings) {
  KernelShare const share = find_kernel_share(
      input, is_softmax, kLeastSoftmax,
      [&](KernelShare const& candidate) { return is_attention(input, candidate); });
  if (share.device != nullptr) findings.push_back(make_share_finding("unfused-attention", share));
}

}  // namespace stepscope::analyzer
