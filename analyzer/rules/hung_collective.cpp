// hung-collective: a collective that some ranks called had not ended when the recordings did. Of a communicator only the lowest
// number is looked at that a rank had called and not completed: what was called behind it waits for it, however far ahead each
// host was. Recordings also end while all is well: a call hangs when it took much longer than calls took before. Of recordings
// that tell how far calls came (CollectiveState). Several communicators hang when one rank does: a finding names a set of
// culprits that wait for no other rank, with the collective that most ranks wait for them in.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "analyzer/rules/hung_search.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Further sets of culprits are left out, and counted in no finding: most often they have one cause.
constexpr size_t kMostHungFindings = 8;
constexpr size_t kMostNamedGroups = 6;

std::string named_ranks(std::vector<int32_t> const& ranks) {
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kMostNamedRanks); ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", ranks[i]);
  return ranks.size() > kMostNamedRanks ? fmt::format("{} and {} more", text, ranks.size() - kMostNamedRanks) : text;
}

/// "all_reduce on 0, 1; all_gather on 2"; empty when all do the same.
std::string different_operations(model::Run const& run, Hung const& hung) {
  if (!hung.differs()) return {};
  std::map<model::CollectiveOp, std::vector<int32_t>> ranks_of;
  for (HungCall const& call : hung.calls)
    ranks_of[call.detail.op].push_back(run.ranks[static_cast<size_t>(call.rank_index)].trace.info().rank);
  std::string text;
  for (auto const& [op, ranks] : ranks_of)
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", model::to_string(op), named_ranks(ranks));
  return text;
}

/// Ranks of the job for which the others wait; empty when that cannot be told.
std::set<int32_t> culprits_of(model::Run const& run, Hung const& hung) {
  auto const rank_of = [&](int32_t index) { return run.ranks[static_cast<size_t>(index)].trace.info().rank; };
  std::set<int32_t> culprits;
  if (hung.differs()) return culprits;
  for (int32_t const index : hung.not_called) culprits.insert(rank_of(index));
  if (culprits.empty() && hung.is_done_by_some())
    for (int32_t const index : waiting_in(hung)) culprits.insert(rank_of(index));
  if (culprits.empty()) culprits = hung.without_record;
  return culprits;
}

struct Suspect {
  Hung hung;
  std::set<int32_t> culprits, waiting;  ///< ranks of the job
  bool is_explained = false;            ///< each culprit waits for another one in another collective
};

bool is_part_of(std::set<int32_t> const& part, std::set<int32_t> const& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

/// Whether all culprits wait in other collectives whose causes are found, for ranks other than themselves.
bool waits_for_others(Suspect const& suspect, std::vector<Suspect> const& all, std::vector<bool> const& is_settled) {
  return std::all_of(suspect.culprits.begin(), suspect.culprits.end(), [&](int32_t culprit) {
    for (size_t i = 0; i < all.size(); ++i) {
      Suspect const& other = all[i];
      if (!is_settled[i] || &other == &suspect) continue;
      bool const has_other_cause = other.hung.differs() || !other.culprits.empty();
      if (has_other_cause && other.waiting.contains(culprit) && !other.culprits.contains(culprit)) return true;
    }
    return false;
  });
}

/// A rank that waits in one collective cannot call another: it is a victim there. In a circle all are causes.
void explain(std::vector<Suspect>& suspects) {
  std::vector<bool> is_settled(suspects.size(), true);
  for (size_t i = 0; i < suspects.size(); ++i)
    is_settled[i] = suspects[i].culprits.empty() || !waits_for_others(suspects[i], suspects, std::vector(suspects.size(), true));
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (is_settled[i] || !waits_for_others(suspects[i], suspects, is_settled)) continue;
      is_settled[i] = suspects[i].is_explained = has_changed = true;
    }
  }
}

/// The graver first, then with a culprit, then with more of them, then by the time of the first call.
std::vector<Suspect> find_suspects(model::Run const& run) {
  std::vector<Suspect> suspects;
  for (Hung& hung : find_hung_collectives(run)) {
    Suspect suspect{std::move(hung), {}, {}};
    suspect.culprits = culprits_of(run, suspect.hung);
    for (int32_t const index : waiting_in(suspect.hung))
      suspect.waiting.insert(run.ranks[static_cast<size_t>(index)].trace.info().rank);
    suspects.push_back(std::move(suspect));
  }
  // As many as a job's groups: quadratic is good enough only for the first.
  constexpr size_t kMostExplained = 512;
  if (suspects.size() <= kMostExplained) explain(suspects);
  auto const order = [](Suspect const& suspect) {
    return std::tuple(suspect.is_explained, -static_cast<int>(*suspect.hung.severity()), !suspect.hung.has_culprit(),
                      -std::ssize(suspect.culprits), suspect.hung.first_call(), suspect.hung.key);
  };
  std::sort(suspects.begin(), suspects.end(), [&](Suspect const& a, Suspect const& b) { return order(a) < order(b); });
  return suspects;
}

/// One a set of culprits that is in no other one; without any culprit the first alone.
std::vector<Suspect const*> choose_suspects(std::vector<Suspect> const& suspects) {
  std::vector<Suspect const*> chosen;
  for (Suspect const& suspect : suspects) {
    if (suspect.is_explained || chosen.size() == kMostHungFindings) continue;
    if (suspect.culprits.empty() && !suspect.hung.differs() && !chosen.empty()) continue;
    bool const is_told_already = std::any_of(chosen.begin(), chosen.end(), [&](Suspect const* const other) {
      return !suspect.hung.differs() && is_part_of(suspect.culprits, other->culprits);
    });
    if (!is_told_already) chosen.push_back(&suspect);
  }
  return chosen;
}

/// Names of the other communicators that hang, those with the same culprits first.
std::string other_groups(std::vector<Suspect> const& suspects, Suspect const& chosen) {
  std::string text;
  size_t named = 0, more = 0;
  for (bool const with_culprits : {true, false}) {
    for (Suspect const& suspect : suspects) {
      bool const has_them = !suspect.culprits.empty() && is_part_of(suspect.culprits, chosen.culprits);
      if (&suspect == &chosen || has_them != with_culprits || suspect.hung.group.empty()) continue;
      if (named == kMostNamedGroups) {
        ++more;
        continue;
      }
      text += fmt::format("{}{}", named++ > 0 ? ", " : "", suspect.hung.group);
    }
  }
  return more > 0 ? fmt::format("{} and {} more", text, more) : text;
}

void add_ranks(model::Run const& run, Hung const& hung, Finding& finding) {
  auto const rank_of = [&](int32_t index) { return run.ranks[static_cast<size_t>(index)].trace.info().rank; };
  std::vector<int32_t> waiting, completed, missing;
  for (HungCall const& call : hung.calls) {
    bool const is_done = is_completed(call.detail);
    (is_done ? completed : waiting).push_back(rank_of(call.rank_index));
    if (!is_done && finding.evidence.size() < kMaxEvidence)
      finding.evidence.push_back({{call.rank_index, 0},
                                  call.when,
                                  run.ranks[static_cast<size_t>(call.rank_index)].trace.columns().track[call.row].value});
  }
  for (int32_t const index : hung.past) completed.push_back(rank_of(index));
  for (int32_t const index : hung.not_called) missing.push_back(rank_of(index));
  for (auto* const ranks : {&waiting, &completed, &missing}) std::sort(ranks->begin(), ranks->end());

  finding.metrics.insert(finding.metrics.end(), {{"waiting_ranks", static_cast<double>(waiting.size())},
                                                 {"completed_ranks", static_cast<double>(completed.size())},
                                                 {"ranks_that_did_not_call", static_cast<double>(missing.size())},
                                                 {"ranks_without_recording", static_cast<double>(hung.count_without_record)}});
  auto const add = [&](char const* role, std::string text) {
    if (!text.empty()) finding.subjects.emplace_back(role, std::move(text));
  };
  add("waiting", named_ranks(waiting));
  add("completed", named_ranks(completed));
  add("missing", named_ranks(missing));
  add("unrecorded", named_ranks({hung.without_record.begin(), hung.without_record.end()}));
  add("different", different_operations(run, hung));
}

Finding describe_hung(model::Run const& run, std::vector<Suspect> const& suspects, Suspect const& suspect) {
  Hung const& hung = suspect.hung;
  Finding finding;
  finding.rule = "hung-collective";
  finding.severity = hung.severity().value_or(Severity::kInfo);
  HungCall const& first = hung.calls.front();
  uint32_t participants = 0;
  for (HungCall const& call : hung.calls) participants = std::max(participants, call.detail.participants);
  size_t count = 0;
  for (Suspect const& each : suspects) count += each.hung.numbers;
  finding.metrics = {{"sequence", static_cast<double>(hung.key.second)},
                     {"participants", static_cast<double>(participants)},
                     {"hung_collectives", static_cast<double>(count)},
                     {"hung_groups", static_cast<double>(suspects.size())}};

  model::Trace const& trace = run.ranks[static_cast<size_t>(first.rank_index)].trace;
  finding.subjects = {{"op", model::to_string(first.detail.op)},
                      {"call", std::string(trace.name(first.row))},
                      {"calls", trace.track(first.row).name}};
  add_ranks(run, hung, finding);
  if (std::string groups = other_groups(suspects, suspect); !groups.empty())
    finding.subjects.emplace_back("other_groups", std::move(groups));
  return finding;
}

}  // namespace

void find_hung_collective(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<Suspect> const suspects = find_suspects(input.run);
  for (Suspect const* const suspect : choose_suspects(suspects)) findings.push_back(describe_hung(input.run, suspects, *suspect));
}

}  // namespace stepscope::analyzer
