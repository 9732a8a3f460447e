#include "trace/synth/jobs/patterns.h"

#include <algorithm>
#include <array>

namespace stepscope::synth {
namespace {

constexpr std::array kPatterns = {
    Pattern{"dp", "data parallel, bucketed all-reduce", data_parallel},
    Pattern{"pipeline", "pipeline parallel, 1F1B, sends and receives", pipeline},
    Pattern{"moe", "data parallel with experts, all-to-all", mixture_of_experts},
};

}  // namespace

std::span<Pattern const> patterns() { return kPatterns; }

Pattern const* find_pattern(std::string_view name) {
  auto const found = std::find_if(kPatterns.begin(), kPatterns.end(),
                                  [&](Pattern const& p) { return p.name == name; });
  return found == kPatterns.end() ? nullptr : &*found;
}

}  // namespace stepscope::synth
