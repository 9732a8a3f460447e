#include "analyzer/whatif/missing_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analyzer/metrics/steps/measured_steps.h"
#include "trace/model/collective_ops.h"
#include "trace/model/derive/shared_notes.h"

namespace stepscope::analyzer {
namespace {

/// Ranks begin and end their recordings at slightly different times: fewer collectives without a
/// rank are no gap.
constexpr double kLeastAbsence = 0.02;

/// From the first measured step of any device to the last one.
Interval measured_range(Analysis const& analysis) {
  Interval range{0, 0};
  for (std::vector<MeasuredPeriod> const& periods : measured_periods(analysis))
    for (MeasuredPeriod const& period : periods) {
      if (range.end == range.begin) range = period.when;
      range.begin = std::min(range.begin, period.when.begin);
      range.end = std::max(range.end, period.when.end);
    }
  return range;
}

bool tells_its_ranks(CollectiveStats const& collective) {
  return collective.communicator != 0 && !model::is_point_to_point(collective.op) &&
         !collective.participants.empty();
}

/// Communicators whose collectives have not all as many participants.
std::set<uint64_t> uneven_communicators(std::vector<CollectiveStats> const& collectives) {
  std::unordered_map<uint64_t, size_t> size_of;
  std::set<uint64_t> uneven;
  for (CollectiveStats const& collective : collectives) {
    if (!tells_its_ranks(collective)) continue;
    size_t const size = collective.participants.size();
    auto const [known, is_new] = size_of.try_emplace(collective.communicator, size);
    if (!is_new && known->second != size) uneven.insert(collective.communicator);
  }
  return uneven;
}

/// Collectives of a communicator in the measured steps.
struct Attendance {
  uint64_t collectives = 0;
  std::map<DeviceRef, uint64_t> joined;  ///< by each device that joins any of the run
};

std::map<uint64_t, Attendance> attendance_of(Analysis const& analysis) {
  std::set<uint64_t> const uneven = uneven_communicators(analysis.collectives);
  std::map<uint64_t, Attendance> attendance;
  if (uneven.empty()) return attendance;
  Interval const measured = measured_range(analysis);

  for (CollectiveStats const& collective : analysis.collectives) {
    if (!tells_its_ranks(collective) || !uneven.contains(collective.communicator)) continue;
    int64_t const begin = collective.participants.front().when.begin;
    bool const counts = begin >= measured.begin && begin < measured.end;

    Attendance& here = attendance[collective.communicator];
    here.collectives += counts ? 1 : 0;
    for (CollectiveStats::Participant const& participant : collective.participants)
      here.joined[participant.ref] += counts ? 1 : 0;
  }
  return attendance;
}

/// Ranks that miss in collectives of their communicators, and in which share of them at most.
std::map<int32_t, double> absent_ranks(model::Run const& run, Analysis const& analysis) {
  std::map<int32_t, double> absent;

  for (auto const& [communicator, attendance] : attendance_of(analysis))
    for (auto const& [ref, joined] : attendance.joined) {
      if (joined >= attendance.collectives) continue;
      auto const all = static_cast<double>(attendance.collectives);
      double const share = 1 - static_cast<double>(joined) / all;
      if (share < kLeastAbsence) continue;

      double& most = absent[run.ranks[static_cast<size_t>(ref.rank_index)].trace.info().rank];
      most = std::max(most, share);
    }
  return absent;
}

/// "waits for it count as transfer and stay as recorded".
std::string meaning_of_absence(size_t ranks) {
  return fmt::format("waits for {} count as transfer and stay as recorded",
                     ranks == 1 ? "it" : "them");
}

}  // namespace

std::vector<std::string> missing_work(model::Run const& run, Analysis const& analysis) {
  std::vector<std::string> sentences;
  std::vector<int32_t> const& missing = analysis.integrity.missing_ranks;
  if (!missing.empty())
    sentences.push_back(fmt::format("{} {} not in the recording: {}", model::rank_list(missing),
                                    missing.size() == 1 ? "is" : "are",
                                    meaning_of_absence(missing.size())));

  std::map<int32_t, double> const absent = absent_ranks(run, analysis);
  if (absent.empty()) return sentences;
  std::vector<int32_t> ranks;
  double most = 0;
  for (auto const& [rank, share] : absent) {
    ranks.push_back(rank);
    most = std::max(most, share);
  }

  bool const is_one = ranks.size() == 1;
  sentences.push_back(fmt::format(
      "{} {} recorded only in part ({}{:.0f} % of {} collectives are without {}): {} there",
      model::rank_list(ranks), is_one ? "is" : "are", is_one ? "" : "up to ", most * 100,
      is_one ? "its" : "their", is_one ? "it" : "them", meaning_of_absence(ranks.size())));
  return sentences;
}

}  // namespace stepscope::analyzer
