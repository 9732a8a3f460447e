#include "tests/ground_truth/scenarios.h"

#include <fmt/format.h>

namespace stepscope::ground_truth {

namespace {

/// Eight micro-batches are enough for two stages, but not for four.
std::vector<Scenario> healthy_jobs() {
  return {
      {"dp", 1, "none", 2},       {"dp", 4, "none"},         {"dp", 8, "none", 3, 30},
      {"moe", 4, "none"},         {"moe", 8, "none", 2, 30}, {"pipeline", 1, "none"},
      {"pipeline", 2, "none", 2}, {"pipeline", 4, "none"},   {"pipeline", 6, "none", 3, 30},
  };
}

std::vector<Scenario> host_faults() {
  return {
      {"dp", 4, "input=4"},
      {"dp", 2, "input=1.5", 2},
      {"moe", 4, "input=8", 3},
      {"pipeline", 2, "input=12"},
      {"dp", 4, "host-bound=120"},
      {"dp", 1, "host-bound=90", 3},
      {"moe", 2, "host-bound=250", 2},
      {"dp", 4, "sync=100"},
      {"dp", 1, "sync=200", 3},
      {"moe", 4, "sync=300", 2},
      {"dp", 4, "allocation=8"},
      {"dp", 1, "allocation=5", 2},
      {"moe", 4, "allocation=12", 3},
      {"dp", 4, "tiny-kernels=2.5", 1, 12},
      {"dp", 1, "tiny-kernels=2", 3, 12},
      {"moe", 2, "tiny-kernels=3", 2, 12},
      {"dp", 4, "outliers=60"},
      {"moe", 4, "outliers=90", 2},
      {"dp", 4, "warmup=5"},
      {"dp", 2, "warmup=8", 2, 60},
  };
}

std::vector<Scenario> rank_faults() {
  return {
      {"dp", 4, "late-rank=4"},
      {"dp", 8, "late-rank=8", 2, 30},
      {"moe", 4, "late-rank=6", 3},
      {"dp", 4, "straggler=1.3"},
      {"dp", 2, "straggler=1.6", 2},
      {"moe", 4, "straggler=1.25", 3},
      {"pipeline", 4, "straggler=1.5", 4},
      {"dp", 4, "imbalance=1.4"},
      {"dp", 8, "imbalance=1.8", 3, 30},
      {"moe", 4, "imbalance=1.4", 2},
      {"dp", 4, "throttling=1.3"},
      {"moe", 2, "throttling=1.5", 2},
  };
}

std::vector<Scenario> link_faults() {
  return {
      {"dp", 4, "small-buckets=24"},
      {"dp", 8, "small-buckets=32", 2, 30},
      {"dp", 4, "no-overlap=1"},
      {"dp", 2, "no-overlap=2", 2},
      {"dp", 4, "slow-link=20"},
      {"moe", 4, "slow-link=30", 2},
      {"dp", 4, "unsized-buckets=24"},
      {"dp", 8, "unsized-buckets=32", 2, 30},
      {"dp", 4, "missing-ranks=15"},
      {"dp", 8, "missing-ranks=10", 2, 30},
      {"pipeline", 4, "slow-pair=10"},
      {"pipeline", 4, "slow-pair=5", 2},
      {"pipeline", 6, "slow-pair=8", 3, 30},
      {"moe", 8, "slow-group=30", 3, 30},
  };
}

std::vector<Scenario> copy_and_kernel_faults() {
  return {
      {"dp", 4, "pageable-copies=24"},
      {"dp", 1, "pageable-copies=36", 2},
      {"dp", 4, "serialized-copies=80"},
      {"moe", 4, "serialized-copies=240", 2},
      {"dp", 4, "tensor-cores=2"},
      {"moe", 4, "tensor-cores=3", 2},
      {"pipeline", 2, "tensor-cores=2.2", 3},
      {"pipeline", 4, "tensor-cores=3", 4},
      {"dp", 2, "tensor-cores=3",
       4},  // no other kernel tells what tensor cores would gain: half is stated
      {"dp", 4, "small-grids=40"},
      {"dp", 1, "small-grids=16", 2},
      {"dp", 4, "serialized-streams"},
      {"dp", 1, "serialized-streams", 2},
      {"moe", 4, "unfused-attention=4"},
      {"moe", 1, "unfused-attention=3", 2},
      {"moe", 4, "misaligned-matrices=2"},
      {"pipeline", 2, "misaligned-matrices=1.5", 2},
      {"dp", 4, "elementwise=2"},
      {"pipeline", 2, "elementwise=1.5", 2},
  };
}

std::vector<Scenario> memory_and_trace_faults() {
  return {
      {"dp", 4, "leak=64"},
      {"moe", 2, "leak=8", 2},
      {"dp", 4, "pressure=95"},
      {"moe", 2, "pressure=99", 2},
      {"dp", 4, "fragmentation=256"},
      {"moe", 2, "fragmentation=512", 2},
      {"dp", 1, "python-frames=200", 1, 16},
      {"dp", 4, "python-frames=160", 3, 12},
      {"moe", 2, "python-frames=500", 2, 10},
      {"dp", 4, "lost-records=40"},
      {"moe", 2, "lost-records=60", 2},
  };
}

}  // namespace

std::string Scenario::name() const {
  return fmt::format("{} {} {} #{}", pattern, ranks, fault, seed);
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (auto const& part : {healthy_jobs(), host_faults(), rank_faults(), link_faults(),
                           copy_and_kernel_faults(), memory_and_trace_faults()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace stepscope::ground_truth
