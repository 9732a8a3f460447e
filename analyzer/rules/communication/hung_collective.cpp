// hung-collective: a collective that some ranks called had not ended when the recordings did. For
// each communicator only the lowest number counts that a rank called and did not complete. Later
// calls wait for it, however far ahead each host was. Recordings also end while all is well: a call
// hangs when it took much longer than calls took before. Only recordings that report how far calls
// came are examined (CollectiveState). Several communicators hang when one rank does: a finding
// names a set of culprits that wait for no other rank (hung_causes.h), with a collective in which
// others wait for them.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analyzer/rules/communication/hung_causes.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Further sets of culprits are left out, and counted in no finding: most often they have one
/// cause.
constexpr size_t kMostHungFindings = 8;
constexpr size_t kMostNamedGroups = 6;

std::string named_ranks(std::vector<int32_t> const& ranks) {
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kMostNamedRanks); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", ranks[i]);
  return ranks.size() > kMostNamedRanks
             ? fmt::format("{} and {} more", text, ranks.size() - kMostNamedRanks)
             : text;
}

/// "all_reduce on 0, 1; all_gather on 2", "all_reduce of 256 B on 0; all_reduce of 512 B on 1";
/// empty when all do the same.
std::string different_operations(model::Run const& run, Hung const& hung) {
  if (!hung.is_mixed) return {};

  std::map<std::pair<model::CollectiveOp, std::string>, std::vector<int32_t>> ranks_of;
  for (HungCall const& call : hung.calls) {
    std::string kind = model::to_string(call.detail.op);
    // Operations of one kind differ in their sizes, or in the type of as many bytes.
    if (!hung.differs())
      kind +=
          fmt::format(" of {} B {}", call.detail.bytes, model::to_string(call.detail.data_type));
    ranks_of[{call.detail.op, kind}].push_back(
        run.ranks[static_cast<size_t>(call.rank_index)].trace.info().rank);
  }

  std::string text;
  for (auto const& [kind, ranks] : ranks_of)
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", kind.second, named_ranks(ranks));
  return text;
}

bool contains(std::vector<int32_t> const& indices, int32_t index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

bool is_part_of(std::set<int32_t> const& part, std::set<int32_t> const& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

/// The graver first, then with a cause, then with more ranks that are one, then where fewer wait
/// elsewhere, then by the time of the first call.
std::vector<Suspect> suspects_in_order(model::Run const& run) {
  std::vector<Suspect> suspects = find_suspects(run);
  auto const order = [](Suspect const& suspect) {
    return std::tuple(suspect.is_explained(), -static_cast<int>(*suspect.hung.severity()),
                      !(suspect.has_cause() || suspect.hung.has_culprit()),
                      -std::ssize(suspect.causes), suspect.victims.size(),
                      suspect.hung.first_call(), suspect.hung.key);
  };

  std::sort(suspects.begin(), suspects.end(),
            [&](Suspect const& a, Suspect const& b) { return order(a) < order(b); });
  return suspects;
}

/// One a set of causes that is in no other one; without any cause the first alone.
std::vector<Suspect const*> choose_suspects(std::vector<Suspect> const& suspects) {
  std::vector<Suspect const*> chosen;
  for (Suspect const& suspect : suspects) {
    if (suspect.is_explained() || chosen.size() == kMostHungFindings) continue;
    if (!suspect.has_cause() && !chosen.empty()) continue;

    bool const is_reported =
        std::any_of(chosen.begin(), chosen.end(), [&](Suspect const* const other) {
          return !suspect.hung.is_mixed && is_part_of(suspect.causes, other->causes);
        });
    if (!is_reported) chosen.push_back(&suspect);
  }

  return chosen;
}

/// Names of the other communicators that hang, those with the same causes first.
std::string other_groups(std::vector<Suspect> const& suspects, Suspect const& chosen) {
  std::string text;
  size_t named = 0, more = 0;

  for (bool const with_causes : {true, false}) {
    for (Suspect const& suspect : suspects) {
      bool const has_them = !suspect.causes.empty() && is_part_of(suspect.causes, chosen.causes);
      if (&suspect == &chosen || has_them != with_causes || suspect.hung.group.empty()) continue;
      if (named == kMostNamedGroups) {
        ++more;
        continue;
      }
      text += fmt::format("{}{}", named++ > 0 ? ", " : "", suspect.hung.group);
    }
  }

  return more > 0 ? fmt::format("{} and {} more", text, more) : text;
}

/// The first rank's call among the calls that most ranks made.
HungCall const& steady_call(Hung const& hung) {
  auto const found = std::find_if(hung.calls.begin(), hung.calls.end(), [&](HungCall const& call) {
    return !contains(hung.odd, call.rank_index);
  });
  return found == hung.calls.end() ? hung.calls.front() : *found;
}

/// "all_gather 6 of group 1 (tp)".
std::string name_of(Hung const& hung) {
  std::string const group =
      hung.group.empty() ? fmt::format("communicator {:x}", hung.key.first) : hung.group;
  return fmt::format("{} {} of {}", model::to_string(steady_call(hung).detail.op), hung.key.second,
                     group);
}

Suspect const* find_suspect(std::vector<Suspect> const& suspects, HungKey key) {
  auto const found = std::find_if(suspects.begin(), suspects.end(),
                                  [&](Suspect const& each) { return each.hung.key == key; });
  return found == suspects.end() ? nullptr : &*found;
}

/// "4, 5, 7 in all_gather 6 of group 1 (tp)".
std::string places_of_victims(std::vector<Suspect> const& suspects, Suspect const& suspect) {
  std::map<HungKey, std::vector<int32_t>> ranks_in;
  for (auto const& [rank, key] : suspect.victims) ranks_in[key].push_back(rank);

  std::string text;
  size_t named = 0;
  for (auto const& [key, ranks] : ranks_in) {
    Suspect const* const other = find_suspect(suspects, key);
    if (other == nullptr || named == kMostNamedGroups) continue;
    text += fmt::format("{}{} in {}", named++ > 0 ? "; " : "", named_ranks(ranks),
                        name_of(other->hung));
  }
  return text;
}

std::string names_of_circle(std::vector<Suspect> const& suspects, Suspect const& suspect) {
  std::string text;
  size_t named = 0;
  for (HungKey const& key : suspect.circle) {
    Suspect const* const other = find_suspect(suspects, key);
    if (other == nullptr || named == kMostNamedGroups) continue;
    text += fmt::format("{}{}", named++ > 0 ? ", " : "", name_of(other->hung));

    std::vector<int32_t> const waiting(other->waiting.begin(), other->waiting.end());
    std::vector<int32_t> const causes(other->causes.begin(), other->causes.end());
    if (!causes.empty())
      text += fmt::format(" ({} waiting for {})", named_ranks(waiting), named_ranks(causes));
  }
  return text;
}

void add_ranks(model::Run const& run, Suspect const& suspect, Finding& finding) {
  Hung const& hung = suspect.hung;
  auto const rank_of = [&](int32_t index) {
    return run.ranks[static_cast<size_t>(index)].trace.info().rank;
  };

  std::vector<int32_t> waiting, completed, missing, not_started, odd;
  for (HungCall const& call : hung.calls) {
    bool const is_done = is_completed(call.detail),
               has_reached = !contains(hung.not_started, call.rank_index);
    if (is_done || has_reached) (is_done ? completed : waiting).push_back(rank_of(call.rank_index));
    if (!is_done && finding.evidence.size() < kMaxEvidence)
      finding.evidence.push_back(
          {{call.rank_index, 0},
           call.when,
           run.ranks[static_cast<size_t>(call.rank_index)].trace.columns().track[call.row].value});
  }

  for (int32_t const index : hung.past) completed.push_back(rank_of(index));
  for (int32_t const index : hung.not_called)
    if (!suspect.victims.contains(rank_of(index))) missing.push_back(rank_of(index));
  for (int32_t const index : hung.not_started)
    if (!suspect.victims.contains(rank_of(index))) not_started.push_back(rank_of(index));
  for (int32_t const index : hung.odd) odd.push_back(rank_of(index));

  for (auto* const ranks : {&waiting, &completed, &missing, &not_started, &odd})
    std::sort(ranks->begin(), ranks->end());

  finding.metrics.insert(
      finding.metrics.end(),
      {{"waiting_ranks", static_cast<double>(waiting.size())},
       {"completed_ranks", static_cast<double>(completed.size())},
       {"ranks_that_did_not_call", static_cast<double>(hung.not_called.size())},
       {"ranks_without_recording", static_cast<double>(hung.count_without_record)}});
  auto const add = [&](char const* role, std::string text) {
    if (!text.empty()) finding.subjects.emplace_back(role, std::move(text));
  };

  add("waiting", named_ranks(waiting));
  add("completed", named_ranks(completed));
  add("missing", named_ranks(missing));
  add("unrecorded", named_ranks({hung.without_record.begin(), hung.without_record.end()}));
  add("not_started", named_ranks(not_started));
  add("different", different_operations(run, hung));
  add("odd", named_ranks(odd));
}

Finding describe_hung(model::Run const& run, std::vector<Suspect> const& suspects,
                      Suspect const& suspect) {
  Hung const& hung = suspect.hung;
  Finding finding;
  finding.rule = "hung-collective";
  finding.severity = hung.severity().value_or(Severity::kInfo);
  HungCall const& first = steady_call(hung);
  uint32_t participants = 0;
  for (HungCall const& call : hung.calls)
    participants = std::max(participants, call.detail.participants);
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
  add_ranks(run, suspect, finding);
  if (std::string places = places_of_victims(suspects, suspect); !places.empty())
    finding.subjects.emplace_back("held", std::move(places));
  if (std::string circle = names_of_circle(suspects, suspect); !circle.empty())
    finding.subjects.emplace_back("circle", std::move(circle));
  if (std::string groups = other_groups(suspects, suspect); !groups.empty())
    finding.subjects.emplace_back("other_groups", std::move(groups));
  return finding;
}

}  // namespace

void find_hung_collective(RuleInput const& input, std::vector<Finding>& findings) {
  std::vector<Suspect> const suspects = suspects_in_order(input.run);
  for (Suspect const* const suspect : choose_suspects(suspects))
    findings.push_back(describe_hung(input.run, suspects, *suspect));
}

}  // namespace stepscope::analyzer
