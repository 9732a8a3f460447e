#include "analyzer/metrics/host/host_ops.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <vector>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

constexpr uint32_t kNoHostOp = std::numeric_limits<uint32_t>::max();

struct HostOpSum {
  IdleCause cause = IdleCause::kUnexplained;
  uint32_t name = kNoHostOp;  ///< string of the trace
  uint64_t gaps = 0;
  int64_t idle_ns = 0;
};

/// `names`: of the trace.
std::vector<HostOpSum> sum_host_ops(std::vector<IdleGap> const& gaps, size_t names) {
  constexpr uint32_t kNoPlace = std::numeric_limits<uint32_t>::max();
  std::vector<HostOpSum> sums;
  std::array<std::vector<uint32_t>, kIdleCauseCount>
      places;  // by cause and name, none the last; of causes that occur
  for (IdleGap const& gap : gaps) {
    uint32_t const name = gap.host_row.valid() ? gap.host_name.value : kNoHostOp;
    std::vector<uint32_t>& of_cause = places[static_cast<size_t>(gap.cause)];
    if (of_cause.empty()) of_cause.assign(names + 1, kNoPlace);
    uint32_t& place = of_cause[std::min<size_t>(name, names)];
    if (place == kNoPlace) {
      place = static_cast<uint32_t>(sums.size());
      sums.push_back({gap.cause, name, 0, 0});
    }
    HostOpSum& sum = sums[place];
    ++sum.gaps;
    add_saturated(sum.idle_ns, gap.when.length());
  }
  return sums;
}

}  // namespace

std::vector<HostOpStats> host_op_table(DeviceOps const& device, std::vector<IdleGap> const& gaps) {
  model::Trace const& trace = device.trace();
  std::vector<HostOpSum> sums = sum_host_ops(gaps, trace.strings().size());
  auto const text = [&](HostOpSum const& sum) {
    return sum.name == kNoHostOp ? std::string_view() : trace.text(model::StringId{sum.name});
  };
  std::sort(sums.begin(), sums.end(), [&](HostOpSum const& a, HostOpSum const& b) {
    bool const a_none = a.name == kNoHostOp, b_none = b.name == kNoHostOp;
    return std::tuple(a_none, -a.idle_ns, a.cause, text(a)) <
           std::tuple(b_none, -b.idle_ns, b.cause, text(b));
  });
  std::vector<HostOpStats> result;
  std::array<HostOpStats, kIdleCauseCount> rest;
  for (size_t i = 0; i < sums.size(); ++i) {
    HostOpSum const& sum = sums[i];
    bool const is_named = sum.name != kNoHostOp;
    if (is_named && i >= kMostHostOps) {
      HostOpStats& of_cause = rest[static_cast<size_t>(sum.cause)];
      ++of_cause.names;
      of_cause.gaps += sum.gaps;
      add_saturated(of_cause.idle_ns, sum.idle_ns);
      continue;
    }
    result.push_back({device.ref, sum.cause,
                      is_named ? std::optional(std::string(text(sum))) : std::nullopt,
                      is_named ? uint64_t{1} : 0, sum.gaps, sum.idle_ns});
  }
  for (size_t cause = 0; cause < rest.size(); ++cause) {
    if (rest[cause].names == 0) continue;
    rest[cause].ref = device.ref;
    rest[cause].cause = static_cast<IdleCause>(cause);
    result.push_back(std::move(rest[cause]));
  }
  return result;
}

}  // namespace stepscope::analyzer
