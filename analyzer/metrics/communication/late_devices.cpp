#include "analyzer/metrics/communication/late_devices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

bool have_same_cause(WaitStats const& a, WaitStats const& b) {
  return a.cause == b.cause && (a.cause != WaitCause::kIdle || a.idle == b.idle);
}

void add_exposed_part(std::vector<LateDevice::Part>& parts, WaitStats const& row) {
  auto const known = std::find_if(parts.begin(), parts.end(), [&](LateDevice::Part const& part) {
    return have_same_cause(*part.first, row);
  });
  if (known == parts.end())
    parts.push_back({&row, row.exposed_ns});
  else
    add_saturated(known->exposed_ns, row.exposed_ns);
}

}  // namespace

std::vector<LateDevice> late_devices(Analysis const& analysis) {
  std::map<DeviceRef, LateDevice> by_ref;

  // Analysis::waits has the largest exposed time first: so is the first row of a device.
  for (WaitStats const& row : analysis.waits) {
    LateDevice& late = by_ref[row.ref];
    late.ref = row.ref;
    add_saturated(late.gpu_ns, row.gpu_ns);
    add_saturated(late.exposed_ns, row.exposed_ns);
    if (late.most == nullptr) late.most = &row;
    add_exposed_part(late.parts, row);
  }

  int64_t all_ns = 0;
  for (auto const& [ref, late] : by_ref) add_saturated(all_ns, late.exposed_ns);

  std::vector<LateDevice> result;
  for (auto& [ref, late] : by_ref) {
    if (all_ns > 0) late.share = static_cast<double>(late.exposed_ns) / static_cast<double>(all_ns);
    result.push_back(std::move(late));
  }
  std::stable_sort(result.begin(), result.end(), [](LateDevice const& a, LateDevice const& b) {
    return a.exposed_ns != b.exposed_ns ? a.exposed_ns > b.exposed_ns : a.gpu_ns > b.gpu_ns;
  });
  return result;
}

}  // namespace stepscope::analyzer
