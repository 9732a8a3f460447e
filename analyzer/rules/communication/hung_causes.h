// Which ranks hold up a job: several communicators hang when one rank does, and a rank that waits
// in one of them cannot call what others wait for. Each culprit of a hung collective is followed to
// the ranks that wait for no other.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "analyzer/rules/communication/hung_search.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// A hung collective. Ranks are those of the job.
struct Suspect {
  Hung hung;
  std::set<int32_t> culprits;          ///< for which the others wait in it; empty if unknown
  std::set<int32_t> waiting;           ///< in it
  std::set<int32_t> causes;            ///< culprits that wait for no others, or in a circle
  std::map<int32_t, HungKey> victims;  ///< the other culprits, and where each waits for others
  std::vector<HungKey>
      circle;  ///< hung collectives whose ranks wait for each other, this one too; most often none

  /// Whether all of its culprits are victims of another one.
  [[nodiscard]] bool is_explained() const { return !culprits.empty() && causes.empty(); }
  [[nodiscard]] bool has_cause() const { return !culprits.empty() || hung.is_mixed; }
};

/// What hangs in the run, with its causes; in no order.
std::vector<Suspect> find_suspects(model::Run const& run);

}  // namespace stepscope::analyzer
