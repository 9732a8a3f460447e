// trials.jsonl: a line of JSON a trial, behind a first line that says which space they are of. A
// trial that is going on is written again after each pair: the last line of a number counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "tune/trial.h"

namespace stepscope::tune {

inline constexpr int kTrialLogSchema = 1;
inline constexpr size_t kMostTrialLogBytes = size_t{64} << 20;

struct TrialLog {
  std::vector<Trial> trials;  ///< by number, each as its last line has it
  size_t whole_bytes = 0;     ///< of the file: what follows is a cut line
  bool is_cut = false;        ///< the command was killed while it wrote the last line
};

/// Which search a file belongs to: 16 digits of a hash of its text.
std::string fingerprint_of(std::string_view text);

/// The first line, and a line for a trial; both end with a newline. Valid UTF-8.
std::string log_header(std::string_view fingerprint);
std::string trial_line(Space const& space, Trial const& trial);

/// Reads untrusted text; every number is checked. Errors: `path`:line and what is wrong; another
/// search; a newer schema.
base::Expected<TrialLog> parse_trial_log(std::string_view text, std::string const& path,
                                         Space const& space, std::string_view fingerprint);

}  // namespace stepscope::tune
