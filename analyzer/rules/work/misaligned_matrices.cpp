// misaligned-matrices: products run in kernels for rows that begin at odd addresses, since a size
// is no multiple of 8 (16 bytes in half precision). They load one or two elements at once. No cost:
// what aligned kernels would take is not known.
#include "analyzer/metrics/work/kernel_roles.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/kernel_share.h"

namespace stepscope::analyzer {
namespace {

/// Padding changes shapes in the model's code: worth it where these kernels are a good part of the
/// work.
constexpr LeastShares kLeastMisaligned{0.10, 0.10};

}  // namespace

void find_misaligned_matrices(RuleInput const& input, std::vector<Finding>& findings) {
  KernelShare const share = find_kernel_share(input, is_misaligned_product, kLeastMisaligned,
                                              [](KernelShare const&) { return true; });
  if (share.device != nullptr) findings.push_back(make_share_finding("misaligned-matrices", share));
}

}  // namespace stepscope::analyzer
