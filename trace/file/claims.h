// What a file may claim of itself. Its numbers are untrusted: a few kB with sound checksums could
// ask for all of the memory, or name tracks and times that there cannot be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "trace/file/codec/summary_codec.h"
#include "trace/file/format.h"
#include "trace/model/trace.h"

namespace stepscope::file {

/// Bytes of texts that are kept in memory, compressed ones as they were before. Names of real
/// programs compress to a third or a tenth; a few kB of zeros that claim to be gigabytes are
/// damage.
uint64_t text_budget(uint64_t file_bytes);

/// Bytes of one text in JSON, which take some ten times as much while it is read.
uint64_t json_budget(uint64_t file_bytes);

/// Events. Recorded ones take 1 byte and more each (docs/design/BENCHMARKS.md); columns in which
/// every row is the same take none, so that a few kB could claim as many as memory holds.
uint64_t row_budget(uint64_t file_bytes);

/// Events in blocks with collectives, whose analysis takes up to 1.3 kB each where that of others
/// takes some 100 bytes.
uint64_t collective_row_budget(uint64_t file_bytes);

/// Tracks. Each is described by some 100 bytes, or has a block of its own.
uint32_t track_budget(uint64_t file_bytes);

/// Kinds of the rows that collective_row_budget() counts.
inline constexpr uint64_t kCollectiveKinds =
    uint64_t{1} << static_cast<int>(model::EventKind::kCollective) |
    uint64_t{1} << static_cast<int>(model::EventKind::kCollectiveCall);

/// What the blocks of a file claim together. A perfectly regular trace compresses to less than
/// readers believe: its writer pads the file, so that a genuine one loses nothing and a damaged one
/// still has to be as large as what it claims.
class Claims {
 public:
  void add(BlockHeader const& block);
  /// The file describes so many tracks.
  void add_tracks(uint64_t tracks) { tracks_ = std::max(tracks_, tracks); }
  /// The smallest size of a file at which none of the budgets above refuses any of it.
  [[nodiscard]] uint64_t least_file_bytes() const;

 private:
  uint64_t rows_ = 0, collective_rows_ = 0, text_bytes_ = 0, longest_json_ = 0, tracks_ = 0;
};

/// More devices than any process has; what claims more is damaged.
inline constexpr size_t kMaxDevices = 4096;
/// Takes the device from tracks of those beyond kMaxDevices. Returns whether there are any.
bool merge_impossible_devices(std::span<model::Device const> devices,
                              std::span<model::Track> tracks);

/// Whether the steps are those of so many tracks, at possible times (model::kMaxTime), by track and
/// start.
bool are_possible(std::span<StepSpan const> steps, size_t tracks);

}  // namespace stepscope::file
