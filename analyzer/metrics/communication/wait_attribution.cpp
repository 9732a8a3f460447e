#include "analyzer/metrics/communication/wait_attribution.h"

#include <algorithm>
#include <utility>

#include <tbb/parallel_for.h>

#include "analyzer/metrics/communication/activity_index.h"
#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

bool is_same_group(CollectiveStats const& a, CollectiveStats const& b) {
  return std::equal(a.participants.begin(), a.participants.end(), b.participants.begin(),
                    b.participants.end(),
                    [](auto const& x, auto const& y) { return x.ref == y.ref; });
}

std::vector<DeviceRef> sorted_refs(CollectiveStats const& collective) {
  std::vector<DeviceRef> refs;
  for (auto const& participant : collective.participants) refs.push_back(participant.ref);
  std::sort(refs.begin(), refs.end());
  return refs;
}

/// Numbers the sets of devices that take part in collectives.
class ParticipantGroups {
 public:
  explicit ParticipantGroups(std::vector<CollectiveStats> const& collectives)
      : collectives_(collectives) {}
  uint32_t of(uint32_t collective) {
    CollectiveStats const& facts = collectives_[collective];
    auto const [last, is_new] =
        by_communicator_.try_emplace(facts.communicator, Last{collective, 0});
    if (is_new || !is_same_group(collectives_[last->second.collective], facts))
      last->second = {collective, look_up(sorted_refs(facts))};
    return last->second.group;
  }

 private:
  struct Last {
    uint32_t collective, group;
  };

  uint32_t look_up(std::vector<DeviceRef> refs) {
    uint64_t hash = 14695981039346656037ULL;  // FNV-1a
    for (DeviceRef const ref : refs)
      for (auto const part :
           {static_cast<uint32_t>(ref.rank_index), static_cast<uint32_t>(ref.device)})
        hash = (hash ^ part) * 1099511628211ULL;

    auto const [first, last] = by_hash_.equal_range(hash);
    for (auto at = first; at != last; ++at)
      if (refs_[at->second] == refs) return at->second;

    refs_.push_back(std::move(refs));
    return by_hash_.emplace(hash, static_cast<uint32_t>(refs_.size() - 1))->second;
  }
  std::vector<CollectiveStats> const& collectives_;
  std::unordered_map<uint64_t, Last> by_communicator_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::vector<std::vector<DeviceRef>> refs_;
};

/// The participant that is this device; `guess` is looked at first.
CollectiveStats::Participant const* participant_of(CollectiveStats const& collective, DeviceRef ref,
                                                   size_t guess) {
  auto const& participants = collective.participants;
  if (guess < participants.size() && participants[guess].ref == ref) return &participants[guess];
  auto const found = std::find_if(participants.begin(), participants.end(),
                                  [&](auto const& p) { return p.ref == ref; });
  return found == participants.end() ? nullptr : &*found;
}

}  // namespace

WaitAttribution::WaitAttribution(std::vector<CollectiveStats>& collectives)
    : collectives_(collectives), delays_(collectives.size()) {
  for (size_t c = 0; c < collectives.size(); ++c) {
    auto const& participants = collectives[c].participants;
    if (participants.size() < 2) continue;
    auto const late =
        std::min_element(participants.begin(), participants.end(),
                         [](auto const& a, auto const& b) { return a.wait_ns < b.wait_ns; });
    delays_[c].late = static_cast<uint32_t>(late - participants.begin());

    double squares = 0;
    for (auto const& participant : participants) {
      auto const wait = static_cast<double>(participant.wait_ns);
      delays_[c].wait_ns = saturated_sum(delays_[c].wait_ns, participant.wait_ns);
      squares += wait * wait;
    }
    if (delays_[c].wait_ns > 0)
      delays_[c].mean_wait_ns = squares / static_cast<double>(delays_[c].wait_ns);
  }

  find_members();
  find_previous();
}

WaitAttribution::Member const* WaitAttribution::find_member(DeviceRef ref) const {
  auto const at = std::lower_bound(members_.begin(), members_.end(), ref,
                                   [](Member const& m, DeviceRef r) { return m.ref < r; });
  return at == members_.end() || at->ref != ref ? nullptr : &*at;
}

void WaitAttribution::find_members() {
  for (uint32_t c = 0; c < collectives_.size(); ++c) {
    auto const& participants = collectives_[c].participants;
    if (participants.size() < 2) continue;
    for (uint32_t i = 0; i < participants.size(); ++i) {
      auto at = std::lower_bound(members_.begin(), members_.end(), participants[i].ref,
                                 [](Member const& m, DeviceRef ref) { return m.ref < ref; });
      if (at == members_.end() || at->ref != participants[i].ref)
        at = members_.insert(at, {participants[i].ref, {}});
      at->of.push_back({c, i});
    }
  }

  tbb::parallel_for(size_t{0}, members_.size(), [&](size_t m) {
    Member& member = members_[m];
    std::stable_sort(member.of.begin(), member.of.end(),
                     [&](Participation const& a, Participation const& b) {
                       return participant(a).when.begin < participant(b).when.begin;
                     });
    for (uint32_t place = 0; place < member.of.size(); ++place)
      if (Delay& delay = delays_[member.of[place].collective];
          delay.late == member.of[place].participant)
        delay.late_place = place;
  });
}

void WaitAttribution::find_previous() {
  ParticipantGroups groups(collectives_);
  std::vector<uint32_t> last_of_group, before(collectives_.size(), kNone);
  for (uint32_t c = 0; c < collectives_.size(); ++c) {
    if (delays_[c].late == kNone) continue;

    uint32_t const group = groups.of(c);
    if (group >= last_of_group.size()) last_of_group.resize(group + 1, kNone);
    before[c] = std::exchange(last_of_group[group], c);

    auto const& late = collectives_[c].participants[delays_[c].late];
    uint32_t earlier = before[c];
    for (int i = 0; earlier != kNone && i < kMostUnderWay; ++i, earlier = before[earlier]) {
      auto const* const then = participant_of(collectives_[earlier], late.ref, delays_[c].late);
      if (then == nullptr || then->when.end > late.when.begin) continue;
      delays_[c].previous = earlier;
      break;
    }
  }
}

CollectivesOfDevice WaitAttribution::collectives_of(DeviceRef ref) const {
  CollectivesOfDevice result;
  Member const* const member = find_member(ref);
  if (member == nullptr) return result;

  std::vector<std::pair<uint32_t, uint32_t>> places;  // collective, place
  for (uint32_t place = 0; place < member->of.size(); ++place)
    places.emplace_back(member->of[place].collective, place);
  std::sort(places.begin(), places.end());
  auto const last_place_of = [&](uint32_t collective) {
    auto const after =
        std::upper_bound(places.begin(), places.end(), std::pair(collective, UINT32_MAX));
    bool const is_there = after != places.begin() && std::prev(after)->first == collective;
    return is_there ? std::prev(after)->second : CollectivesOfDevice::kNone;
  };

  result.of.reserve(member->of.size());
  for (Participation const at : member->of) {
    auto const& own = participant(at);
    Delay const& delay = delays_[at.collective];
    uint32_t const previous =
        delay.previous == kNone ? CollectivesOfDevice::kNone : last_place_of(delay.previous);
    result.of.push_back(
        {own.when, own.wait_ns, delay.wait_ns, previous, own.track, at.participant == delay.late});
  }
  return result;
}

void WaitAttribution::add_device(DeviceRef ref, DeviceDelays const& delays) {
  Member const* const member = find_member(ref);
  if (member == nullptr) return;

  for (size_t place = 0; place < delays.exposed.size(); ++place) {
    CollectiveStats::Participant& own = participant(member->of[place]);
    own.exposed_late_ns = delays.exposed[place].late_ns;
    own.exposed_transfer_ns = delays.exposed[place].transfer_ns;
  }

  auto const add = [](std::array<float, kActivityTimes> const& from,
                      std::array<float, kActivityTimes>& to) {
    for (size_t k = 0; k < kActivityTimes; ++k) to[k] += from[k];
  };
  for (size_t place = 0; place < delays.differences.size(); ++place) {
    DeviceDelays::Difference const& difference = delays.differences[place];
    Delay& delay = delays_[member->of[place].collective];
    add(difference.more, delay.more);
    add(difference.more_of_step, delay.more_of_step);
    delay.waiters_known += difference.waiters_known;
  }

  for (DeviceDelays::Late const& late : delays.late) {
    Delay& delay = delays_[member->of[late.place].collective];
    delay.is_late_known = true;
    delay.is_level = late.is_level;
    delay.is_first_step = late.is_first_step;
    delay.since = late.since;
    for (size_t cause = 0; cause < kIdleCauseCount; ++cause)
      if (late.host[cause] > 0) delay.host[cause] = number_of_name(delays.names[late.host[cause]]);
  }
}

uint32_t WaitAttribution::number_of_name(std::string const& name) {
  auto const [number, is_new] = name_ids_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return number->second;
}

}  // namespace stepscope::analyzer
