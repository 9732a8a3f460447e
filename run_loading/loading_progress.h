// How far a run is loaded, shared between who loads it and who watches on another thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace stepscope::run_loading {

/// A run that is read process by process.
struct ReadingProgress {
  std::atomic<bool> given_up = false;      ///< no thread waits any more: further reads fail
  std::atomic<size_t> processes_read = 0;  ///< each is read twice: for its skeleton and as a whole
};

struct LoadingProgress {
  enum class Stage : uint8_t { kOpening, kReading, kAnalyzing };

  std::atomic<Stage> stage = Stage::kOpening;
  std::atomic<size_t> processes = 0;  ///< of the run, once it is open
  std::atomic<bool> is_streamed = false;
  std::shared_ptr<ReadingProgress> reading = std::make_shared<ReadingProgress>();
};

/// "analyzing 64 processes, 40 %". Any thread.
std::string describe(LoadingProgress const& progress);

}  // namespace stepscope::run_loading
