// What to do next in a search: a state machine that is asked for an action, gets its result, and
// decides. It runs no programs and knows no clock, so a simulation drives it as well as
// `stepscope tune` does. All that it knows is in its trials: made of those of a file, it goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tune/candidates.h"
#include "tune/decision.h"
#include "tune/space.h"
#include "tune/trial.h"

namespace stepscope::tune {

struct StudyOptions {
  DecisionRule rule;
  double time_s = 600;  ///< budget
  bool allows_numerics = false;
  size_t further_pairs = 0;  ///< after the answer, whatever the budget: a check of it
  /// Where there is no time to verify all candidates without a prediction, short pairs decide which
  /// come first.
  bool screens = true;
  double short_share = 1;  ///< of a pair's time: a short one; 1: runs cannot be shorter
};

enum class ActionKind : uint8_t {
  kPair,     ///< run `base` and `settings` in turn: add_pair()
  kRecord,   ///< run `settings` alone: add_recording()
  kPredict,  ///< replay `run` for each of candidates(): add_predictions()
  kDone
};
struct Action {
  ActionKind kind = ActionKind::kDone;
  size_t trial = 0;
  Settings base, settings;
  size_t pair = 0;        ///< of the trial, from 0
  std::string run;        ///< of kPredict
  bool is_short = false;  ///< fewer steps are enough
};

struct PairResult {
  std::string base_run, candidate_run;
  PairCosts costs;
  double seconds = 0;
  bool is_interleaved = true;
  std::string broken_requirement;  ///< empty: all hold
};

/// What a replay says of one candidate.
struct Prediction {
  std::optional<Saving> saving;  ///< none: no number
  std::string change;            ///< that was replayed
};

enum class StudyOutcome : uint8_t {
  kOpen,
  kBetter,         ///< confirmed
  kNothingBetter,  ///< the default stays
  kNotConfirmed,   ///< a gain was found, and new pairs did not show it
  kTooNoisy,       ///< for this budget
  kFailed          ///< the default settings do not run
};
/// Pairs that were made after the answer, to check it.
struct FurtherPairs {
  size_t pairs = 0;
  Saving saving;
  bool is_inside = false;  ///< the answer's interval contains their mean saving
  /// Mean cost of the default settings in the answer's pairs and in these, ns: where they differ,
  /// so did the machine.
  double default_before_ns = 0, default_ns = 0;
  /// kRunning: not over. kFailed, kRequirement: what ended them is in `reason`.
  TrialVerdict verdict = TrialVerdict::kRunning;
  std::string reason;
};
/// The untried setting with the largest predicted saving.
struct PromisedSetting {
  Settings settings;
  double saving = 0;              ///< predicted saving × trust
  std::optional<double> seconds;  ///< to find and to confirm it; none: the noise hides it
  bool changes_numerics = false;  ///< and may not be taken
};
struct StudyAnswer {
  StudyOutcome outcome = StudyOutcome::kOpen;
  Settings best;                 ///< taken so far
  std::optional<Saving> saving;  ///< of the confirmation: the answer
  size_t pairs = 0;              ///< that it is measured by
  std::optional<FurtherPairs> further;
  size_t dropped = 0, measured = 0, untried = 0;  ///< settings
  std::string reason;
  /// With the outcome kTooNoisy: the pairs of the smallest gain, or of a larger one that is
  /// predicted, take longer than the budget has.
  bool lacks_time = false;
  std::optional<PromisedSetting> promised;  ///< likewise
  bool is_predicted = false;                ///< a replay says something of a setting
};

/// Why a setting has no trial.
enum class UntriedReason : uint8_t {
  kTime,         ///< the budget ended before its turn
  kNoise,        ///< the machine is too noisy to show what is predicted of it
  kTakenBack,    ///< it would undo an accepted move
  kScreenedOut,  ///< others did better in short pairs, and the budget ended before its turn
};
struct UntriedSetting {
  Settings settings;
  Prediction prediction;
  UntriedReason reason = UntriedReason::kTime;
};

class Study {
 public:
  /// `earlier`: trials of the same space, numbered from 0.
  Study(Space space, StudyOptions options, std::vector<Trial> earlier = {});

  /// The same again until its result is added.
  Action next();

  void add_pair(PairResult const& result);
  void add_recording(std::string const& run, double seconds);
  /// The pair or recording that was asked for failed.
  void add_failure(std::string const& reason, double seconds);
  /// One for each of candidates(): savings of the step.
  void add_predictions(std::vector<Prediction> const& predictions);

  [[nodiscard]] std::vector<Candidate> const& candidates() const { return candidates_; }
  [[nodiscard]] std::vector<Trial> const& trials() const { return trials_; }
  /// Trials that have changed since the last call, as they are to be written.
  std::vector<Trial> take_changed();

  [[nodiscard]] Space const& space() const { return space_; }
  [[nodiscard]] StudyOptions const& options() const { return options_; }
  /// The best settings that were accepted, else the default ones.
  [[nodiscard]] Settings best() const;
  [[nodiscard]] std::optional<PairNoise> noise() const;
  /// The noise of the default settings alone tells whether a search is too noisy.
  struct FirstNoise {
    PairNoise noise;
    size_t needed = 0;   ///< pairs of the smallest saving that is looked for; 0: too many
    double seconds = 0;  ///< to find and to confirm it
    double left_s = 0;   ///< of the budget, after these pairs
  };
  [[nodiscard]] std::optional<FirstNoise> first_noise() const;
  /// Whether only savings are tried that are predicted to be large enough to show.
  [[nodiscard]] bool shows_large_gains_only() const;
  /// Measured / predicted of a meaning, from what was measured; 1 before.
  [[nodiscard]] double trust_in(std::string const& meaning) const;
  [[nodiscard]] double spent_s() const;
  /// What is left of the budget, at least 0.
  [[nodiscard]] double left_s() const;
  /// A budget that is likely to be enough for what was not tried, and for new pairs of the answer.
  /// Each setting takes as many pairs as the noise needs, each as long as the pairs so far.
  [[nodiscard]] double enough_s() const;
  /// Likewise for the first of them alone.
  [[nodiscard]] double enough_for_one_s() const;
  [[nodiscard]] StudyAnswer answer() const;
  /// Settings one move from the best ones that no trial is about. None before the noise is known.
  [[nodiscard]] std::vector<UntriedSetting> untried() const;

 private:
  std::optional<Action> next_of_search();
  Trial& start(TrialKind kind, Settings const& base, Settings const& settings);
  [[nodiscard]] Trial* running();
  void change(Trial const& trial);
  Action pair_of(Trial const& trial) const;

  void judge_noise();
  void judge_candidate(Trial& trial);
  void judge_confirmation(Trial& trial);
  void end(Trial& trial, TrialVerdict verdict, std::string reason);

  std::optional<Action> learn();
  /// A second recording, where a knob changes how much kernels work on.
  std::optional<Action> record_probe();
  [[nodiscard]] std::vector<size_t> moves_of(size_t knob) const;
  [[nodiscard]] Trial const* probe_of(size_t knob) const;
  [[nodiscard]] std::optional<size_t> choose_probe(size_t knob) const;
  void use_probe(size_t knob, Trial const& probe);
  [[nodiscard]] Saving saving_of_cost(Candidate const& candidate, Saving const& of_step) const;
  std::optional<Action> start_candidate();
  [[nodiscard]] std::string too_noisy_reason() const;
  [[nodiscard]] std::optional<size_t> largest_promise(bool has_to_show) const;
  [[nodiscard]] std::optional<double> seconds_to_show(double saving) const;
  [[nodiscard]] std::optional<PromisedSetting> promised() const;
  std::optional<Action> start_large_gain();
  [[nodiscard]] double expected_saving() const;
  Action verify(size_t chosen);
  std::optional<Action> confirm();
  /// A short pair, where a candidate without a prediction is next and halving is worth it.
  std::optional<Action> screen();
  std::optional<Action> next_of_round(std::vector<size_t> const& pool, size_t rounds);
  void drop_worse_half(std::vector<size_t> const& pool);
  std::optional<Action> check_answer();
  [[nodiscard]] FurtherPairs further_pairs_of(Trial const& check, StudyAnswer const& answer) const;
  std::optional<size_t> choose() const;
  [[nodiscard]] Trial const* last_of(TrialKind kind) const;
  [[nodiscard]] bool is_taken_back(Settings const& settings) const;
  [[nodiscard]] Trial const* last_trial_of(Candidate const& candidate) const;
  [[nodiscard]] bool is_open(size_t candidate) const;
  [[nodiscard]] double worth(size_t candidate) const;

  /// What short pairs say of a candidate.
  struct Screening {
    size_t rounds = 0, pairs = 0;
    double log_saving = 0;  ///< mean of the pairs
    bool is_out = false;
    std::optional<size_t> trial;  ///< the last one
  };
  [[nodiscard]] Screening screening_of(Candidate const& candidate) const;
  /// Open candidates that only pairs can tell apart, and that others have not surpassed.
  [[nodiscard]] std::vector<size_t> screening_pool() const;
  [[nodiscard]] bool has_halved(size_t rounds) const;
  [[nodiscard]] bool has_verified_since_screening() const;
  [[nodiscard]] bool has_time_to_screen(size_t candidates, size_t pairs) const;
  [[nodiscard]] size_t verifiable_candidates() const;
  [[nodiscard]] size_t planned_pairs(Trial const& screening) const;

  [[nodiscard]] double pair_seconds() const;
  [[nodiscard]] double short_pair_seconds() const;
  /// Pairs that show `saving`, as far as the rule allows.
  [[nodiscard]] size_t pairs_for(double saving) const;
  /// Pairs that the confirmation begins with.
  [[nodiscard]] size_t confirming_pairs() const;
  [[nodiscard]] bool has_time_for(size_t pairs) const;
  [[nodiscard]] std::vector<double> p_of_candidates() const;
  void finish(StudyOutcome outcome, std::string reason);

  Space space_;
  StudyOptions options_;
  std::vector<Trial> trials_;
  std::vector<size_t> changed_;

  /// From the best settings on; empty until they are predicted.
  std::vector<Candidate> candidates_;
  std::vector<Prediction> predictions_;
  bool knows_candidates_ = false, is_predicted_ = false, is_checked_ = false;
  StudyOutcome outcome_ = StudyOutcome::kOpen;
  std::string reason_;
};

}  // namespace stepscope::tune
