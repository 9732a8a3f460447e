#include "trace/model/collective_match.h"

#include <array>
#include <optional>
#include <set>
#include <unordered_map>

namespace stepscope::model {
namespace {

/// What the participants of a collective agree in, all but how often the same came before.
using MatchKey = std::array<uint64_t, 4>;

struct HashOfKey {
  size_t operator()(MatchKey const& key) const {
    uint64_t hash = 0x9E3779B97F4A7C15U;
    for (uint64_t const part : key) {
      hash = (hash ^ part) * 0xFF51AFD7ED558CCDU;
      hash ^= hash >> 32U;
    }
    return static_cast<size_t>(hash);
  }
};

enum class Numbering : uint8_t { kSequence, kOrder, kOrderOfPair };

class Matcher {
 public:
  explicit Matcher(std::span<DeviceCollective const> collectives) {
    uint32_t devices = 0;
    std::optional<uint32_t> last;
    for (DeviceCollective const& each : collectives) {
      if (each.detail->communicator != 0 && each.detail->sequence != 0) with_sequence_.insert(each.detail->communicator);
      devices += each.device != last ? 1 : 0;
      last = each.device;
    }
    devices_ = devices;
  }

  CollectiveMatch operator()(DeviceCollective const& each) {
    auto const key = key_of(*each.detail);
    if (!key) return {next_++, 0};
    SameKey& same = seen_[*key];
    if (same.device != each.device || same.collectives.empty()) {
      same.device = each.device;
      same.on_device = 0;
    }
    uint64_t const order = same.on_device++;
    if (order == same.collectives.size()) same.collectives.push_back(next_++);
    bool const is_numbered = (*key)[1] >> 56U == static_cast<uint64_t>(Numbering::kSequence);
    return {same.collectives[order], is_numbered ? each.detail->sequence : order};
  }

 private:
  struct SameKey {
    uint32_t device = 0;                ///< the last one that had it
    uint64_t on_device = 0;             ///< how often it had it
    std::vector<uint32_t> collectives;  ///< the n-th on each device
  };

  /// Nothing: cannot be matched.
  [[nodiscard]] std::optional<MatchKey> key_of(CollectiveDetail const& detail) const {
    auto const tag = [&](Numbering numbering, CollectiveOp op) {
      return static_cast<uint64_t>(numbering) << 56U | static_cast<uint64_t>(op);
    };
    bool const has_sequence = with_sequence_.contains(detail.communicator);
    bool const is_pair = is_point_to_point(detail.op);
    // A communicator's first collective may have the number 0.
    if (has_sequence && (detail.sequence != 0 || !is_pair))
      return MatchKey{detail.communicator, tag(Numbering::kSequence, CollectiveOp::kUnknown), detail.sequence, 0};
    if (is_pair) {
      if (detail.rank < 0 || detail.peer < 0) return std::nullopt;
      bool const sends = detail.op == CollectiveOp::kSend;
      auto const from = static_cast<uint64_t>(sends ? detail.rank : detail.peer);
      auto const to = static_cast<uint64_t>(sends ? detail.peer : detail.rank);
      return MatchKey{detail.communicator, tag(Numbering::kOrderOfPair, CollectiveOp::kSend), from << 32U | to, detail.bytes};
    }
    if (detail.communicator == 0 && detail.participants != 0 && detail.participants < devices_) return std::nullopt;
    return MatchKey{detail.communicator, tag(Numbering::kOrder, detail.op), 0, detail.bytes};
  }

  std::set<uint64_t> with_sequence_;  ///< communicators whose collectives have one
  uint32_t devices_ = 0;
  uint32_t next_ = 0;
  std::unordered_map<MatchKey, SameKey, HashOfKey> seen_;
};

}  // namespace

std::vector<CollectiveMatch> match_collectives(std::span<DeviceCollective const> collectives) {
  Matcher match(collectives);
  std::vector<CollectiveMatch> matches;
  matches.reserve(collectives.size());
  for (DeviceCollective const& each : collectives) matches.push_back(match(each));
  return matches;
}

}  // namespace stepscope::model
