// What things are called in every output: devices, the parts of a step's time, instants. One
// spelling for text, JSON and pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// The direction of the lines in bars of idle time. Parts whose colours look alike to readers who
/// are colour-blind differ in it.
enum class Hatch : uint8_t { kNone, kRising, kFalling, kLevel };

/// A part of a step's or a window's time. The parts of a TimeSplit sum to its window. Texts, pages
/// and the viewer take names and colours from here, so that one cause looks the same everywhere.
struct Part {
  std::string_view key;        ///< stable: JSON key of the cause, CSS class
  std::string_view label;      ///< for people, in the middle of a sentence
  std::string_view meaning;    ///< one sentence: what the device was doing
  bool idle;                   ///< the device did nothing
  uint32_t light = 0;          ///< 0xRRGGBB on a light background; only of part()
  uint32_t dark = 0;           ///< 0xRRGGBB on a dark background; only of part()
  Hatch hatch = Hatch::kNone;  ///< of idle time; only of part()
};
using analyzer::kPartCount;
/// The words of a part of a TimeSplit (analyzer/results/time_split.h).
Part const& part(int index);

/// What the critical path did, as a part of its time: the key is the CSS class of the part it looks
/// like; `idle` = it is not on a device.
Part const& path_part(analyzer::PathClass path_class);
/// What a device did that made others wait; the key as that of path_part. Without the host's op.
Part const& wait_part(analyzer::WaitStats const& waits);

/// Number of ranks of the run. A rank with several consecutive profiler windows counts once.
size_t count_ranks(model::Run const& run);
/// How many devices it has, likewise.
size_t count_devices(model::Run const& run, analyzer::Analysis const& analysis);
/// "device 1", "rank 3" or "rank 3 device 1": as much as is needed to tell the run's devices apart.
std::string device_label(model::Run const& run, analyzer::DeviceRef ref);
/// The job's rank number of a device's process.
int32_t rank_of(model::Run const& run, analyzer::DeviceRef ref);
/// The facts of a device, or null.
analyzer::DeviceStats const* find_device(analyzer::Analysis const& analysis,
                                         analyzer::DeviceRef ref);

/// First start and last end over all events of the run, in run time; people read instants relative
/// to the first.
model::Interval run_range(model::Run const& run);
/// "12.345 ms": an instant, to the µs below a second, to the ms above.
std::string format_instant(int64_t since_begin_ns);
/// "0.7407 – 1.0124 s": two instants in one unit, that of the later.
std::string format_range(int64_t begin_ns, int64_t end_ns);
/// Where steps came from, e.g. "annotated by the program", "detected as the period of the kernel
/// sequence, 95 % sure".
std::string step_source_label(analyzer::Analysis const& analysis);
/// What repeats where no whole step was recorded: "repeats every 16.6 ms: one layer (blocks.N, 3 to
/// 19), 94 % sure".
std::string layers_label(analyzer::RepeatedLayers const& layers);

/// "without it: at most 18.0 % faster"; of what can be hidden "hidden: at most 2.0 % faster; done
/// without: at most 18.0 % faster". Empty where a finding promises nothing.
std::string gains_of(analyzer::Finding const& finding);
/// Text for a gain of T / (T − cost) − 1: "18.0 % faster", or "2.4 × as fast" from 1 on.
std::string gain_text(double gain);
/// The same of a replay, which may find that a fix gives nothing.
std::string replayed_gain_text(double gain);

/// Trace text for people: printable, and cut at `limit` bytes (names of megabytes exist).
std::string shown(std::string_view text, size_t limit = 300);

/// The text with no-break spaces between numbers and their units, so that lines do not break there.
std::string with_joined_units(std::string_view text);

/// Below this share a part is noise: named in tables, not in bars' keys and lines.
inline constexpr double kLeastShownShare = 0.0005;

}  // namespace stepscope::reports
