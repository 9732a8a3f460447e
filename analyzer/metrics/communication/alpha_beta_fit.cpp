#include "analyzer/metrics/communication/alpha_beta_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {
namespace {

using Transfers = std::map<uint64_t, std::vector<int64_t>>;  ///< by bytes

/// Larger messages are slower by more than chance only if the slope is so many times its standard
/// error: by chance one in 40 is.
constexpr double kClearSlope = 2;
/// The standard deviation of a normal distribution in median absolute deviations.
constexpr double kSigmaOfMedian = 1.4826;

/// Transfers of one size: x bytes take y ns, seen `weight` times.
struct Sample {
  double x, y, weight;
};

std::vector<Sample> medians(Transfers& transfers) {
  std::vector<Sample> samples;
  for (auto& [bytes, times] : transfers)
    samples.push_back({static_cast<double>(bytes), static_cast<double>(lower_median(times)),
                       static_cast<double>(times.size())});
  return samples;
}

struct Line {
  double intercept, slope;
  [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};

std::optional<Line> least_squares(std::vector<Sample> const& samples) {
  if (samples.size() < 2) return std::nullopt;

  double weight = 0, mean_x = 0, mean_y = 0;
  for (Sample const& s : samples) {
    weight += s.weight;
    mean_x += s.weight * s.x;
    mean_y += s.weight * s.y;
  }
  mean_x /= weight;
  mean_y /= weight;

  double xx = 0, xy = 0;
  for (Sample const& s : samples) {
    xx += s.weight * (s.x - mean_x) * (s.x - mean_x);
    xy += s.weight * (s.x - mean_x) * (s.y - mean_y);
  }

  Line line{0, xy / xx};
  line.intercept = mean_y - line.slope * mean_x;
  if (line.intercept < 0) {  // a latency cannot be negative: through the origin instead
    double squares = 0, products = 0;
    for (Sample const& s : samples) {
      squares += s.weight * s.x * s.x;
      products += s.weight * s.x * s.y;
    }
    line = {0, products / squares};
  }

  if (line.slope <= 0) return std::nullopt;
  return line;
}

/// Whether larger messages are slower by more than what all of them vary by. The scale is robust: a
/// few that were disturbed say nothing.
bool is_clear(Line const& line, std::vector<Sample> const& samples, Transfers const& transfers) {
  double weight = 0, mean_x = 0;
  for (Sample const& s : samples) {
    weight += s.weight;
    mean_x += s.weight * s.x;
  }
  mean_x /= weight;
  double xx = 0;
  for (Sample const& s : samples) xx += s.weight * (s.x - mean_x) * (s.x - mean_x);

  std::vector<double> off;
  off.reserve(static_cast<size_t>(weight));
  for (auto const& [bytes, times] : transfers)
    for (int64_t const ns : times)
      off.push_back(std::abs(static_cast<double>(ns) - line.at(static_cast<double>(bytes))));
  return line.slope * std::sqrt(xx) >= kClearSlope * kSigmaOfMedian * lower_median(off);
}

}  // namespace

std::vector<LinkFit> fit_links(std::vector<CollectiveStats> const& collectives) {
  std::map<std::pair<uint64_t, model::CollectiveOp>, Transfers> groups;
  for (CollectiveStats const& facts : collectives)
    if (facts.busbw_gbps)
      groups[{facts.communicator, facts.op}][facts.bytes].push_back(facts.transfer_ns);

  std::vector<LinkFit> result;
  for (auto& [key, transfers] : groups) {
    std::vector<Sample> const samples = medians(transfers);
    std::optional<Line> const line = least_squares(samples);
    if (!line || !is_clear(*line, samples, transfers)) continue;

    LinkFit fit{key.first, key.second};
    fit.alpha_us = line->intercept / 1e3;
    fit.beta_gbps = 1 / line->slope;  // bytes per ns = GB/s
    fit.half_bandwidth_bytes = line->intercept / line->slope;
    for (Sample const& s : samples) fit.samples += static_cast<uint32_t>(s.weight);
    result.push_back(fit);
  }
  return result;
}

}  // namespace stepscope::analyzer
