// Which change of a replay stands for the remedy of a finding.
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "analyzer/whatif/whatif.h"

namespace stepscope::analyzer {
namespace {

/// What a finding's remedy does, as one would write it; or why no replay shows it.
struct RemedyRow {
  std::string_view rule, change, reason;
};
constexpr std::array kRemedies = {
    RemedyRow{"input-bound", "input=0", ""},
    RemedyRow{"host-bound-launches", "launch=0", ""},
    RemedyRow{"launch-latency", "launch=0", ""},
    RemedyRow{"blocking-sync", "sync=off", ""},
    RemedyRow{"allocation-in-step", "alloc=0", ""},
    RemedyRow{"load-imbalance", "imbalance=mean", ""},
    RemedyRow{"exposed-communication", "overlap", ""},
    RemedyRow{"pageable-copies", "copies=0", ""},
    RemedyRow{"serialized-copies", "copies=0", ""},
    RemedyRow{"small-buckets", "", "how buckets merge is not predicted yet"},
    RemedyRow{"tensor-cores-unused", "", "how long kernels take in another form is not recorded"},
    RemedyRow{"small-grids", "", "how long kernels take in another form is not recorded"},
    RemedyRow{"pipeline-bubble", "", "other numbers of micro-batches are not predicted yet"},
};

}  // namespace

Remedy remedy_of(Finding const& finding, model::Run const& run) {
  std::string text;
  if (finding.rule == "straggler" && finding.where) {
    auto const rank_index = static_cast<size_t>(finding.where->rank_index);
    int32_t const rank = run.ranks[rank_index].trace.info().rank;
    text = fmt::format("straggler={}", run.ranks.size() == 1 ? finding.where->device : rank);
  }

  for (RemedyRow const& row : kRemedies) {
    if (row.rule != finding.rule) continue;
    if (row.change.empty()) return {{}, std::string(row.reason)};
    text = row.change;
  }
  if (text.empty()) return {};

  for (auto const& [name, value] : finding.metrics)
    if (name == "busy_share")
      return {
          {},
          fmt::format("the device is busy for {:.1f} % of its time: the recording does not show "
                      "what would limit the program",
                      value * 100)};

  auto change = parse_change(text);
  if (!change) return {{}, change.error().message};
  return {{std::move(*change)}, {}};
}

}  // namespace stepscope::analyzer
