#include "analyzer/rules/communication/message_replay.h"

#include <algorithm>
#include <tuple>

namespace stepscope::analyzer {
namespace {

/// An op that begins so soon after the one before it on its stream was queued behind it. A device
/// that computes nothing for less than this waits for no message, but launches.
constexpr int64_t kQueuedBehindNs = 10'000;
/// What a message is exposed for less than this share of its time are the gaps between kernels that
/// run beside it.
constexpr double kLeastWaited = 0.05;
/// Longer than any step; sums of a few of these stay within 64 bits.
constexpr int64_t kFarAheadNs = int64_t{1} << 60;

constexpr uint32_t kPlaceBits = (uint32_t{1} << 31U) - 1;
/// The n-th participant of a collective begins or ends.
struct ReplayEvent {
  int64_t at;
  uint32_t collective;
  uint32_t participant : 31;
  uint32_t is_begin : 1;
  /// What ends makes room for what begins.
  [[nodiscard]] auto key() const { return std::tuple(at, is_begin == 1, collective, participant); }
};

class DeviceReplay {
 public:
  explicit DeviceReplay(MeasuredDevice const& device) : device_(device) {}

  /// How much sooner the op begins.
  int64_t begin(CollectiveStats::Participant const& op) {
    enter(op.when.begin);
    Stream const& stream = stream_of(op.track);
    return op.when.begin - stream.end < kQueuedBehindNs ? stream.sooner : sooner_;
  }

  /// The op ends by so much sooner.
  void end(CollectiveStats::Participant const& op, int64_t sooner) {
    enter(op.when.end - 1);
    Stream& stream = stream_of(op.track);
    if (op.when.end > stream.end) stream = {op.track, op.when.end, sooner};

    int64_t const exposed = op.exposed_late_ns + op.exposed_transfer_ns;
    int64_t const waited = exposed - waited_since(op.when.begin);
    auto const least = static_cast<int64_t>(kLeastWaited * static_cast<double>(op.when.length()));
    if (waited <= std::max(kQueuedBehindNs, least)) return;  // compute hid its end

    if (gaps_.empty() || op.when.end - waited > gaps_.back().when.end + kQueuedBehindNs) {
      int64_t const before = gaps_.empty() ? 0 : gaps_.back().sum;
      gaps_.push_back({{op.when.end - waited, op.when.end - waited}, before});
      ready_sooner_ = sooner_;
    }

    Gap& gap = gaps_.back();
    gap.sum += std::max<int64_t>(0, op.when.end - gap.when.end);
    gap.when.end = std::max(gap.when.end, op.when.end);
    // It goes on when the message is there, and not before it was ready itself.
    sooner_ =
        std::min({sooner, ready_sooner_ + std::min(gap.when.length(), kFarAheadNs), kFarAheadNs});
  }

  int64_t finish() {
    leave();
    return gained_;
  }

 private:
  struct Stream {
    model::TrackId track;
    int64_t end = INT64_MIN / 2;
    int64_t sooner = 0;
  };
  /// A time in which the device waited for messages.
  struct Gap {
    Interval when;
    int64_t sum;  ///< of all up to this one
  };

  Stream& stream_of(model::TrackId track) {
    for (Stream& stream : streams_)
      if (stream.track.value == track.value) return stream;
    return streams_.emplace_back(Stream{track});
  }
  /// Each step is played for itself: so an error does not grow.
  void enter(int64_t instant) {
    auto const& periods = device_.periods;
    size_t place = place_;
    while (place < periods.size() && periods[place].end <= instant) ++place;
    if (place == place_) return;
    leave();
    place_ = place;
  }
  void leave() {
    if (place_ < device_.periods.size())
      gained_ += std::clamp<int64_t>(sooner_, 0, device_.periods[place_].length());
    sooner_ = ready_sooner_ = 0;
    gaps_.clear();
    for (Stream& stream : streams_) stream.sooner = 0;
  }
  [[nodiscard]] int64_t waited_since(int64_t instant) const {
    auto const first = std::partition_point(
        gaps_.begin(), gaps_.end(), [&](Gap const& gap) { return gap.when.end <= instant; });
    if (first == gaps_.end()) return 0;
    int64_t const cut = std::max<int64_t>(0, instant - first->when.begin);
    return gaps_.back().sum - (first->sum - first->when.length()) - cut;
  }

  MeasuredDevice const& device_;
  std::vector<Stream> streams_;
  std::vector<Gap> gaps_;     // of the period, by time, disjoint
  size_t place_ = 0;          // of the period
  int64_t sooner_ = 0;        // by how much the device is ahead of the run
  int64_t ready_sooner_ = 0;  // the same when the last gap began
  int64_t gained_ = 0;
};

std::vector<ReplayEvent> replay_events(RuleInput const& input) {
  std::vector<ReplayEvent> events;
  size_t participants = 0;
  for (CollectiveStats const& collective : input.facts.collectives)
    participants += collective.participants.size();
  if (participants > kMostReplayed) return {};
  events.reserve(2 * participants);

  for (uint32_t c = 0; c < input.facts.collectives.size(); ++c) {
    auto const& all = input.facts.collectives[c].participants;
    for (uint32_t p = 0; p < all.size(); ++p) {
      events.push_back({all[p].when.begin, c, p & kPlaceBits, 1});
      events.push_back({all[p].when.end, c, p & kPlaceBits, 0});
    }
  }

  std::sort(events.begin(), events.end(),
            [](ReplayEvent const& a, ReplayEvent const& b) { return a.key() < b.key(); });
  return events;
}

}  // namespace

std::vector<int64_t> replay_with_shorter(RuleInput const& input,
                                         std::vector<int64_t> const& shorter_ns) {
  std::vector<ReplayEvent> const events = replay_events(input);
  if (events.empty()) return {};
  std::vector<DeviceReplay> devices;
  devices.reserve(input.measured.size());
  for (MeasuredDevice const& device : input.measured) devices.emplace_back(device);

  auto const device_of = [&](DeviceRef ref) -> DeviceReplay* {
    auto const at =
        std::lower_bound(input.measured.begin(), input.measured.end(), ref,
                         [](MeasuredDevice const& device, DeviceRef r) { return device.ref < r; });
    return at == input.measured.end() || at->ref != ref
               ? nullptr
               : &devices[static_cast<size_t>(at - input.measured.begin())];
  };

  // How much sooner each collective would end: as much as its last participant comes, plus as much
  // as it is shorter. An earlier participant becomes the last one only when the others come earlier
  // by more than it waited.
  std::vector<int64_t> sooner(input.facts.collectives.size(), INT64_MAX);

  for (ReplayEvent const& event : events) {
    auto const& participant =
        input.facts.collectives[event.collective].participants[event.participant];
    DeviceReplay* const device = device_of(participant.ref);
    if (device == nullptr) continue;

    int64_t& of_collective = sooner[event.collective];
    if (event.is_begin == 1) {
      of_collective = std::min(
          of_collective, std::min(participant.wait_ns, kFarAheadNs) + device->begin(participant));
    } else if (of_collective != INT64_MAX) {
      device->end(participant,
                  std::min(of_collective + std::min(shorter_ns[event.collective], kFarAheadNs),
                           kFarAheadNs));
    }
  }

  std::vector<int64_t> gained;
  for (DeviceReplay& device : devices) gained.push_back(device.finish());
  return gained;
}

}  // namespace stepscope::analyzer
