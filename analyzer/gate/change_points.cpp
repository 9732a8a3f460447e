#include "analyzer/gate/change_points.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

/// Sums of |x − y| over all pairs of two runs of neighbours: before(i, j) is that over the values
/// before i and those before j.
class DistanceSums {
 public:
  explicit DistanceSums(std::span<double const> values)
      : width_(values.size() + 1), sums_(width_ * width_, 0) {
    for (size_t i = 1; i < width_; ++i) {
      double row = 0;
      for (size_t j = 1; j < width_; ++j) {
        row += std::abs(values[i - 1] - values[j - 1]);
        sums_[i * width_ + j] = sums_[(i - 1) * width_ + j] + row;
      }
    }
  }
  [[nodiscard]] double between(size_t first, size_t last, size_t other_first,
                               size_t other_last) const {
    return before(last, other_last) - before(first, other_last) - before(last, other_first) +
           before(first, other_first);
  }

 private:
  [[nodiscard]] double before(size_t i, size_t j) const { return sums_[i * width_ + j]; }

  size_t width_;
  std::vector<double> sums_;
};

double q_of(DistanceSums const& sums, size_t at, size_t end) {
  auto const m = static_cast<double>(at), n = static_cast<double>(end - at);
  double const between = sums.between(0, at, at, end) / (m * n);
  // Each pair is in the sum twice, and so it is in m (m − 1).
  double const within_first = sums.between(0, at, 0, at) / (m * (m - 1));
  double const within_second = sums.between(at, end, at, end) / (n * (n - 1));
  return m * n / (m + n) * (2 * between - within_first - within_second);
}

/// In place, by a generator whose numbers the standard fixes; std::shuffle is not the same
/// everywhere.
void shuffle_values(std::span<double> values, std::mt19937_64& random) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

struct Segment {
  size_t first = 0, last = 0;
  std::optional<SplitPlace> split;
};

/// Most Q over the segments when their values are shuffled.
double shuffled_q(std::span<double const> series, std::vector<Segment> const& segments,
                  std::mt19937_64& random) {
  double most = 0;
  for (Segment const& segment : segments) {
    std::vector<double> values(series.begin() + static_cast<std::ptrdiff_t>(segment.first),
                               series.begin() + static_cast<std::ptrdiff_t>(segment.last));
    shuffle_values(values, random);
    if (auto const split = best_split(values)) most = std::max(most, split->q);
  }
  return most;
}

/// The share of shuffles that have as much; those that are left when it is too large already are
/// not made.
double permutation_p(std::span<double const> series, std::vector<Segment> const& segments, double q,
                     std::mt19937_64& random) {
  constexpr auto kAll = static_cast<double>(kPermutations + 1);
  size_t as_much = 1;  // the series itself
  for (size_t i = 0; i < kPermutations; ++i) {
    as_much += shuffled_q(series, segments, random) >= q ? 1 : 0;
    if (static_cast<double>(as_much) / kAll > kChangePointError) return 1;
  }
  return static_cast<double>(as_much) / kAll;
}

Segment make_segment(std::span<double const> series, size_t first, size_t last) {
  return {first, last, best_split(series.subspan(first, last - first))};
}

}  // namespace

std::optional<SplitPlace> best_split(std::span<double const> segment) {
  if (segment.size() < 2 * kFewestOfLevel) return std::nullopt;
  DistanceSums const sums(segment);
  SplitPlace best;
  for (size_t at = kFewestOfLevel; at + kFewestOfLevel <= segment.size(); ++at)
    for (size_t end = at + kFewestOfLevel; end <= segment.size(); ++end) {
      double const q = q_of(sums, at, end);
      if (best.end == 0 || q > best.q) best = {at, end, q};
    }
  return best;
}

std::vector<SeriesChange> find_changes(std::span<double const> series, uint64_t seed) {
  STEPSCOPE_CHECK(series.size() <= kMostSeriesValues);
  std::mt19937_64 random(seed);
  std::vector<Segment> segments = {make_segment(series, 0, series.size())};
  std::vector<SeriesChange> changes;
  for (;;) {
    size_t best = segments.size();
    for (size_t i = 0; i < segments.size(); ++i)
      if (segments[i].split &&
          (best == segments.size() || segments[i].split->q > segments[best].split->q))
        best = i;
    if (best == segments.size() || segments[best].split->q <= 0) break;
    double const p = permutation_p(series, segments, segments[best].split->q, random);
    if (p > kChangePointError) break;
    Segment const whole = segments[best];
    size_t const at = whole.first + whole.split->at;
    changes.push_back({at, p});
    segments[best] = make_segment(series, whole.first, at);
    segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(best) + 1,
                    make_segment(series, at, whole.last));
  }
  std::sort(changes.begin(), changes.end(),
            [](SeriesChange const& a, SeriesChange const& b) { return a.at < b.at; });
  return changes;
}

}  // namespace stepscope::analyzer
