#include "tune/study.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::tune {
namespace {

/// Trust in predictions begins as if this saving had been predicted and measured.
constexpr double kTrustedSaving = 0.1;
/// A replay bounds what a change can give: more was measured by chance, or came from elsewhere.
constexpr double kMostTrust = 1.5;
/// A setting that was measured in vain is measured again where its prediction has grown so.
constexpr double kGrownPrediction = 1.5;

bool is_over(Trial const& trial) { return trial.verdict != TrialVerdict::kRunning; }

/// One that was only asked for has no pair yet.
bool is_measured_candidate(Trial const& trial) {
  return trial.kind == TrialKind::kCandidate && trial.verdict != TrialVerdict::kDropped &&
         (is_over(trial) || !trial.pairs.empty());
}

double mean_base_ns(std::vector<PairCosts> const& pairs) {
  double sum = 0;
  for (PairCosts const& pair : pairs) sum += pair.base;
  return pairs.empty() ? 0 : sum / static_cast<double>(pairs.size());
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

}  // namespace

Study::Study(Space space, StudyOptions options, std::vector<Trial> earlier)
    : space_(std::move(space)), options_(options), trials_(std::move(earlier)) {
  for (size_t i = 0; i < trials_.size(); ++i) STEPSCOPE_CHECK(trials_[i].number == i);
}

Trial& Study::start(TrialKind kind, Settings const& base, Settings const& settings) {
  Trial trial;
  trial.number = trials_.size();
  trial.kind = kind;
  trial.base = base;
  trial.settings = settings;
  if (!trials_.empty()) trial.is_interleaved = trials_.front().is_interleaved;
  trials_.push_back(std::move(trial));
  return trials_.back();
}

Trial* Study::running() {
  auto const found = std::find_if(trials_.begin(), trials_.end(),
                                  [](Trial const& trial) { return !is_over(trial); });
  return found == trials_.end() ? nullptr : &*found;
}

void Study::change(Trial const& trial) {
  if (std::find(changed_.begin(), changed_.end(), trial.number) == changed_.end())
    changed_.push_back(trial.number);
}

std::vector<Trial> Study::take_changed() {
  std::vector<Trial> changed;
  for (size_t const number : changed_) changed.push_back(trials_[number]);
  changed_.clear();
  return changed;
}

void Study::end(Trial& trial, TrialVerdict verdict, std::string reason) {
  trial.verdict = verdict;
  trial.reason = std::move(reason);
  change(trial);
}

void Study::finish(StudyOutcome outcome, std::string reason) {
  outcome_ = outcome;
  reason_ = std::move(reason);
}

Settings Study::best() const {
  Settings best = default_settings(space_);
  for (Trial const& trial : trials_)
    if (trial.kind == TrialKind::kCandidate && trial.verdict == TrialVerdict::kAccepted)
      best = trial.settings;
  return best;
}

std::optional<PairNoise> Study::noise() const {
  std::optional<PairNoise> noise;
  for (Trial const& trial : trials_) {
    if (trial.kind == TrialKind::kNoise && !trial.pairs.empty())
      noise = noise_of_equal_pairs(trial.pairs);
    else if (noise && is_over(trial) && trial.kind != TrialKind::kScreening)
      noise = joined_noise(*noise, trial.pairs);
  }
  return noise;
}

double Study::trust_in(std::string const& meaning) const {
  double predicted = kTrustedSaving, measured = kTrustedSaving;
  for (Trial const& trial : trials_) {
    bool const counts = is_measured_candidate(trial) && is_over(trial) && trial.predicted &&
                        trial.measured && meaning_of(space_, trial.base, trial.settings) == meaning;
    if (!counts) continue;
    predicted += std::max(trial.predicted->saving, 0.0);
    measured += std::max(trial.measured->saving, 0.0);
  }
  return std::min(measured / predicted, kMostTrust);
}

std::vector<double> Study::p_of_candidates() const {
  std::vector<double> family;
  for (Trial const& trial : trials_)
    if (is_measured_candidate(trial) && is_over(trial) && trial.pairs.size() >= kFewestPairs)
      family.push_back(trial.p);
  return family;
}

Action Study::pair_of(Trial const& trial) const {
  Action action;
  action.kind = trial.kind == TrialKind::kRecording ? ActionKind::kRecord : ActionKind::kPair;
  action.trial = trial.number;
  action.base = trial.base;
  action.settings = trial.settings;
  action.pair = trial.pairs.size();
  action.is_short = trial.kind == TrialKind::kScreening;
  return action;
}

Trial const* Study::last_of(TrialKind kind) const {
  Trial const* last = nullptr;
  for (Trial const& trial : trials_)
    if (trial.kind == kind) last = &trial;
  return last;
}

Action Study::next() {
  if (auto const action = next_of_search()) return *action;
  if (auto const action = check_answer()) return *action;
  return {};
}

std::optional<Action> Study::next_of_search() {
  if (outcome_ != StudyOutcome::kOpen) return std::nullopt;
  if (trials_.empty())
    return pair_of(start(TrialKind::kNoise, default_settings(space_), default_settings(space_)));
  Trial const* const trial = running();
  if (trial != nullptr && trial->kind != TrialKind::kCheck) return pair_of(*trial);
  judge_noise();
  if (outcome_ != StudyOutcome::kOpen) return std::nullopt;

  bool const has_chosen = last_of(TrialKind::kConfirmation) != nullptr;
  if (auto const action = has_chosen ? std::nullopt : learn()) return action;
  if (auto const action = has_chosen ? std::nullopt : start_candidate()) return action;
  return confirm();
}

void Study::judge_noise() {
  Trial const& trial = trials_.front();
  if (trial.verdict == TrialVerdict::kFailed) finish(StudyOutcome::kFailed, trial.reason);
}

/// The recording of the best settings, and what is predicted from it.
std::optional<Action> Study::learn() {
  if (is_predicted_) return std::nullopt;
  Settings const from = best();
  if (!knows_candidates_) candidates_ = candidates_from(space_, from);
  knows_candidates_ = true;

  bool const is_any_predictable =
      std::any_of(candidates_.begin(), candidates_.end(), [](Candidate const& candidate) {
        return candidate.is_predictable() || candidate.probed_knob;
      });
  Trial const* recording = nullptr;
  for (Trial const& trial : trials_)
    if (trial.kind == TrialKind::kRecording && trial.settings == from) recording = &trial;

  bool const is_first = from == default_settings(space_);
  bool const has_time = !shows_large_gains_only() ||
                        (left_s() > 0 && has_time_for(is_first ? 0 : 1 + confirming_pairs()));
  if (is_any_predictable && recording == nullptr && has_time)
    return pair_of(start(TrialKind::kRecording, from, from));
  bool const can_predict =
      is_any_predictable && recording != nullptr && recording->verdict == TrialVerdict::kDone;
  if (!can_predict) {
    add_predictions(std::vector<Prediction>(candidates_.size()));
    return std::nullopt;
  }

  if (auto const probe = record_probe()) return probe;

  Action action = pair_of(*recording);
  action.kind = ActionKind::kPredict;
  action.run = recording->runs.empty() ? std::string() : recording->runs.front();
  return action;
}

void Study::add_predictions(std::vector<Prediction> const& predictions) {
  STEPSCOPE_CHECK(predictions.size() == candidates_.size());
  predictions_ = predictions;
  for (size_t i = 0; i < candidates_.size(); ++i)
    if (auto& saving = predictions_[i].saving) saving = saving_of_cost(candidates_[i], *saving);
  is_predicted_ = true;
  Settings const from = best();

  for (size_t i = 0; i < candidates_.size(); ++i) {
    Prediction const& prediction = predictions_[i];
    if (!prediction.saving || prediction.saving->high >= options_.rule.min_effect) continue;
    auto const is_known = [&](Trial const& trial) {
      return trial.kind == TrialKind::kCandidate && trial.base == from &&
             trial.settings == candidates_[i].settings;
    };
    if (std::any_of(trials_.begin(), trials_.end(), is_known)) continue;

    Trial& trial = start(TrialKind::kCandidate, from, candidates_[i].settings);
    trial.predicted = prediction.saving;
    trial.change = prediction.change;
    end(trial, TrialVerdict::kDropped,
        fmt::format("{} saves at most {}", prediction.change, percent(prediction.saving->high)));
  }
}

/// An accepted move is not undone.
bool Study::is_taken_back(Settings const& settings) const {
  Settings const from = best();
  return std::any_of(trials_.begin(), trials_.end(), [&](Trial const& trial) {
    if (trial.kind != TrialKind::kCandidate || trial.verdict != TrialVerdict::kAccepted)
      return false;

    for (size_t k = 0; k < settings.size(); ++k)
      if (settings[k] != from[k] && trial.settings[k] != trial.base[k] &&
          settings[k] == trial.base[k])
        return true;
    return false;
  });
}

/// The last time that the same knobs were turned to the same values, from wherever.
Trial const* Study::last_trial_of(Candidate const& candidate) const {
  std::string const turned = changed_text(space_, candidate.settings, best());
  Trial const* last = nullptr;
  for (Trial const& trial : trials_)
    if (is_measured_candidate(trial) && changed_text(space_, trial.settings, trial.base) == turned)
      last = &trial;
  return last;
}

bool Study::is_open(size_t candidate) const {
  auto const& saving = predictions_[candidate].saving;
  if (saving && saving->high < options_.rule.min_effect) return false;
  if (is_taken_back(candidates_[candidate].settings)) return false;

  Trial const* const last = last_trial_of(candidates_[candidate]);
  if (last == nullptr) return true;
  if (last->base == best() || !saving || !last->predicted) return false;
  return worth(candidate) >= options_.rule.min_effect &&
         saving->saving >= kGrownPrediction * last->predicted->saving;
}

double Study::worth(size_t candidate) const {
  auto const& saving = predictions_[candidate].saving;
  return saving ? saving->saving * trust_in(candidates_[candidate].meaning) : 0;
}

/// The most promising one. Settings that may not be taken come last, and before them those that
/// nothing predicts: first the ones that did best in short pairs.
std::optional<size_t> Study::choose() const {
  auto const rank = [&](size_t candidate) {
    int group = predictions_[candidate].saving ? 0 : 1;
    if (candidates_[candidate].changes_numerics && !options_.allows_numerics) group = 2;
    Screening const screening = screening_of(candidates_[candidate]);
    return std::make_tuple(group, -worth(candidate), screening.is_out, -screening.log_saving);
  };

  std::optional<size_t> chosen;
  std::optional<decltype(rank(0))> best_rank;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (!is_open(i)) continue;
    auto const here = rank(i);
    if (best_rank && *best_rank <= here) continue;
    chosen = i;
    best_rank = here;
  }
  return chosen;
}

std::optional<Action> Study::start_candidate() {
  if (shows_large_gains_only()) return start_large_gain();
  if (!has_time_for(kFewestPairs + confirming_pairs())) return std::nullopt;
  auto const chosen = choose();
  if (!chosen) return std::nullopt;
  bool const is_predicted = predictions_[*chosen].saving.has_value();
  if (auto const action = is_predicted ? std::nullopt : screen()) return action;

  // A screening may have put others first.
  return verify(is_predicted ? *chosen : *choose());
}

Action Study::verify(size_t chosen) {
  Trial& trial = start(TrialKind::kCandidate, best(), candidates_[chosen].settings);
  trial.predicted = predictions_[chosen].saving;
  trial.change = predictions_[chosen].change;
  change(trial);
  return pair_of(trial);
}

std::optional<Action> Study::confirm() {
  if (best() == default_settings(space_)) {
    if (shows_large_gains_only())
      finish(StudyOutcome::kTooNoisy, too_noisy_reason());
    else
      finish(StudyOutcome::kNothingBetter, "");
    return std::nullopt;
  }
  Trial const* const last = last_of(TrialKind::kConfirmation);
  if (last == nullptr)
    return pair_of(start(TrialKind::kConfirmation, default_settings(space_), best()));

  bool const is_confirmed = last->verdict == TrialVerdict::kAccepted;
  finish(is_confirmed ? StudyOutcome::kBetter : StudyOutcome::kNotConfirmed, last->reason);
  return std::nullopt;
}

/// One trial of further pairs, or the rest of one that was interrupted.
std::optional<Action> Study::check_answer() {
  bool const has_answer =
      outcome_ == StudyOutcome::kBetter || outcome_ == StudyOutcome::kNotConfirmed;
  if (!has_answer || options_.further_pairs == 0 || is_checked_) return std::nullopt;
  Trial* const begun = running();
  if (begun == nullptr) return pair_of(start(TrialKind::kCheck, default_settings(space_), best()));

  if (begun->pairs.size() < options_.further_pairs) return pair_of(*begun);
  end(*begun, TrialVerdict::kDone, "");
  is_checked_ = true;
  return std::nullopt;
}

void Study::add_pair(PairResult const& result) {
  Trial* const trial = running();
  STEPSCOPE_CHECK(trial != nullptr && trial->kind != TrialKind::kRecording);
  trial->is_interleaved = result.is_interleaved;
  trial->runs.push_back(result.base_run);
  trial->runs.push_back(result.candidate_run);
  trial->pairs.push_back(result.costs);
  trial->seconds += result.seconds;
  change(*trial);

  PairJudgement const measured = measure_saving(trial->pairs);
  trial->measured = measured.saving;
  trial->p = measured.p;
  if (!result.broken_requirement.empty() && trial->kind != TrialKind::kNoise) {
    is_checked_ = trial->kind == TrialKind::kCheck;
    return end(*trial, TrialVerdict::kRequirement, result.broken_requirement);
  }
  if (trial->kind == TrialKind::kNoise && trial->pairs.size() >= kNoisePairs)
    end(*trial, TrialVerdict::kDone, "");
  if (trial->kind == TrialKind::kScreening && trial->pairs.size() >= planned_pairs(*trial))
    end(*trial, TrialVerdict::kDone, "");
  if (trial->kind == TrialKind::kCandidate) judge_candidate(*trial);
  if (trial->kind == TrialKind::kConfirmation) judge_confirmation(*trial);
  if (trial->kind == TrialKind::kCheck && trial->pairs.size() >= options_.further_pairs)
    end(*trial, TrialVerdict::kDone, "");
  is_checked_ = trial->kind == TrialKind::kCheck && is_over(*trial);
}

void Study::judge_candidate(Trial& trial) {
  PairJudgement const judgement =
      judge_pairs(trial.pairs, options_.rule, *noise(), p_of_candidates());
  trial.measured = judgement.saving;
  trial.p = judgement.p;
  std::string const least = percent(options_.rule.min_effect);

  if (judgement.decision == PairDecision::kFaster) {
    Settings const usual = default_settings(space_);
    bool const is_taken =
        options_.allows_numerics || !changes_numerics(space_, trial.settings, usual);
    end(trial, is_taken ? TrialVerdict::kAccepted : TrialVerdict::kProposed,
        is_taken ? "" : "it changes numerics: --allow-numerics takes it");
    knows_candidates_ = knows_candidates_ && !is_taken;
    is_predicted_ = is_predicted_ && !is_taken;
  } else if (judgement.decision == PairDecision::kNoGain) {
    end(trial, TrialVerdict::kNoGain, fmt::format("it does not save {}", least));
  } else if (judgement.decision == PairDecision::kSlowSteps) {
    end(trial, TrialVerdict::kSlowSteps,
        "its fast steps are faster, and all its steps together are slower");
  } else if (judgement.decision == PairDecision::kUnclear) {
    end(trial, TrialVerdict::kUnclear,
        fmt::format("{} pairs do not show that it saves {}", trial.pairs.size(), least));
  } else if (!has_time_for(1 + confirming_pairs())) {
    end(trial, TrialVerdict::kUnclear,
        fmt::format("it is not clear whether it saves {}, and what is left of the time would not "
                    "suffice to confirm it",
                    least));
  }
}

/// As many pairs as are needed, and more only where these do not show it: looking early would make
/// the answer too good.
void Study::judge_confirmation(Trial& trial) {
  PairJudgement const judgement = judge_pairs(trial.pairs, options_.rule, *noise(), {});
  trial.measured = judgement.saving;
  trial.p = judgement.p;
  if (trial.pairs.size() < confirming_pairs()) return;

  size_t const most = std::max(options_.rule.most_pairs, confirming_pairs());
  if (judgement.decision == PairDecision::kFaster)
    end(trial, TrialVerdict::kAccepted, "");
  else if (trial.pairs.size() >= most || judgement.decision == PairDecision::kNoGain ||
           !has_time_for(1))
    end(trial, TrialVerdict::kUnclear,
        fmt::format("new pairs with the default settings do not show a saving of {}",
                    percent(options_.rule.min_effect)));
}

void Study::add_recording(std::string const& run, double seconds) {
  Trial* const trial = running();
  STEPSCOPE_CHECK(trial != nullptr && trial->kind == TrialKind::kRecording);
  trial->runs = {run};
  trial->seconds += seconds;
  end(*trial, TrialVerdict::kDone, "");
}

void Study::add_failure(std::string const& reason, double seconds) {
  Trial* const trial = running();
  STEPSCOPE_CHECK(trial != nullptr);
  trial->seconds += seconds;
  end(*trial, TrialVerdict::kFailed, reason);
  is_checked_ = trial->kind == TrialKind::kCheck;
}

FurtherPairs Study::further_pairs_of(Trial const& check, StudyAnswer const& answer) const {
  FurtherPairs further;
  further.pairs = check.pairs.size();
  further.saving = check.measured.value_or(Saving{});
  further.is_inside = check.measured && further.saving.saving >= answer.saving->low &&
                      further.saving.saving <= answer.saving->high;

  further.default_before_ns = mean_base_ns(last_of(TrialKind::kConfirmation)->pairs);
  further.default_ns = mean_base_ns(check.pairs);
  further.verdict = check.verdict;
  further.reason = check.reason;
  return further;
}

StudyAnswer Study::answer() const {
  StudyAnswer answer;
  answer.outcome = outcome_;
  answer.reason = reason_;
  answer.best = best();

  for (Trial const& trial : trials_) {
    if (trial.kind == TrialKind::kConfirmation && is_over(trial)) {
      answer.saving = trial.measured;
      answer.pairs = trial.pairs.size();
    }
    bool const is_check = trial.kind == TrialKind::kCheck && (trial.measured || is_over(trial));
    if (is_check && answer.saving) answer.further = further_pairs_of(trial, answer);
    if (trial.kind != TrialKind::kCandidate) continue;
    answer.dropped += trial.verdict == TrialVerdict::kDropped ? 1 : 0;
    answer.measured += is_measured_candidate(trial) ? 1 : 0;
  }
  for (size_t i = 0; i < candidates_.size() && is_predicted_; ++i)
    answer.untried += is_open(i) ? 1 : 0;

  answer.is_predicted =
      std::any_of(predictions_.begin(), predictions_.end(),
                  [](Prediction const& prediction) { return prediction.saving.has_value(); });
  if (outcome_ == StudyOutcome::kTooNoisy) {
    answer.promised = promised();
    bool const is_shown_later =
        answer.promised && answer.promised->seconds && !answer.promised->changes_numerics;
    auto const of_first = first_noise();
    answer.lacks_time = is_shown_later || (of_first && of_first->needed > 0);
  }
  return answer;
}

std::vector<UntriedSetting> Study::untried() const {
  std::vector<UntriedSetting> untried;
  bool const has_begun = !trials_.empty() && trials_.front().verdict == TrialVerdict::kDone;
  if (!has_begun) return untried;
  auto const of_first = first_noise();
  bool const is_too_noisy = of_first && of_first->needed == 0;
  Settings const from = best();
  // A search that goes on from its file has no candidates where its answer is there already.
  auto const candidates = knows_candidates_ ? candidates_ : candidates_from(space_, from);

  for (size_t i = 0; i < candidates.size(); ++i) {
    Candidate const& candidate = candidates[i];
    bool const is_dropped = std::any_of(trials_.begin(), trials_.end(), [&](Trial const& trial) {
      return trial.verdict == TrialVerdict::kDropped && trial.settings == candidate.settings;
    });
    if (is_dropped || last_trial_of(candidate) != nullptr) continue;

    UntriedSetting& setting = untried.emplace_back();
    setting.settings = candidate.settings;
    if (is_predicted_) setting.prediction = predictions_[i];
    bool const may_be_taken = options_.allows_numerics || !candidate.changes_numerics;
    bool const is_shown = is_too_noisy && may_be_taken && is_predicted_ &&
                          worth(i) > options_.rule.min_effect &&
                          seconds_to_show(worth(i)).has_value();
    if (is_too_noisy && !is_shown) setting.reason = UntriedReason::kNoise;
    if (screening_of(candidate).is_out) setting.reason = UntriedReason::kScreenedOut;
    if (is_taken_back(candidate.settings)) setting.reason = UntriedReason::kTakenBack;
  }
  return untried;
}

}  // namespace stepscope::tune
