// What the always-on stream keeps of a training step: a few sums, on each device of each process.
// docs/reference/STREAM_FORMAT.md says how they lie in a file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stepscope::stream {

/// What a device did with the time of a step, the first that applies: each ns is in exactly one
/// part. Numbers are stored in files: never renumber.
enum class TimePart : uint8_t {
  kCompute,        ///< an op that computes ran
  kCommunication,  ///< a collective or message ran, and nothing computed
  kCopy,           ///< a copy ran, and nothing computed or communicated
  kInput,          ///< nothing ran, and a thread with steps waited for data
  kAllocation,     ///< nothing ran, and a thread was in a call that allocates or frees
  kIdle            ///< nothing ran
};
inline constexpr size_t kTimeParts = 6;
/// "compute", "exposed communication", …: what follows "ms of".
char const* to_string(TimePart part);

/// Times in ns; −1 where a number is not known. Steps that are shorter than kShortestRecordNs share
/// a record, so that a program with steps of a microsecond writes no more than others.
struct StepRecord {
  int64_t step = 0;        ///< number of the first
  int64_t begin_ns = 0;    ///< since the origin of the process's clock: the end of the step before
  int64_t length_ns = 0;   ///< until the end of the last one; the parts sum to it
  int64_t longest_ns = 0;  ///< of one step
  int64_t between_ns = 0;  ///< of the length: before its step began, in no step of the program
  uint32_t steps = 1;
  int32_t device = -1;  ///< −1: the process used none

  std::array<int64_t, kTimeParts> parts{};  ///< by TimePart
  int64_t comm_ns = 0;      ///< a collective or message ran, also while something computed
  int64_t input_ns = 0;     ///< a thread with steps waited for data, also while a device worked
  uint64_t comm_bytes = 0;  ///< of the collectives and messages that began
  uint64_t copied_in_bytes = 0;  ///< by copies from host to device that began
  uint32_t collectives = 0;      ///< collectives and messages that began
  uint32_t kernels = 0;          ///< ops that compute and began

  int64_t peak_bytes = -1;      ///< most memory that was allocated on the device
  int64_t reserved_bytes = -1;  ///< most memory that was held from the system
  int64_t power_mw = -1;        ///< mean of the samples
  uint64_t dropped = 0;         ///< events that the process could not record
  int64_t late_ns = 0;          ///< work of earlier steps that came too late to count in them

  [[nodiscard]] int64_t part(TimePart which) const { return parts[static_cast<size_t>(which)]; }
  [[nodiscard]] int64_t end_ns() const { return begin_ns + length_ns; }
  bool operator==(StepRecord const&) const = default;
};

inline constexpr int64_t kShortestRecordNs = 50'000'000;

/// How many steps share a record that begins with a step of this length: a power of two. Records
/// end where the number of the next step is a multiple of it, so that ranks have the same ones.
int64_t steps_of_record(int64_t first_length_ns);

/// Adds the step that follows.
void append(StepRecord& record, StepRecord const& next);

}  // namespace stepscope::stream
