// What the fixes of the findings give: each one alone, then one after the other.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analyzer/whatif/replay_session.h"
#include "analyzer/whatif/whatif.h"

namespace stepscope::analyzer {
namespace {

/// The step with a fix, as far as its finding promises one. A change may do more than what was
/// found: a CUDA graph takes all of the host's work. It must not come first for that.
double promised_step_ns(Finding const& finding, double answered_ns, double before_ns) {
  return std::max(
      answered_ns,
      before_ns / (1 + finding.gain_ceiling.value_or(std::numeric_limits<double>::infinity())));
}

/// The fixes that are not in the sequence yet, and those that are.
class FixSequence {
 public:
  FixSequence(ReplaySession const& session, std::stop_token stop)
      : session_(session), stop_(std::move(stop)), step_ns_(session.baseline().step_ns) {}

  std::vector<WhatIfFix> find() && {
    ask_alone();
    while (!open_.empty() && !stop_.stop_requested())
      if (!take_best()) break;

    // What cannot be joined with the fixes above stays with its own gain.
    for (std::vector<WhatIfFix>* const rest : {&open_, &refused_})
      fixes_.insert(fixes_.end(), std::make_move_iterator(rest->begin()),
                    std::make_move_iterator(rest->end()));
    return std::move(fixes_);
  }

 private:
  void ask_alone() {
    std::vector<Finding> const& findings = session_.analysis().findings;
    remedies_.resize(findings.size());
    for (size_t i = 0; i < findings.size() && !stop_.stop_requested(); ++i) {
      Remedy remedy = remedy_of(findings[i], *session_.part().run, session_.analysis());
      if (remedy.changes.empty() && remedy.reason.empty()) continue;

      WhatIfFix fix{i, {}, {}, {}};
      for (WhatIfChange const& change : remedy.changes) fix.changes.push_back(change.text);
      if (remedy.changes.empty()) {
        fix.alone.is_refused = true;
        fix.alone.reason = remedy.reason;
      } else {
        fix.alone = session_.answer(remedy.changes);
        if (!fix.alone.is_refused && misses_the_cause(findings[i], fix.alone)) {
          fix.alone.is_refused = true;
          fix.alone.reason = fmt::format(
              "its replay gives {:.1f} %, so it does not undo what was found; follow the advice of "
              "the finding",
              fix.alone.gain * 100);
        }
      }
      remedies_[i] = std::move(remedy.changes);
      (fix.alone.is_refused ? refused_ : open_).push_back(std::move(fix));
    }
  }

  /// Takes the fix that gives most after those that were taken. False: none can be joined with
  /// them.
  bool take_best() {
    size_t best = 0;
    double best_ns = std::numeric_limits<double>::infinity();
    std::optional<WhatIfAnswer> best_answer;
    for (size_t i = 0; i < open_.size(); ++i) {
      size_t const finding = open_[i].finding;
      std::vector<WhatIfChange> all = above_;
      all.insert(all.end(), remedies_[finding].begin(), remedies_[finding].end());
      WhatIfAnswer answer = session_.answer(all);
      double const promised_ns =
          promised_step_ns(session_.analysis().findings[finding], answer.step_ns, step_ns_);
      if (answer.is_refused || (best_answer && promised_ns >= best_ns)) continue;
      best = i;
      best_ns = promised_ns;
      best_answer = std::move(answer);
    }
    if (!best_answer) return false;

    std::vector<WhatIfChange> const& taken = remedies_[open_[best].finding];
    above_.insert(above_.end(), taken.begin(), taken.end());
    best_answer->gain = best_answer->step_ns > 0 ? step_ns_ / best_answer->step_ns - 1 : 0;
    step_ns_ = best_answer->step_ns;
    open_[best].in_sequence = std::move(best_answer);
    fixes_.push_back(std::move(open_[best]));
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(best));
    return true;
  }

  ReplaySession const& session_;
  std::stop_token stop_;
  double step_ns_;                                   ///< with the fixes that were taken
  std::vector<std::vector<WhatIfChange>> remedies_;  ///< by finding
  std::vector<WhatIfChange> above_;                  ///< that were taken
  std::vector<WhatIfFix> open_, fixes_, refused_;
};

}  // namespace

std::vector<WhatIfFix> find_fixes(ReplaySession const& session, std::stop_token const& stop) {
  if (session.part().run == nullptr) return {};
  return FixSequence(session, stop).find();
}

}  // namespace stepscope::analyzer
