#include "reports/text/top_kernels.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/metrics/core/saturate.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

constexpr size_t kMostKernels = 3;

struct KernelSum {
  std::string_view name;
  int64_t total_ns = 0;
  uint64_t count = 0;
};

/// Kernels by their time on all devices, the longest first.
std::vector<KernelSum> sums_by_name(analyzer::Analysis const& analysis) {
  std::map<std::string_view, KernelSum> by_name;
  for (analyzer::KernelStats const& kernel : analysis.kernels) {
    if (kernel.kind != model::EventKind::kKernel && kernel.kind != model::EventKind::kCollective)
      continue;
    KernelSum& sum = by_name[kernel.name];
    sum.name = kernel.name;
    analyzer::add_saturated(sum.total_ns, kernel.total_ns);
    analyzer::add_saturated(sum.count, kernel.count);
  }

  std::vector<KernelSum> sums;
  for (auto const& [name, sum] : by_name) sums.push_back(sum);
  std::stable_sort(sums.begin(), sums.end(),
                   [](KernelSum const& a, KernelSum const& b) { return a.total_ns > b.total_ns; });
  return sums;
}

}  // namespace

std::string top_kernels_text(analyzer::Analysis const& analysis, Paint const& paint, int width) {
  std::vector<KernelSum> const sums = sums_by_name(analysis);
  int64_t all_ns = 0;
  for (KernelSum const& sum : sums) analyzer::add_saturated(all_ns, sum.total_ns);
  if (all_ns <= 0) return {};

  std::vector<std::vector<std::string>> rows = {{"total", "share", "count"}};
  std::vector<std::string> names = {"kernel"};
  for (size_t i = 0; i < std::min(sums.size(), kMostKernels); ++i) {
    double const share = static_cast<double>(sums[i].total_ns) / static_cast<double>(all_ns);
    rows.push_back({base::format_duration(sums[i].total_ns), base::format_share(share),
                    base::format_count(sums[i].count)});
    names.emplace_back(sums[i].name.empty() ? "without a name" : sums[i].name);
  }

  return "\n" +
         wrapped(
             "Kernels with most time, over the devices above and the warm-up, too "
             "(stepscope top lists more):",
             width, "  ", "  ") +
         aligned_before_names(rows, names, paint, width);
}

}  // namespace stepscope::reports
