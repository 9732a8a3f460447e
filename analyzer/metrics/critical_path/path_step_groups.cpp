#include "analyzer/metrics/critical_path/path_step_groups.h"

#include <algorithm>

namespace stepscope::analyzer {

std::vector<PathStepGroup> path_step_groups(CriticalPathStats const& path, size_t most) {
  std::vector<PathStep> const& steps = path.steps;
  size_t const size = std::max<size_t>(1, (steps.size() + most - 1) / most);

  std::vector<PathStepGroup> groups;
  for (size_t begin = 0; begin < steps.size(); begin += size) {
    size_t const end = std::min(begin + size, steps.size());
    PathStepGroup& group = groups.emplace_back();
    group.first = steps[begin].step;
    group.last = steps[end - 1].step;

    for (size_t c = 0; c < group.mean_ns.size(); ++c) {
      for (size_t i = begin; i < end; ++i)
        group.mean_ns[c] += static_cast<double>(steps[i].by_class[c]);
      group.mean_ns[c] /= static_cast<double>(end - begin);
    }
  }

  return groups;
}

}  // namespace stepscope::analyzer
