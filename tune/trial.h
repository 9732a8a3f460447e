// What a search has done so far, one trial after the other: what trials.jsonl holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tune/space.h"

namespace stepscope::tune {

enum class TrialKind : uint8_t {
  kNoise,         ///< pairs of the default settings with themselves
  kRecording,     ///< one run that predictions are made of
  kCandidate,     ///< pairs of the settings and the best ones before
  kConfirmation,  ///< new pairs of the best settings and the default ones: the answer
  kCheck,         ///< further pairs of the same settings, which the answer is compared with
  kScreening,     ///< short pairs of the settings and the best ones before: they accept nothing
};
/// "noise", "recording", "candidate", "confirmation", "check",
/// "screening".
char const* to_string(TrialKind kind);

enum class TrialVerdict : uint8_t {
  kRunning,      ///< not over: it goes on when the search is resumed
  kDone,         ///< noise, a recording, a check, or a screening that others did not surpass
  kDropped,      ///< not measured: even its predicted upper bound is below the smallest gain
  kAccepted,     ///< faster by more than the smallest gain
  kProposed,     ///< likewise, but it changes numerics and may not be taken
  kNoGain,       ///< the interval, or chance, leaves no room for the smallest gain
  kUnclear,      ///< pairs or time ended before either was shown
  kSlowSteps,    ///< fast steps became faster, but all steps together slower
  kRequirement,  ///< a requirement does not hold
  kFailed,       ///< a program failed, hung, or marked no steps
  kScreenedOut,  ///< others saved more in short pairs: its turn comes after theirs
};
/// "running", "done", "dropped", "accepted", "proposed", "no_gain", "unclear", "slow_steps",
/// "requirement", "failed", "screened_out".
char const* to_string(TrialVerdict verdict);

/// Two runs in turn. Costs are ns a step and sample.
struct PairCosts {
  double base = 0, candidate = 0;          ///< what is compared
  double base_all = 0, candidate_all = 0;  ///< over all steps: what few steps cost is in it
};

/// Shares of the cost that are saved: 0.1 is a tenth less time. Negative: more time.
struct Saving {
  double saving = 0, low = 0, high = 0;
};

struct Trial {
  size_t number = 0;
  TrialKind kind = TrialKind::kNoise;
  Settings base, settings;        ///< of the two sides; of a recording `settings` alone
  bool is_interleaved = true;     ///< the runs of a pair took turns, else one followed the other
  std::vector<std::string> runs;  ///< folders: base and candidate of each pair, in order
  std::vector<PairCosts> pairs;
  std::optional<Saving> predicted;
  std::string change;              ///< that was replayed for it
  std::optional<Saving> measured;  ///< with its 95 % interval
  double p = 1;
  TrialVerdict verdict = TrialVerdict::kRunning;
  std::string reason;  ///< of the verdict, for people
  double seconds = 0;  ///< that it took
};

}  // namespace stepscope::tune
