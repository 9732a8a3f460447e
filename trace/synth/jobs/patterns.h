// How the ranks of a made run share the work: THE list of patterns, each a function that writes the
// ranks' programs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trace/model/string_table.h"
#include "trace/synth/process/job.h"
#include "trace/synth/process/program.h"

namespace stepscope::synth {

/// A data-parallel convolutional network: gradients are summed in buckets while the backward pass
/// goes on.
Schedule data_parallel(Job const& job, model::StringTable& strings);
/// A transformer in one stage a rank, one forward and one backward in turn (1F1B; Narayanan et al.,
/// PipeDream-2BW, 2021), 8 micro-batches: where a stage waits for its neighbours is the bubble.
Schedule pipeline(Job const& job, model::StringTable& strings);
/// A transformer with experts spread over the ranks: tokens travel to them and back by all-to-all,
/// in unequal shares. In a tuned job an expert that all tokens pass computes meanwhile.
Schedule mixture_of_experts(Job const& job, model::StringTable& strings);

/// Ranks that exchange tokens with each other in a tuned mixture of experts of at least twice as
/// many.
inline constexpr int32_t kExpertGroup = 4;

struct Pattern {
  std::string_view name;     ///< on the command line
  std::string_view summary;  ///< for its help
  Schedule (*schedule)(Job const& job, model::StringTable& strings);
};
std::span<Pattern const> patterns();
/// nullptr when there is none of the name.
Pattern const* find_pattern(std::string_view name);

}  // namespace stepscope::synth
