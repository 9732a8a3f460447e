#include "analyzer/metrics/communication/negotiations.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

constexpr std::string_view kPrefix = "NEGOTIATE_";
/// More ranks than any job has: numbers beyond are names of something else.
constexpr int64_t kMostRanks = int64_t{1} << 20;

/// What a name stands for, by string.
class NegotiationNames {
 public:
  explicit NegotiationNames(model::StringTable const& strings) {
    for (uint32_t id = 0; id < strings.size() && !any_; ++id)
      any_ = strings.text(model::StringId{id}).starts_with(kPrefix);
    if (!any_) return;
    meaning_.resize(strings.size(), kOther);
    for (uint32_t id = 0; id < strings.size(); ++id)
      meaning_[id] = meaning_of(strings.text(model::StringId{id}));
  }
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] bool is_negotiation(model::StringId name) const {
    return meaning_[name.value] == kNegotiation;
  }
  /// The rank whose number the name is; −1: none.
  [[nodiscard]] int64_t rank(model::StringId name) const {
    return std::max<int64_t>(meaning_[name.value], -1);
  }

 private:
  static constexpr int64_t kOther = -1, kNegotiation = -2;
  static int64_t meaning_of(std::string_view name) {
    if (name.starts_with(kPrefix)) return kNegotiation;
    int64_t number = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    bool const is_rank = error == std::errc{} && end == name.data() + name.size() && number >= 0 &&
                         number < kMostRanks;
    return is_rank && name[0] != '-' ? number : kOther;
  }
  bool any_ = false;
  std::vector<int64_t> meaning_;
};

struct Ready {
  int64_t at_ns = 0, rank = 0;
};
struct Negotiation {
  std::vector<Ready> ready;  ///< by time, each rank once
  uint32_t track = 0;
};

/// The last of the ranks of one negotiation.
struct Lateness {
  int64_t rank = 0;
  Interval when;  ///< from the last but one to it
  uint32_t track = 0;
};

void finish(Negotiation& open, std::vector<Negotiation>& all) {
  if (open.ready.empty()) return;

  std::stable_sort(open.ready.begin(), open.ready.end(),
                   [](Ready const& a, Ready const& b) { return a.at_ns < b.at_ns; });

  std::vector<Ready> once;
  for (Ready const& ready : open.ready)
    if (std::none_of(once.begin(), once.end(),
                     [&](Ready const& other) { return other.rank == ready.rank; }))
      once.push_back(ready);

  open.ready = std::move(once);
  all.push_back(std::move(open));
}

/// Appends the negotiations of one thread. A tick may come in the very instant in which its
/// negotiation ends.
void collect(model::RankTrace const& rank, uint32_t track, NegotiationNames const& names,
             std::vector<Negotiation>& all) {
  RowView const rows(rank);
  model::Trace::Rows const of_track = rank.trace.rows_of(model::TrackId{track});

  Negotiation open;
  int64_t until = std::numeric_limits<int64_t>::min();
  for (uint32_t row = of_track.first; row < of_track.last; ++row) {
    model::EventKind const kind = rows.kind(row);
    if (!model::is_range(kind) && !model::is_mark(kind)) continue;
    if (model::is_range(kind) && names.is_negotiation(rows.name(row))) {
      finish(open, all);
      open = {{}, track};
      until = rows.end(row);
      continue;
    }

    int64_t const of_rank = names.rank(rows.name(row));
    if (of_rank >= 0 && rows.start(row) <= until && open.ready.size() < kMostRanks)
      open.ready.push_back({rows.start(row), of_rank});
  }
  finish(open, all);
}

/// Sums of one rank; `late` by begin.
NegotiationStats::Rank sums_of(int64_t rank, std::vector<Lateness> late) {
  NegotiationStats::Rank facts;
  facts.rank = rank;
  facts.last = late.size();
  std::sort(late.begin(), late.end(),
            [](Lateness const& a, Lateness const& b) { return a.when.begin < b.when.begin; });

  // Overlapping waits are one moment: its length counts once.
  int64_t sum = 0;
  std::optional<Interval> stretch;
  auto const end_stretch = [&] {
    if (!stretch || stretch->length() == 0) return;
    ++facts.moments;
    add_saturated(facts.late_ns, stretch->length());
    if (stretch->length() > facts.worst.length()) facts.worst = *stretch;
  };

  for (Lateness const& one : late) {
    add_saturated(sum, one.when.length());
    if (one.when.length() > facts.longest_ns)
      facts.longest_ns = one.when.length(), facts.track = one.track;
    if (stretch && one.when.begin <= stretch->end) {
      stretch->end = std::max(stretch->end, one.when.end);
      continue;
    }
    end_stretch();
    stretch = one.when;
  }
  end_stretch();

  if (!late.empty()) facts.mean_ns = sum / std::ssize(late);
  return facts;
}

}  // namespace

std::optional<NegotiationStats> find_negotiations(model::RankTrace const& rank,
                                                  int32_t rank_index) {
  NegotiationNames const names(rank.trace.strings());
  if (!names.any()) return std::nullopt;

  std::vector<Negotiation> all;
  auto const tracks = rank.trace.tracks();
  for (uint32_t track = 0; track < tracks.size(); ++track)
    if (tracks[track].kind == model::TrackKind::kThread) collect(rank, track, names, all);

  size_t ranks = 0;
  for (Negotiation const& one : all) ranks = std::max(ranks, one.ready.size());
  if (ranks < 2) return std::nullopt;

  NegotiationStats facts;
  facts.rank_index = rank_index;
  auto const [first, last] = rank.trace.time_range();
  facts.window_ns = last - first;

  std::map<int64_t, std::vector<Lateness>> late;
  for (Negotiation const& one : all) {
    // Without a tick of some rank the last one is unknown.
    if (one.ready.size() < ranks) {
      ++facts.incomplete;
      continue;
    }

    ++facts.count;
    for (Ready const& ready : one.ready) late.try_emplace(ready.rank);
    Ready const last_one = one.ready.back(), before = one.ready[one.ready.size() - 2];
    if (last_one.at_ns == before.at_ns) continue;  // two at once: neither is late
    late[last_one.rank].push_back({last_one.rank, {before.at_ns, last_one.at_ns}, one.track});
  }

  for (auto& [number, of_rank] : late) facts.ranks.push_back(sums_of(number, std::move(of_rank)));
  std::stable_sort(facts.ranks.begin(), facts.ranks.end(),
                   [](auto const& a, auto const& b) { return a.late_ns > b.late_ns; });
  return facts;
}

}  // namespace stepscope::analyzer
