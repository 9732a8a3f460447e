// Numbers as people read them: durations, sizes, rates and shares with their unit. One spelling for
// CLI, reports and viewer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::base {

/// "0 ns", "980 ns", "12.4 µs", "3.21 ms", "1.75 s", "2 min 5 s": three significant digits.
std::string format_duration(int64_t duration_ns);
/// "512 B", "1.50 KiB", "3.00 GiB" (powers of 1024).
std::string format_bytes(uint64_t bytes);
/// "12.3 GB/s" (GB = 1e9, as DEFINITIONS.md says).
std::string format_bandwidth(double bytes_per_second);
/// 0.1234 → "12.3 %".
std::string format_share(double fraction);
/// So many significant digits (1 to 9), never a power of ten: "0.031", "1.5"; with three "1,152"
/// for 1151.8.
std::string format_significant(double value, int digits);
/// 1234567 → "1,234,567".
std::string format_count(uint64_t count);
/// A count in front of a sentence about many: "2 ranges never end", "1 range never ends".
std::string count_sentence(uint64_t count, std::string_view about_many);
/// The same with what is counted: "1 rank", "1,234 ranks".
std::string format_count(uint64_t count, std::string_view noun);

/// Length of the valid UTF-8 sequence that begins `text`, or 0: overlong forms, surrogates, cut
/// ones, an empty text.
size_t utf8_length(std::string_view text);
/// The text, at most the first `most` bytes of it, with each byte that is no UTF-8 replaced by
/// U+FFFD. No character is cut.
std::string valid_utf8(std::string_view text, size_t most);

/// The text with control and direction signs and invalid UTF-8 replaced by U+FFFD: names in traces
/// are hostile, terminals obey.
std::string printable(std::string_view text);

}  // namespace stepscope::base
