#include "trace/import/formats/xplane/async_ops.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <string_view>

namespace stepscope::import {

std::vector<AsyncOp> pair_async_ops(std::vector<AsyncOp> ops,
                                    std::vector<EventMetadata> const& metadata) {
  std::stable_sort(ops.begin(), ops.end(),
                   [](AsyncOp const& a, AsyncOp const& b) { return a.start < b.start; });

  std::vector<AsyncOp> whole;
  std::map<std::string_view, std::deque<size_t>> open;  // begins, as places in `whole`

  for (AsyncOp const& op : ops) {
    EventMetadata const& what = metadata[op.name];
    if (what.op.phase != OpPhase::kDone) {
      if (what.op.phase == OpPhase::kStart) {
        auto& begins = open[xla_opcode(what.name)];
        if (begins.size() == kMostLanes) begins.pop_front();  // will not end any more
        begins.push_back(whole.size());
      }
      whole.push_back(op);
      continue;
    }

    auto& begins = open[xla_opcode(what.name)];
    auto const number = xla_op_number(what.name);
    auto match = std::find_if(begins.begin(), begins.end(), [&](size_t at) {
      return xla_op_number(metadata[whole[at].name].name) == number;
    });

    if (match == begins.end()) match = begins.begin();
    if (match == begins.end()) {
      whole.push_back(op);
      continue;
    }

    whole[*match].end = std::max(whole[*match].end, op.end);
    begins.erase(match);
  }

  return whole;
}

void add_transfers(std::vector<AsyncOp>& line, std::vector<AsyncOp> const& parts,
                   std::vector<EventMetadata> const& metadata) {
  auto const is_transfer = [&](AsyncOp const& op) {
    std::string_view const opcode = xla_opcode(metadata[op.name].name);
    return opcode == "send" || opcode == "recv";
  };
  if (std::any_of(line.begin(), line.end(), is_transfer)) return;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(line), is_transfer);
}

size_t free_lane(std::vector<int64_t>& ends, AsyncOp const& op) {
  auto found = std::find_if(ends.begin(), ends.end(), [&](int64_t end) { return end <= op.start; });
  if (found == ends.end()) {
    if (ends.size() < kMostLanes) ends.push_back(INT64_MIN);
    found = std::prev(ends.end());
  }
  *found = std::max(*found, op.end);
  return static_cast<size_t>(found - ends.begin());
}

}  // namespace stepscope::import
