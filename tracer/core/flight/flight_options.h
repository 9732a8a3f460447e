// What `stepscope record --ring` keeps of a program that runs on and on, and what has it written to
// a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "trace/base/expected.h"

namespace stepscope::tracer {

/// Encoded events take some bytes each: most trainings take hours to fill it.
inline constexpr size_t kDefaultRingBytes = size_t{1} << 30;
/// Less holds no second of a busy program.
inline constexpr size_t kMinRingBytes = size_t{8} << 20;

struct FlightOptions {
  // How much is kept: all that is given bounds it.
  std::optional<int64_t> ns, steps;
  size_t bytes = kDefaultRingBytes;

  // When it is written, beside requests, a crash and the program's end.
  double slow_step = 0;  ///< a step this many times as long as the median of those before; 0 = not
  int64_t hang_ns = 0;   ///< no step has ended for so long; 0 = not
  bool on_nan = false;   ///< a number that the program notes is not finite
  int signal = 0;        ///< SIGUSR1 or SIGUSR2, where the program has no handler; 0 = none
  bool operator==(FlightOptions const&) const = default;
};

/// "60s", "200MB" or "50steps", or several with commas between. Errors: none of these, one twice,
/// zero, or less than kMinRingBytes.
base::Expected<FlightOptions> parse_ring(std::string const& text);
/// "1.3x" or "1.3". Errors: not more than 1.
base::Expected<double> parse_slow_step(std::string const& text);
/// "USR1", "SIGUSR2". Errors: any other.
base::Expected<int> parse_ring_signal(std::string const& text);

// Between the command and the library in the program: one environment variable.
std::string to_variable(FlightOptions const& options);
/// Nothing when it is malformed.
std::optional<FlightOptions> from_variable(std::string const& text);

/// "the last 60 s", "the last 50 steps", "the last 200 MiB": for people.
std::string describe(FlightOptions const& options);

}  // namespace stepscope::tracer
