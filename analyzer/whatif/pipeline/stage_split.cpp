#include "analyzer/whatif/pipeline/stage_split.h"

#include <algorithm>
#include <limits>

namespace stepscope::analyzer {

std::vector<double> split_layers(std::vector<double> const& layers,
                                 std::vector<double> const& fixed) {
  size_t const count = layers.size(), stages = fixed.size();
  if (stages == 0) return {};
  std::vector<double> until(count + 1, 0);  // time of the layers before each
  for (size_t i = 0; i < count; ++i) until[i + 1] = until[i] + layers[i];

  // least[s][i]: the slowest of the stages from s on, which have the layers from i on.
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(stages, std::vector<double>(count + 1, kNever));
  std::vector<std::vector<size_t>> end(stages, std::vector<size_t>(count + 1, count));
  for (size_t i = 0; i <= count; ++i)
    least[stages - 1][i] = fixed[stages - 1] + until[count] - until[i];

  for (size_t s = stages - 1; s-- > 0;)
    for (size_t i = 0; i <= count; ++i)
      for (size_t last = i; last <= count; ++last) {
        double const slowest = std::max(fixed[s] + until[last] - until[i], least[s + 1][last]);
        if (slowest >= least[s][i]) continue;
        least[s][i] = slowest;
        end[s][i] = last;
      }

  std::vector<double> times;
  size_t first = 0;
  for (size_t s = 0; s < stages; ++s) {
    size_t const last = s + 1 == stages ? count : end[s][first];
    times.push_back(fixed[s] + until[last] - until[first]);
    first = last;
  }
  return times;
}

}  // namespace stepscope::analyzer
