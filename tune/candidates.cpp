#include "tune/candidates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace stepscope::tune {
namespace {

/// The smaller part of a line that is divided by the golden section.
constexpr double kGoldenShare = 0.381966;
/// Settings that are looked at: what many knobs and restrictions multiply to has an end.
constexpr size_t kMostTriedSettings = 50'000;

double golden_point(KnobRange const& range, double from, double to) {
  if (range.is_log) return from * std::pow(to / from, kGoldenShare);
  return from + (to - from) * kGoldenShare;
}

/// What else to try of a range, between a value and its neighbours in the grid.
std::vector<std::string> points_around(Knob const& knob, std::string const& value) {
  std::vector<std::string> points;
  Value const number = value_of(value);
  auto const* const center = std::get_if<double>(&number);
  if (!knob.range || center == nullptr || value == knob.default_value) return points;

  std::optional<double> below, above;
  for (std::string const& other : knob.values) {
    Value const parsed = value_of(other);
    auto const* const place = std::get_if<double>(&parsed);
    if (place == nullptr) continue;
    if (*place < *center) below = std::max(below.value_or(*place), *place);
    if (*place > *center) above = std::min(above.value_or(*place), *place);
  }

  for (auto const& neighbour : {below, above})
    if (neighbour)
      points.push_back(range_value(*knob.range, golden_point(*knob.range, *center, *neighbour)));
  return points;
}

std::vector<std::string> values_to_try(Knob const& knob, std::string const& best) {
  std::vector<std::string> values = knob.values;
  for (std::string& point : points_around(knob, best))
    if (std::find(values.begin(), values.end(), point) == values.end())
      values.push_back(std::move(point));
  std::erase(values, best);
  return values;
}

/// Knobs that stand in a restriction together with this one.
std::set<size_t> tied_knobs(Space const& space, size_t knob) {
  std::set<size_t> tied;
  for (Expression const& restriction : space.restrictions) {
    std::vector<std::string> const names = restriction.names();
    auto const has = [&](size_t k) {
      return std::find(names.begin(), names.end(), space.knobs[k].name) != names.end();
    };
    if (!has(knob)) continue;

    for (size_t k = 0; k < space.knobs.size(); ++k)
      if (k != knob && has(k)) tied.insert(k);
  }
  return tied;
}

/// What the replay has to change for the knobs that differ.
void add_changes(Space const& space, Settings const& best, Candidate& candidate) {
  bool has_estimate = true, has_bound = true;
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    if (candidate.settings[k] == best[k]) continue;
    Meaning const* const meaning = space.knobs[k].meaning;
    MeantChange const change =
        meaning == nullptr ? MeantChange{} : meaning->move(best[k], candidate.settings[k]);

    has_estimate = has_estimate && !change.estimate.empty();
    has_bound = has_bound && !change.bound.empty();
    if (!change.estimate.empty()) candidate.estimate.push_back(change.estimate);
    if (!change.bound.empty()) candidate.bound.push_back(change.bound);
  }

  if (!has_estimate) candidate.estimate.clear();
  if (!has_bound) candidate.bound.clear();
  if (candidate.is_predictable()) candidate.meaning = meaning_of(space, best, candidate.settings);
}

/// The only knob that differs, where two recordings tell what it does.
std::optional<size_t> probed_knob_of(Space const& space, Settings const& best,
                                     Settings const& settings) {
  std::optional<size_t> turned;
  for (size_t k = 0; k < settings.size(); ++k) {
    if (settings[k] == best[k]) continue;
    if (turned) return std::nullopt;
    turned = k;
  }
  if (!turned || space.knobs[*turned].meaning == nullptr) return std::nullopt;

  Meaning const& meaning = *space.knobs[*turned].meaning;
  bool const is_sized = meaning.with_probe != nullptr &&
                        !meaning.with_probe(best[*turned], settings[*turned], "1").empty();
  return is_sized ? turned : std::nullopt;
}

/// Too few values to be worth a probe.
void forget_lone_moves(std::vector<Candidate>& candidates) {
  std::map<size_t, size_t> moves;
  for (Candidate const& candidate : candidates)
    if (candidate.probed_knob) ++moves[*candidate.probed_knob];
  for (Candidate& candidate : candidates)
    if (candidate.probed_knob && moves[*candidate.probed_knob] < kFewestProbedMoves)
      candidate.probed_knob.reset();
}

class CandidateList {
 public:
  CandidateList(Space const& space, Settings const& best) : space_(space), best_(best) {}

  /// Whether the settings are allowed, or no more of them are looked at.
  bool add(Settings const& settings) {
    if (++tried_ > kMostTriedSettings) return true;
    if (!is_allowed(space_, settings) || !samples_of(space_, settings)) return false;
    if (list_.size() >= kMostCandidates || !known_.insert(settings).second) return true;

    Candidate candidate;
    candidate.settings = settings;
    candidate.changes_numerics = changes_numerics(space_, settings, default_settings(space_));
    add_changes(space_, best_, candidate);
    candidate.probed_knob = probed_knob_of(space_, best_, candidate.settings);
    list_.push_back(std::move(candidate));
    return true;
  }
  [[nodiscard]] std::vector<Candidate> take() {
    forget_lone_moves(list_);
    return std::move(list_);
  }

 private:
  Space const& space_;
  Settings const& best_;
  std::vector<Candidate> list_;
  std::set<Settings> known_;
  size_t tried_ = 0;
};

}  // namespace

std::string meaning_of(Space const& space, Settings const& base, Settings const& settings) {
  std::string names;
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    if (settings[k] == base[k]) continue;
    if (space.knobs[k].meaning == nullptr) return {};
    names += (names.empty() ? "" : "+") + std::string(space.knobs[k].meaning->name);
  }
  return names;
}

std::vector<Candidate> candidates_from(Space const& space, Settings const& best) {
  CandidateList list(space, best);

  for (size_t k = 0; k < space.knobs.size(); ++k) {
    std::set<size_t> const tied = tied_knobs(space, k);
    for (std::string const& value : values_to_try(space.knobs[k], best[k])) {
      Settings settings = best;
      settings[k] = value;
      if (list.add(settings)) continue;

      for (size_t const other : tied) {
        Settings both = settings;
        for (std::string const& repair : values_to_try(space.knobs[other], best[other])) {
          both[other] = repair;
          list.add(both);
        }
      }
    }
  }
  return list.take();
}

}  // namespace stepscope::tune
