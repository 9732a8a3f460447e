// What a file may claim of itself. Its numbers are untrusted: a few kB with sound checksums could ask for all of the memory, or
// name tracks and times that there cannot be.
#pragma once

#include <cstdint>
#include <span>

#include "trace/file/summary_codec.h"
#include "trace/model/trace.h"

namespace stepscope::file {

/// Bytes of texts that are kept in memory, compressed ones as they were before. Names of real programs compress to a third or a
/// tenth; a few kB of zeros that claim to be gigabytes are damage.
uint64_t text_budget(uint64_t file_bytes);

/// Bytes of one text in JSON, which take some ten times as much while it is read.
uint64_t json_budget(uint64_t file_bytes);

/// Events. Recorded ones take 1 byte and more each (docs/BENCHMARKS.md); columns in which every row is the same take none, so
/// that a few kB could claim as many as memory holds.
uint64_t row_budget(uint64_t file_bytes);

/// Events in blocks with collectives, whose analysis takes up to 1.3 kB each where that of others takes some 100 bytes.
uint64_t collective_row_budget(uint64_t file_bytes);

/// Tracks. Each is described by some 100 bytes, or has a block of its own.
uint32_t track_budget(uint64_t file_bytes);

/// More devices than any process has; what claims more is damaged.
inline constexpr size_t kMaxDevices = 4096;
/// Takes the device from tracks of those beyond kMaxDevices. Returns whether there are any.
bool merge_impossible_devices(std::span<model::Device const> devices, std::span<model::Track> tracks);

/// Whether the steps are those of so many tracks, at possible times (model::kMaxTime), by track and start.
bool are_possible(std::span<StepSpan const> steps, size_t tracks);

}  // namespace stepscope::file
