// A history: what the runs of a workload took, one after the other, small enough for a repository:
// a line of JSON a run (docs/guide/GATE.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/gate/history.h"
#include "trace/base/expected.h"

namespace stepscope::gate {

struct History {
  std::string name;  ///< of the workload
  std::vector<analyzer::HistoryPoint> points;
};

inline constexpr int kHistorySchema = 1;
/// Older ones are left out when a run is appended: a hundred runs a day for a quarter of a year.
inline constexpr size_t kMostHistoryPoints = 10'000;
inline constexpr size_t kMostHistoryBytes = size_t{32} << 20;

/// Valid UTF-8, ends with a newline. The last kMostHistoryPoints.
std::string history_text(History const& history);

/// Reads untrusted text; every number is checked. Errors: `path`, and what is wrong with which key.
base::Expected<History> parse_history(std::string_view text, std::string const& path);

/// Whether a text that begins so is a history, of whatever schema.
bool is_history(std::string_view begin);

}  // namespace stepscope::gate
