#include "trace/file/claims.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trace/file/format.h"
#include "trace/model/trace.h"

namespace stepscope::file {

namespace {

/// So much is believed of any file, and `factor` for each byte of a larger one.
struct Budget {
  uint64_t always;
  uint64_t factor;

  [[nodiscard]] uint64_t of(uint64_t file_bytes) const {
    return std::max(always, factor * file_bytes);
  }
  [[nodiscard]] uint64_t least_bytes(uint64_t claimed) const {
    return claimed <= always ? 0 : claimed / factor + static_cast<uint64_t>(claimed % factor != 0);
  }
};

constexpr Budget kTextBudget{64U << 20, 16};
constexpr Budget kJsonBudget{8U << 20, 16};
constexpr Budget kRowBudget{uint64_t{1} << 22, 4};
/// 0.7 GB, and a byte each: beginnings and ends of real ones differ by chance and do not compress
/// to less.
constexpr Budget kCollectiveBudget{uint64_t{1} << 19, 1};
constexpr uint64_t kTracksOfAnyFile = 4096, kBytesATrack = 16;

}  // namespace

uint64_t text_budget(uint64_t file_bytes) { return kTextBudget.of(file_bytes); }
uint64_t json_budget(uint64_t file_bytes) { return kJsonBudget.of(file_bytes); }
uint64_t row_budget(uint64_t file_bytes) { return kRowBudget.of(file_bytes); }
uint64_t collective_row_budget(uint64_t file_bytes) { return kCollectiveBudget.of(file_bytes); }

uint32_t track_budget(uint64_t file_bytes) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(kMaxTracks, kTracksOfAnyFile + file_bytes / kBytesATrack));
}

void Claims::add(BlockHeader const& block) {
  switch (static_cast<BlockType>(block.type)) {
    case BlockType::kEvents:
      rows_ += block.rows;
      if ((block.kinds & kCollectiveKinds) != 0) collective_rows_ += block.rows;
      add_tracks(uint64_t{block.track} + 1);
      break;
    case BlockType::kDescription:
    case BlockType::kTracks:
      longest_json_ = std::max<uint64_t>(longest_json_, block.raw_size);
      text_bytes_ += block.raw_size;
      break;
    case BlockType::kStrings:
      text_bytes_ += block.raw_size;
      break;
    default:
      break;
  }
}

uint64_t Claims::least_file_bytes() const {
  uint64_t const for_tracks =
      tracks_ <= kTracksOfAnyFile ? 0 : (tracks_ - kTracksOfAnyFile) * kBytesATrack;
  return std::max({kRowBudget.least_bytes(rows_), kCollectiveBudget.least_bytes(collective_rows_),
                   kTextBudget.least_bytes(text_bytes_), kJsonBudget.least_bytes(longest_json_),
                   for_tracks});
}

bool are_possible(std::span<StepSpan const> steps, size_t tracks) {
  for (size_t i = 0; i < steps.size(); ++i) {
    StepSpan const& step = steps[i];
    bool const is_in_time = step.start >= -model::kMaxTime && step.start <= model::kMaxTime &&
                            step.dur >= 0 && step.dur <= model::kMaxTime - step.start;
    if (!is_in_time || step.track.value >= tracks) return false;
    if (i == 0) continue;
    StepSpan const& before = steps[i - 1];
    if (std::pair(before.track.value, before.start) > std::pair(step.track.value, step.start))
      return false;
  }
  return true;
}

bool merge_impossible_devices(std::span<model::Device const> devices,
                              std::span<model::Track> tracks) {
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
