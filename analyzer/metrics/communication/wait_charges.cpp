// WaitAttribution::attribute_waits(): charges the waits of measured time to their causes.
#include "analyzer/metrics/communication/wait_attribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyzer/metrics/communication/activity_index.h"
#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

/// The late device can have waited in so many collectives before: bounds the cost of damaged
/// traces.
constexpr size_t kMostEarlier = 256;

/// Collectives, and the steps that begin with their ends, end within some µs of each other: two
/// ranks that were level differ by up to this.
constexpr double kEndsAgreeNs = 10'000;
/// … or by this share of a long wait: a rank that waits longer ends its step a little later, too.
constexpr double kEndsAgreeShare = 0.05;

}  // namespace

/// Charges waits from the last collective to the first: what one passes on, an earlier one takes.
class WaitAttribution::Charges {
 public:
  explicit Charges(WaitAttribution const& all) : all_(all), amounts_(all.collectives_.size()) {}

  void add_waits(Member const& member, std::vector<Interval> const& periods) {
    auto period = periods.begin();
    for (Participation const at : member.of) {
      auto const& participant = all_.participant(at);

      while (period != periods.end() && period->end <= participant.when.begin) ++period;
      if (period == periods.end()) return;
      if (participant.when.begin < period->begin || participant.wait_ns == 0) continue;

      int64_t const exposed =
          std::clamp<int64_t>(participant.exposed_late_ns, 0, participant.wait_ns);
      add(amounts_[at.collective], {participant.wait_ns - exposed, exposed});
    }
  }

  std::vector<WaitStats> run() {
    std::vector<uint32_t> order;
    for (uint32_t c = 0; c < amounts_.size(); ++c)
      if (all_.delays_[c].wait_ns > 0) order.push_back(c);

    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return release(a) > release(b); });
    for (uint32_t const collective : order) attribute_waits(collective);

    std::sort(rows_.begin(), rows_.end(), [](WaitStats const& a, WaitStats const& b) {
      auto const key = [](WaitStats const& row) {
        return std::tuple(-row.exposed_ns, -row.gpu_ns, row.ref, row.cause, row.idle);
      };
      return key(a) != key(b) ? key(a) < key(b) : a.host_op < b.host_op;
    });
    return std::move(rows_);
  }

 private:
  struct Amount {
    int64_t hidden = 0, exposed = 0;
  };
  static void add(Amount& to, Amount const& amount) {
    to.hidden = saturated_sum(to.hidden, amount.hidden);
    to.exposed = saturated_sum(to.exposed, amount.exposed);
  }

  /// When the late participant came.
  [[nodiscard]] int64_t release(uint32_t collective) const {
    return all_.collectives_[collective].participants[all_.delays_[collective].late].when.begin;
  }

  static constexpr size_t kRest = kActivityTimes;
  /// A weight for each activity, and one for the part that no difference explains.
  using Weights = std::array<double, kActivityTimes + 1>;

  void attribute_waits(uint32_t collective) {
    Amount const amount = amounts_[collective];
    if (amount.hidden == 0 && amount.exposed == 0) return;
    Delay const& delay = all_.delays_[collective];
    DeviceRef const ref = all_.collectives_[collective].participants[delay.late].ref;

    constexpr float kAll = 0.999F;  // rounding
    bool const is_compared = delay.is_late_known && delay.waiters_known > kAll;
    Weights const weights = cause_weights(delay, is_compared, release(collective));
    std::array<int64_t, kActivityTimes + 1> hidden{}, exposed{};
    split_exactly(amount.hidden, weights, hidden);
    split_exactly(amount.exposed, weights, exposed);

    charge_to(ref, cause_of_rest(delay, is_compared), IdleCause::kUnexplained, 0,
              {hidden[kRest], exposed[kRest]});
    for (size_t k = 0; k < kActivityTimes; ++k) {
      Amount const part{hidden[k], exposed[k]};
      if (part.hidden != 0 || part.exposed != 0) charge_activity(collective, ref, k, part);
    }
  }

  /// What the late one had more of than the waiters.
  static Weights cause_weights(Delay const& delay, bool is_compared, int64_t released) {
    auto const& differences = delay.is_level ? delay.more : delay.more_of_step;
    Weights weights{};
    double total = 0;
    for (size_t k = 0; k < kActivityTimes && is_compared; ++k)
      total += weights[k] = std::max(0.0, static_cast<double>(differences[k]));
    weights[kRest] = total > 0 ? unexplained(delay, total, released) : 1;
    return weights;
  }

  void charge_activity(uint32_t collective, DeviceRef ref, size_t activity, Amount const& part) {
    if (activity < kFirstIdleActivity) {
      constexpr std::array kCauses = {WaitCause::kCompute, WaitCause::kCommunication,
                                      WaitCause::kCopy};
      charge_to(ref, kCauses[activity], IdleCause::kUnexplained, 0, part);
      return;
    }
    if (activity == activity_index(IdleCause::kPeer) && pass_on(collective, part)) return;

    size_t const cause = activity - kFirstIdleActivity;
    charge_to(ref, WaitCause::kIdle, static_cast<IdleCause>(cause),
              all_.delays_[collective].host[cause], part);
  }

  /// The part of the mean wait beyond everything that the late one had more of.
  static double unexplained(Delay const& delay, double explained, int64_t released) {
    // Differences are kept as floats.
    double const rounding = 1e-6 * static_cast<double>(released - delay.since);
    double const rest = delay.mean_wait_ns - explained;
    return rest > std::max({kEndsAgreeNs, kEndsAgreeShare * delay.mean_wait_ns, rounding}) ? rest
                                                                                           : 0;
  }

  /// Ranks that are compared from the begin of their steps on may have begun these at different
  /// times.
  static WaitCause cause_of_rest(Delay const& delay, bool is_compared) {
    if (!is_compared || delay.is_level || delay.mean_wait_ns <= kEndsAgreeNs)
      return WaitCause::kUnknown;
    return delay.is_first_step ? WaitCause::kBeforeRecording : WaitCause::kLateStart;
  }

  /// Charges the amount to the collectives in which the late participant had waited, in proportion
  /// to how long it waited within the compared time. False where there are none.
  bool pass_on(uint32_t collective, Amount const& amount) {
    find_earlier_waits(collective);
    if (earlier_.empty()) return false;

    hidden_.assign(earlier_.size(), 0);
    exposed_.assign(earlier_.size(), 0);
    split_exactly(amount.hidden, weights_, hidden_);
    split_exactly(amount.exposed, weights_, exposed_);
    for (size_t i = 0; i < earlier_.size(); ++i)
      add(amounts_[earlier_[i]], {hidden_[i], exposed_[i]});
    return true;
  }

  /// Fills earlier_ and weights_.
  void find_earlier_waits(uint32_t collective) {
    Delay const& delay = all_.delays_[collective];
    Member const& member =
        *all_.find_member(all_.collectives_[collective].participants[delay.late].ref);
    int64_t const released = release(collective);
    earlier_.clear();
    weights_.clear();

    int over =
        0;  // so many in a row had ended before the compared time: no earlier one reaches into it
    for (size_t i = 0; i < std::min<size_t>(delay.late_place, kMostEarlier) && over < kMostUnderWay;
         ++i) {
      Participation const at = member.of[delay.late_place - 1 - i];
      auto const& own = all_.participant(at);
      over = own.when.end <= delay.since ? over + 1 : 0;
      if (own.wait_ns == 0 || release(at.collective) >= released) continue;
      int64_t const waited =
          std::min(own.when.begin + own.wait_ns, released) - std::max(own.when.begin, delay.since);
      if (waited <= 0) continue;
      earlier_.push_back(at.collective);
      weights_.push_back(static_cast<double>(waited));
    }
  }

  void charge_to(DeviceRef ref, WaitCause cause, IdleCause idle, uint32_t host,
                 Amount const& amount) {
    if (amount.hidden == 0 && amount.exposed == 0) return;

    auto const place = static_cast<uint64_t>(all_.find_member(ref) - all_.members_.data());
    uint64_t const what =
        static_cast<uint64_t>(cause) * kIdleCauseCount + static_cast<uint64_t>(idle);
    auto const [row, is_new] =
        places_.try_emplace((place << 40) | (what << 32) | host, rows_.size());
    if (is_new) rows_.push_back({ref, cause, idle, all_.names_[host], 0, 0, 0});

    WaitStats& to = rows_[row->second];
    to.gpu_ns = saturated_sum(to.gpu_ns, saturated_sum(amount.hidden, amount.exposed));
    to.exposed_ns = saturated_sum(to.exposed_ns, amount.exposed);
    ++to.collectives;
  }

  WaitAttribution const& all_;
  std::vector<Amount> amounts_;  ///< by collective: still to be charged
  std::vector<WaitStats> rows_;
  std::unordered_map<uint64_t, size_t> places_;
  std::vector<uint32_t> earlier_;  // reused
  std::vector<double> weights_;
  std::vector<int64_t> hidden_, exposed_;
};

std::vector<WaitStats> WaitAttribution::attribute_waits(
    std::vector<MeasuredTime> const& measured) const {
  Charges charges(*this);
  for (MeasuredTime const& time : measured)
    if (Member const* const member = find_member(time.ref))
      charges.add_waits(*member, time.periods);
  return charges.run();
}

void split_exactly(int64_t amount, std::span<double const> weights, std::span<int64_t> parts) {
  std::fill(parts.begin(), parts.end(), 0);
  if (amount == 0) return;

  double const total = std::accumulate(weights.begin(), weights.end(), 0.0);
  size_t largest = 0;
  int64_t left = amount;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > weights[largest]) largest = i;
    double const share = std::floor(static_cast<double>(amount) * (weights[i] / total));
    constexpr double kMost = 9e18;  // below 2^63
    parts[i] = std::min(left, static_cast<int64_t>(std::clamp(share, 0.0, kMost)));
    left -= parts[i];
  }

  // Rounding down left some: one each goes to the parts that lost most by it. An amount that a
  // double cannot hold leaves more, which goes to the largest part.
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto const lost = [&](size_t i) {
    return static_cast<double>(amount) * (weights[i] / total) - static_cast<double>(parts[i]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lost(a) > lost(b); });
  for (size_t i = 0; i < order.size() && left > 0; ++i, --left) ++parts[order[i]];
  parts[largest] += left;
}

}  // namespace stepscope::analyzer
