#include "analyzer/rules/sums.h"

#include <algorithm>
#include <array>

#include "trace/stream/stream_file.h"

namespace stepscope::analyzer {

bool is_of_sums(model::Run const& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](model::RankTrace const& rank) {
    auto const& facts = rank.trace.info().facts;
    return std::any_of(facts.begin(), facts.end(),
                       [](auto const& fact) { return fact.first == stream::kSumsFact; });
  });
}

bool speaks_of_sums(std::string_view rule) {
  static constexpr std::array<std::string_view, 4> kRules = {"input-bound", "exposed-communication",
                                                             "step-outliers", "trace-quality"};
  return std::find(kRules.begin(), kRules.end(), rule) != kRules.end();
}

}  // namespace stepscope::analyzer
