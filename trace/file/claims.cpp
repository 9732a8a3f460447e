#include "trace/file/claims.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trace/file/format.h"
#include "trace/model/trace.h"

namespace stepscope::file {

uint64_t text_budget(uint64_t file_bytes) {
  constexpr uint64_t kAlways = 64U << 20;
  constexpr uint64_t kFactor = 16;
  return std::max(kAlways, kFactor * file_bytes);
}

uint64_t json_budget(uint64_t file_bytes) {
  constexpr uint64_t kAlways = 8U << 20;
  constexpr uint64_t kFactor = 16;
  return std::max(kAlways, kFactor * file_bytes);
}

uint64_t row_budget(uint64_t file_bytes) {
  constexpr uint64_t kAlways = uint64_t{1} << 22;
  constexpr uint64_t kFactor = 4;
  return std::max(kAlways, kFactor * file_bytes);
}

uint64_t collective_row_budget(uint64_t file_bytes) {
  constexpr uint64_t kAlways = uint64_t{1} << 19;  // 0.7 GB
  // Beginnings and ends of real ones differ by chance: they do not compress to less than a byte.
  return std::max(kAlways, file_bytes);
}

uint32_t track_budget(uint64_t file_bytes) {
  constexpr uint64_t kAlways = 4096;
  constexpr uint64_t kLeastBytes = 16;
  return static_cast<uint32_t>(std::min<uint64_t>(kMaxTracks, kAlways + file_bytes / kLeastBytes));
}

bool are_possible(std::span<StepSpan const> steps, size_t tracks) {
  for (size_t i = 0; i < steps.size(); ++i) {
    StepSpan const& step = steps[i];
    bool const is_in_time = step.start >= -model::kMaxTime && step.start <= model::kMaxTime && step.dur >= 0 &&
                            step.dur <= model::kMaxTime - step.start;
    if (!is_in_time || step.track.value >= tracks) return false;
    if (i == 0) continue;
    StepSpan const& before = steps[i - 1];
    if (std::pair(before.track.value, before.start) > std::pair(step.track.value, step.start)) return false;
  }
  return true;
}

bool merge_impossible_devices(std::span<model::Device const> devices, std::span<model::Track> tracks) {
  std::set<int32_t> known;
  for (model::Device const& device : devices) known.insert(device.id);
  bool is_any_merged = false;
  for (model::Track& track : tracks) {
    if (track.device < 0 || known.contains(track.device)) continue;
    if (known.size() < kMaxDevices) {
      known.insert(track.device);
      continue;
    }
    track.device = -1;
    is_any_merged = true;
  }
  return is_any_merged;
}

}  // namespace stepscope::file
