#include "analyzer/metrics/communication/pipeline.h"

#include <algorithm>
#include <tuple>

#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveOp;

/// A side that answers answers nearly all messages; some steps may be damaged.
constexpr double kAnswers = 0.9;
/// And of the other side nearly none: it speaks first.
constexpr double kAsks = 0.1;

/// The sender of a message of two devices; none of anything else.
CollectiveStats::Participant const* sender(CollectiveStats const& facts) {
  if (facts.participants.size() != 2) return nullptr;
  auto const &x = facts.participants[0], &y = facts.participants[1];
  if (x.ref == y.ref) return nullptr;
  if (x.op == CollectiveOp::kSend && y.op == CollectiveOp::kReceive) return &x;
  return x.op == CollectiveOp::kReceive && y.op == CollectiveOp::kSend ? &y : nullptr;
}

MeasuredTime const* measured_steps_of(std::vector<MeasuredTime> const& measured, DeviceRef ref) {
  auto const at =
      std::lower_bound(measured.begin(), measured.end(), ref,
                       [](MeasuredTime const& time, DeviceRef r) { return time.ref < r; });
  bool const has_steps =
      at != measured.end() && at->ref == ref && at->has_steps && !at->periods.empty();
  return has_steps ? &*at : nullptr;
}

/// An instant in a step; by step, then time.
using Instant = std::pair<size_t, int64_t>;
/// The messages of one direction as one device sees them.
struct CrossingMessages {
  std::vector<Instant> begins, ends;
};

/// Messages count to the step in which they end: a receive may be posted long before. Beside data,
/// programs send what describes it (shapes): much smaller messages are left out.
CrossingMessages messages_on(MeasuredTime const& device, std::vector<uint32_t> const& messages,
                             std::vector<CollectiveStats> const& collectives) {
  uint64_t largest = 0;
  for (uint32_t const c : messages) largest = std::max(largest, collectives[c].bytes);

  CrossingMessages result;
  for (uint32_t const c : messages) {
    if (collectives[c].bytes < largest / 2) continue;
    auto const& participants = collectives[c].participants;
    Interval const when = participants[participants[0].ref == device.ref ? 0 : 1].when;

    auto const period = std::partition_point(device.periods.begin(), device.periods.end(),
                                             [&](Interval const& p) { return p.end < when.end; });
    if (period == device.periods.end() || when.end <= period->begin) continue;
    auto const step = static_cast<size_t>(period - device.periods.begin());
    result.begins.emplace_back(step, when.begin);
    result.ends.emplace_back(step, when.end);
  }

  std::sort(result.begins.begin(), result.begins.end());
  std::sort(result.ends.begin(), result.ends.end());
  return result;
}

/// How many of a step's messages there are in most steps.
uint32_t steady_count(CrossingMessages const& messages, size_t steps) {
  std::vector<uint32_t> counts(steps);
  for (Instant const& begin : messages.begins) ++counts[begin.first];
  return lower_median(counts);
}

/// Calls `see` with the ends of what came and the begins of what went, of each step with `count` of
/// both.
template <class See>
void for_each_step(CrossingMessages const& came, CrossingMessages const& went, uint32_t count,
                   See see) {
  for (size_t i = 0, j = 0; i < came.ends.size() && j < went.begins.size();) {
    size_t const step = std::max(came.ends[i].first, went.begins[j].first);
    auto const skip = [&](auto const& instants, size_t& at) {
      while (at < instants.size() && instants[at].first < step) ++at;
      size_t last = at;
      while (last < instants.size() && instants[last].first == step) ++last;
      return last;
    };

    size_t const last_came = skip(came.ends, i), last_went = skip(went.begins, j);
    if (last_came - i == count && last_went - j == count)
      see(came.ends.data() + i, went.begins.data() + j);
    i = last_came;
    j = last_went;
  }
}

/// The share of a device's messages that begin after as many have come to it; none without whole
/// steps.
std::optional<double> share_of_answers(CrossingMessages const& came, CrossingMessages const& went,
                                       uint32_t count) {
  uint64_t answers = 0, all = 0;
  for_each_step(came, went, count, [&](Instant const* ends, Instant const* begins) {
    for (uint32_t k = 0; k < count; ++k) answers += ends[k].second <= begins[k].second ? 1 : 0;
    all += count;
  });
  if (all == 0) return std::nullopt;
  return static_cast<double>(answers) / static_cast<double>(all);
}

/// Whether in most steps a gradient comes before the last activation goes, or, on the later stage,
/// goes before that comes.
bool is_one_by_one(CrossingMessages const& came_first, CrossingMessages const& went_first,
                   CrossingMessages const& came_second, CrossingMessages const& went_second,
                   uint32_t count) {
  int64_t votes = 0;
  for_each_step(came_first, went_first, count,
                [&](Instant const* gradients, Instant const* activations) {
                  votes += gradients[0].second <= activations[count - 1].second ? 1 : 0;
                });
  for_each_step(came_second, went_second, count,
                [&](Instant const* activations, Instant const* gradients) {
                  votes += gradients[0].second < activations[count - 1].second ? 1 : 0;
                });

  int64_t steps = 0;
  for_each_step(came_second, went_second, count, [&](Instant const*, Instant const*) { ++steps; });
  return 2 * votes > steps;
}

int64_t measure_within(model::IntervalSet const& set, std::vector<Interval> const& periods) {
  int64_t total = 0;
  auto at = set.begin();
  for (Interval const& period : periods) {
    while (at != set.end() && at->end <= period.begin) ++at;
    for (auto part = at; part != set.end() && part->begin < period.end; ++part)
      total += std::min(part->end, period.end) - std::max(part->begin, period.begin);
  }
  return total;
}

void add_shares(PipelineStats& pipeline) {
  double total = 0, bubble = 0, compute = 0, most = 0;
  for (PipelineStats::Stage const& stage : pipeline.stages) {
    total += static_cast<double>(stage.total_ns);
    bubble += static_cast<double>(stage.bubble_ns);
    double const of_stage =
        static_cast<double>(stage.compute_ns) / static_cast<double>(stage.steps);
    compute += of_stage;
    most = std::max(most, of_stage);
  }

  pipeline.bubble_share = total > 0 ? bubble / total : 0;
  pipeline.ideal_share = ideal_bubble(pipeline.stages.size(), pipeline.micro_batches);
  pipeline.imbalance =
      compute > 0 ? most * static_cast<double>(pipeline.stages.size()) / compute : 1;
}

}  // namespace

double ideal_bubble(size_t stages, uint32_t micro_batches) {
  auto const waiting = static_cast<double>(stages) - 1;
  return waiting / (micro_batches + waiting);
}

PipelineFinder::PipelineFinder(std::vector<CollectiveStats> const& collectives)
    : collectives_(collectives) {
  find_boundaries();
  find_chains();
  if (!chains_.empty()) find_waits();
}

void PipelineFinder::find_boundaries() {
  struct Message {
    DeviceRef a, b;
    uint32_t collective;
    bool is_from_a;
  };
  std::vector<Message> messages;
  for (uint32_t c = 0; c < collectives_.size(); ++c) {
    auto const* const from = sender(collectives_[c]);
    if (from == nullptr) continue;
    auto const [a, b] =
        std::minmax(collectives_[c].participants[0].ref, collectives_[c].participants[1].ref);
    messages.push_back({a, b, c, from->ref == a});
  }

  std::stable_sort(messages.begin(), messages.end(), [](Message const& x, Message const& y) {
    return std::tie(x.a, x.b) < std::tie(y.a, y.b);
  });

  for (Message const& message : messages) {
    if (boundaries_.empty() || boundaries_.back().a != message.a ||
        boundaries_.back().b != message.b)
      boundaries_.push_back({message.a, message.b, {}, {}});
    (message.is_from_a ? boundaries_.back().from_a : boundaries_.back().from_b)
        .push_back(message.collective);
  }

  std::erase_if(boundaries_, [](Boundary const& boundary) {
    return boundary.from_a.empty() || boundary.from_b.empty();
  });
}

void PipelineFinder::find_chains() {
  std::vector<std::pair<DeviceRef, DeviceRef>> neighbours;  // both ways
  for (Boundary const& boundary : boundaries_) {
    neighbours.emplace_back(boundary.a, boundary.b);
    neighbours.emplace_back(boundary.b, boundary.a);
  }
  std::sort(neighbours.begin(), neighbours.end());

  auto const of = [&](DeviceRef ref) {
    auto const first = std::partition_point(neighbours.begin(), neighbours.end(),
                                            [&](auto const& n) { return n.first < ref; });
    auto last = first;
    while (last != neighbours.end() && last->first == ref && last - first < 3) ++last;
    return std::pair{first, last};
  };

  for (auto const& [end, neighbour] : neighbours) {
    if (auto const [first, last] = of(end); last - first != 1) continue;
    std::vector<DeviceRef> chain = {end, neighbour};
    auto around = of(chain.back());
    while (around.second - around.first == 2) {
      chain.push_back(around.first->second == *(chain.rbegin() + 1) ? (around.first + 1)->second
                                                                    : around.first->second);
      around = of(chain.back());
    }

    bool const is_chain = around.second - around.first == 1;
    if (!is_chain || chain.back() < chain.front()) continue;  // from its other end it is found too
    for (DeviceRef const ref : chain)
      members_.push_back({ref, static_cast<uint32_t>(chains_.size()), {}, {}});
    chains_.push_back(std::move(chain));
  }

  std::sort(members_.begin(), members_.end(),
            [](Member const& x, Member const& y) { return x.ref < y.ref; });
}

PipelineFinder::Boundary const* PipelineFinder::find_boundary(DeviceRef x, DeviceRef y) const {
  auto const [a, b] = std::minmax(x, y);
  auto const at = std::partition_point(
      boundaries_.begin(), boundaries_.end(), [&, first = a, second = b](Boundary const& boundary) {
        return std::tie(boundary.a, boundary.b) < std::tie(first, second);
      });
  return at == boundaries_.end() || at->a != a || at->b != b ? nullptr : &*at;
}

PipelineFinder::Member const* PipelineFinder::find_member(DeviceRef ref) const {
  auto const at = std::partition_point(members_.begin(), members_.end(),
                                       [&](Member const& m) { return m.ref < ref; });
  return at == members_.end() || at->ref != ref ? nullptr : &*at;
}

void PipelineFinder::find_waits() {
  std::vector<uint32_t> devices(chains_.size());  // of the collective at hand, by chain
  std::vector<size_t> places;
  for (CollectiveStats const& facts : collectives_) {
    if (facts.participants.size() < 2) continue;
    places.clear();
    for (auto const& participant : facts.participants) {
      Member const* const member = find_member(participant.ref);
      places.push_back(member == nullptr ? members_.size()
                                         : static_cast<size_t>(member - members_.data()));
      if (member != nullptr) ++devices[member->chain];
    }

    for (size_t i = 0; i < places.size(); ++i) {
      auto const& own = facts.participants[i];
      if (places[i] == members_.size() || own.wait_ns == 0 ||
          devices[members_[places[i]].chain] < 2)
        continue;
      members_[places[i]].waits.push_back({own.when.begin, own.when.begin + own.wait_ns});
    }

    for (size_t const place : places)
      if (place < members_.size()) devices[members_[place].chain] = 0;
  }
}

std::optional<std::vector<Interval>> PipelineFinder::waits_of(DeviceRef ref) const {
  Member const* const found = find_member(ref);
  return found == nullptr ? std::nullopt : std::optional(found->waits);
}

void PipelineFinder::add_device(DeviceRef ref, model::IntervalSet bubble) {
  Member const* const found = find_member(ref);
  if (found == nullptr) return;
  members_[static_cast<size_t>(found - members_.data())].bubble = std::move(bubble);
}

model::IntervalSet find_bubble(std::vector<Interval> waits, DeviceSets const& sets,
                               std::vector<IdleGap> const& gaps, model::Trace const& trace) {
  std::vector<Interval> idle;
  for (IdleGap const& gap : gaps) {
    bool const awaits_event = gap.cause == IdleCause::kDependency && gap.next_op_row.valid();
    if (gap.cause == IdleCause::kPeer ||
        (awaits_event && trace.kind(gap.next_op_row.value) == model::EventKind::kCollective))
      idle.push_back(gap.when);
  }

  return model::unite(model::intersect(model::unite(std::move(waits)), sets.exposed_comm),
                      model::unite(std::move(idle)));
}

std::optional<PipelineFinder::Crossing> PipelineFinder::cross(MeasuredTime const& first,
                                                              MeasuredTime const& second) const {
  Boundary const* const boundary = find_boundary(first.ref, second.ref);
  if (boundary == nullptr) return std::nullopt;
  auto const& there = first.ref == boundary->a ? boundary->from_a : boundary->from_b;
  auto const& back = first.ref == boundary->a ? boundary->from_b : boundary->from_a;

  CrossingMessages const there_on_first = messages_on(first, there, collectives_),
                         back_on_first = messages_on(first, back, collectives_);
  CrossingMessages const there_on_second = messages_on(second, there, collectives_),
                         back_on_second = messages_on(second, back, collectives_);

  Crossing crossing;
  crossing.micro_batches = steady_count(there_on_first, first.periods.size());
  if (crossing.micro_batches == 0 ||
      steady_count(back_on_first, first.periods.size()) != crossing.micro_batches)
    return std::nullopt;

  auto const of_second = share_of_answers(there_on_second, back_on_second, crossing.micro_batches);
  auto const of_first = share_of_answers(back_on_first, there_on_first, crossing.micro_batches);
  if (!of_first || !of_second) return std::nullopt;
  crossing.is_forward = *of_second >= kAnswers;
  if (std::max(*of_first, *of_second) < kAnswers || std::min(*of_first, *of_second) > kAsks)
    return std::nullopt;

  crossing.is_one_by_one = crossing.is_forward
                               ? is_one_by_one(back_on_first, there_on_first, there_on_second,
                                               back_on_second, crossing.micro_batches)
                               : is_one_by_one(there_on_second, back_on_second, back_on_first,
                                               there_on_first, crossing.micro_batches);
  return crossing;
}

std::optional<PipelineStats> PipelineFinder::judge(
    std::vector<DeviceRef> chain, std::vector<MeasuredTime> const& measured) const {
  PipelineStats pipeline;
  std::vector<MeasuredTime const*> times;
  for (DeviceRef const ref : chain) {
    times.push_back(measured_steps_of(measured, ref));
    if (times.back() == nullptr) return std::nullopt;
  }

  std::vector<Crossing> crossings;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    auto const crossing = cross(*times[i], *times[i + 1]);
    if (!crossing) return std::nullopt;
    crossings.push_back(*crossing);
    if (crossing->is_forward != crossings[0].is_forward ||
        crossing->micro_batches != crossings[0].micro_batches)
      return std::nullopt;
  }

  if (!crossings[0].is_forward) {
    std::reverse(times.begin(), times.end());
    std::reverse(crossings.begin(), crossings.end());
  }

  pipeline.micro_batches = crossings.back().micro_batches;
  // The last boundary tells most: with one forward and one backward pass in turn, there they
  // alternate from the first on.
  if (pipeline.micro_batches > 1)
    pipeline.schedule = crossings.back().is_one_by_one ? PipelineSchedule::kOneForwardOneBackward
                                                       : PipelineSchedule::kGpipe;

  for (MeasuredTime const* const time : times) {
    PipelineStats::Stage& stage = pipeline.stages.emplace_back();
    stage.ref = time->ref;
    stage.compute_ns = time->compute_ns;
    stage.steps = time->periods.size();
    for (Interval const& period : time->periods) stage.total_ns += period.length();
    stage.bubble_ns = measure_within(find_member(time->ref)->bubble, time->periods);
  }

  add_shares(pipeline);
  return pipeline;
}

std::vector<PipelineStats> PipelineFinder::find(std::vector<MeasuredTime> const& measured) const {
  std::vector<PipelineStats> result;
  for (auto const& chain : chains_)
    if (auto pipeline = judge(chain, measured)) result.push_back(std::move(*pipeline));
  std::sort(result.begin(), result.end(), [](PipelineStats const& x, PipelineStats const& y) {
    return x.stages[0].ref < y.stages[0].ref;
  });
  return result;
}

}  // namespace stepscope::analyzer
