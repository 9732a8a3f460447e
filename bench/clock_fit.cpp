// How long it takes to set the clocks of 64 ranks by 10,000 collectives, and to match their
// participants. For comparison it times one sort of as many ends, which every robust fit needs.
// Medians of kRepeats.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "bench/median.h"
#include "trace/import/open/clock_fit.h"
#include "trace/model/derive/collective_match.h"

namespace {

using namespace stepscope;

constexpr int kRepeats = 7;
constexpr uint32_t kRanks = 64, kCollectives = 10'000;

double median_ms(std::function<void()> const& work) {
  return 1e3 * bench::median_s(kRepeats, work);
}

}  // namespace

int main() {
  std::mt19937_64 random(1);
  std::vector<import::CollectiveEnd> ends;
  std::vector<model::CollectiveDetail> details;
  for (uint32_t i = 0; i < kCollectives; ++i) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      int64_t const truth = int64_t{i} * 1'000'000 + static_cast<int64_t>(random() % 7000);
      ends.push_back({i, rank, truth + rank * 1'000'000 + truth / 100'000 * (rank % 3)});
    }
  }

  for (uint32_t rank = 0; rank < kRanks; ++rank)
    for (uint64_t i = 1; i <= kCollectives; ++i)
      details.push_back({.bytes = 1024, .communicator = 5, .sequence = i});
  std::vector<model::DeviceCollective> collectives;
  for (size_t i = 0; i < details.size(); ++i)
    collectives.push_back({static_cast<uint32_t>(i / kCollectives), &details[i]});

  uint64_t sum = 0;
  double const match =
      median_ms([&] { sum += model::match_collectives(collectives).back().collective; });
  double const fit = median_ms(
      [&] { sum += static_cast<uint64_t>(import::fit_clocks(kRanks, ends).back().offset_ns); });
  double const sorting = median_ms([&] {
    std::vector<int64_t> times;
    for (import::CollectiveEnd const& end : ends) times.push_back(end.end_ns);
    std::sort(times.begin(), times.end());
    sum += static_cast<uint64_t>(times.front());
  });

  fmt::print(
      "{} ranks x {} collectives: fit {:.1f} ms, match {:.1f} ms; one sort of the ends {:.1f} ms "
      "(fit / sort {:.2f}) [{}]\n",
      kRanks, kCollectives, fit, match, sorting, fit / sorting, sum % 10);
  return 0;
}
