// Which settings are worth a look from where a search stands: the best settings with one knob
// turned, or two where a restriction ties them together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/space.h"

namespace stepscope::tune {

struct Candidate {
  Settings settings;
  /// Changes for the replay, all at once: about what the move gives, and at least what it can give.
  /// Empty where a knob that is turned has none.
  std::vector<std::string> estimate, bound;
  std::string meaning;  ///< names of the knobs' meanings, "+" between them; empty: only measured
  bool changes_numerics = false;  ///< against the default settings
  /// The knob that is turned alone and needs a second recording, the probe, for an estimate.
  std::optional<size_t> probed_knob;
  std::string probe_run;  ///< folder of the probe; empty: none is used
  double probe_reach = 0;  ///< |value − best| / |probe − best|: how far the line of both is drawn
  [[nodiscard]] bool is_predictable() const { return !estimate.empty() || !bound.empty(); }
};

inline constexpr size_t kMostCandidates = 512;
/// A probe is worth its run where it predicts so many values of a knob, its own among them.
inline constexpr size_t kFewestProbedMoves = 2;

/// All allowed ones, in the order of the knobs and of their values, at most kMostCandidates. Around
/// a value of a range that is not the default, two more by the golden section.
std::vector<Candidate> candidates_from(Space const& space, Settings const& best);

/// As Candidate::meaning, of the knobs that differ.
std::string meaning_of(Space const& space, Settings const& base, Settings const& settings);

}  // namespace stepscope::tune
