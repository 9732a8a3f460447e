// A training loop of your own, made visible to Stepscope by four kinds of ranges. Run it as it is
// and they cost nothing; run `stepscope record -o run -- ./my_loop` and `stepscope analyze run`
// knows its steps, phases and waits.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <stepscope/annotate.h>

using stepscope::api::InputWait;
using stepscope::api::MemoryCategory;
using stepscope::api::Phase;
using stepscope::api::Step;

int main() {
  constexpr int64_t kSteps = 20;
  std::vector<double> weights;
  {
    MemoryCategory category(
        "weights");  // device memory that is allocated in here counts as weights
    weights.assign(100'000, 0.0);
  }

  for (int64_t step = 0; step < kSteps; ++step) {
    Step annotated_step(step);
    std::vector<double> batch;
    {
      InputWait wait;  // the thread waits for data here and does nothing else
      batch.assign(weights.size(), std::sin(static_cast<double>(step)));
    }

    std::vector<double> gradient(weights.size());
    {
      Phase phase("backward");
      for (size_t i = 0; i < weights.size(); ++i) gradient[i] = weights[i] - batch[i];
    }

    Phase phase("optimizer");
    for (size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.1 * gradient[i];
  }

  std::printf("trained %lld steps, weight 0 is %.4f\n", static_cast<long long>(kSteps), weights[0]);
}
