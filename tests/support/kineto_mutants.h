// A small PyTorch job as its profiler exports it, and damaged copies of that export: what a hostile
// or broken file may say.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

namespace stepscope::support {

using Random = std::mt19937_64;

struct KinetoJob {
  int processes = 1;  ///< in the one file
  int steps = 4;
  int kernels_per_step = 6;
  int rank = 0;  ///< −1: the file does not say
  int ranks = 2;
};

/// {"traceEvents": [...], ...} of a job that copies, launches kernels on two streams, reduces
/// gradients and waits for its device.
nlohmann::json kineto_job(KinetoJob const& job);

/// Changes some events: numbers, times, categories, names, threads and processes; drops, doubles
/// and moves others.
void damage_events(nlohmann::json& file, Random& random);

/// Changes, drops and doubles bytes, or cuts the rest.
void damage_bytes(std::string& bytes, Random& random);

}  // namespace stepscope::support
