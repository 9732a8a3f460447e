// How traced_program knows that its events have reached the trace, and when it ends.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "trace/file/reader.h"

namespace stepscope::tracer {

/// Milliseconds since the epoch.
inline int64_t epoch_ms() {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// Waits until a file of the tracer holds `count` events of a kind, for a minute at most. How soon
/// the tracer writes them depends on what else the machine does.
inline void wait_until_saved(model::EventKind kind, std::ptrdiff_t count) {
  char const* const folder = std::getenv("STEPSCOPE_OUTPUT");
  if (folder == nullptr) return;
  auto const is_saved = [&](std::filesystem::path const& path) {
    auto const trace = file::read_trace_file(path.string());
    if (!trace) return false;
    auto const& kinds = trace->columns().kind;
    return std::count(kinds.begin(), kinds.end(), kind) >= count;
  };

  auto const latest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < latest) {
    for (auto const& entry : std::filesystem::directory_iterator(folder))
      if (is_saved(entry.path())) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace stepscope::tracer
