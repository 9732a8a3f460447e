// What a recording says of process groups in addition to its calls, as facts of TraceInfo, which
// people read, too. It names the ranks of a group and how many of its calls the process counted. A
// process may be in a group without a call in the recording.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/trace.h"

namespace stepscope::model {

/// Longer lists make no fact.
inline constexpr size_t kMostGroupMembers = 4096;

/// `group`: "group 72 (EXPERT_MODEL_PARALLEL_GROUP)". The track of its calls, and the names of its
/// facts.
std::string group_calls_name(std::string_view group);
std::string group_ranks_fact(std::string_view group);
std::string group_counts_fact(std::string_view group);

/// "0, 2, 8-15", in the group's order; and back, empty when it is no such text.
std::string group_ranks_text(std::span<int32_t const> ranks);
std::vector<int32_t> parse_group_ranks(std::string_view text);

/// The highest sequence numbers, as the process counted them.
struct GroupCounts {
  uint64_t called = 0, completed = 0;
};
std::string group_counts_text(GroupCounts const& counts);

/// The group of a track that group_calls_name() named; empty for others.
std::string_view group_of_calls(std::string_view track_name);
/// Name of the fact that says which error ended the process's use of its GPU.
inline constexpr char const* kFatalErrorFact = "CUDA error";

/// A fact's value; empty when it is not there.
std::string_view fact_of(TraceInfo const& info, std::string_view name);
/// Nothing when the process does not say.
std::optional<GroupCounts> group_counts_of(TraceInfo const& info, std::string_view group);

}  // namespace stepscope::model
