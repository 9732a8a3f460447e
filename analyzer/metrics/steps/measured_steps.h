// The steps that rules measure: warm-up left out, each with the idle time that led to it. A loop
// may wait for data between its steps; that time is in no step's window, but it delays the step
// that follows. So the period of a step is its window, and the time since the end of the step
// before where nothing lies between. Nothing does if that step has the number just before and the
// device was idle.
//
// A few periods that are much longer than the others are a population of their own: their losses do
// not describe the steady step. So are the first ones, while the program still prepares something.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// The gaps of the facts that lie in some periods, by time; a gap that a period cuts is there with
/// the part in it. Refers to the facts. Takes room for each stretch of gaps that follow each other,
/// not for each gap.
class GapList {
 public:
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // O(log stretches).
  [[nodiscard]] IdleGap operator[](size_t place) const;
  [[nodiscard]] IdleCause cause(size_t place) const { return all_->cause(row(place)); }
  [[nodiscard]] bool is_way_from_sync(size_t place) const {
    return all_->is_way_from_sync(row(place));
  }
  [[nodiscard]] bool is_staging(size_t place) const { return all_->is_staging(row(place)); }
  [[nodiscard]] NotExplained why_not(size_t place) const { return all_->why_not(row(place)); }
  [[nodiscard]] Interval when(size_t place) const;

  /// Adds the rows from `first` up to `behind`, at least one: all that lie in the period. `all`
  /// must be the same each time; periods must come by time.
  void add(DeviceGaps const& all, size_t first, size_t behind, Interval period);

 private:
  /// Gaps that follow each other in all_, or one that a period has cut.
  struct Stretch {
    uint32_t place = 0, row = 0;  ///< of the first one
    bool is_cut = false;
    Interval part;  ///< of one that is cut
  };
  [[nodiscard]] Stretch const& stretch_of(size_t place) const;
  [[nodiscard]] size_t row(size_t place) const {
    Stretch const& stretch = stretch_of(place);
    return stretch.row + (place - stretch.place);
  }

  DeviceGaps const* all_ = nullptr;
  std::vector<Stretch> stretches_;  ///< by place
  size_t size_ = 0;
};

struct MeasuredDevice {
  DeviceRef ref;
  bool has_steps = false;  ///< false: the device's whole window stands as one period, and no cost
                           ///< per step is given; none where nothing but collectives was recorded
  std::vector<Interval> periods;     ///< by time, disjoint
  int64_t total_ns = 0;              ///< Σ periods
  IdleSplit idle{};                  ///< sums over the periods
  int64_t comm_ns = 0, copy_ns = 0;  ///< with what compute hides
  int64_t compute_ns = 0, exposed_comm_ns = 0, exposed_wait_ns = 0, exposed_late_ns = 0,
          exposed_copy_ns = 0;
  IdleSplit unhidden{};  ///< sums of unhidden_by_cause
  int64_t unhidden_comm_ns = 0;
  GapList gaps;  ///< in the periods, by time

  [[nodiscard]] double per_step(int64_t total) const {
    return periods.empty() ? 0 : static_cast<double>(total) / static_cast<double>(periods.size());
  }
  /// Mean length of a period, ns.
  [[nodiscard]] double step_ns() const { return per_step(total_ns); }
  /// Whether the instant lies in a period.
  [[nodiscard]] bool is_measured(int64_t instant) const;
  [[nodiscard]] int64_t idle_of(IdleCause cause) const { return idle[static_cast<size_t>(cause)]; }
};

/// Well outside of what a healthy machine varies by: a period of more than so many times the
/// device's median one is an outlier.
inline constexpr double kOutlier = 1.5;

/// The length, ns, that the usual ones of these sorted lengths do not pass: longer ones are
/// outliers. INT64_MAX where fewer than eight do not tell which length is the usual one.
int64_t longest_usual_ns(std::span<int64_t const> sorted);

/// Each beside facts.devices.
struct MeasuredSteps {
  std::vector<MeasuredDevice> all;
  std::vector<MeasuredDevice> steady;  ///< without the outliers and the slow start
  std::vector<MeasuredDevice>
      outliers;  ///< without periods where there are none, or too many to be exceptions
  /// The first periods, as long as all of them are more than kOutlier times what the run settles
  /// to. Empty where long ones come later, too, or where the run does not settle. None of them is
  /// an outlier.
  std::vector<MeasuredDevice> slow_start;
};
/// `facts` must outlive it.
MeasuredSteps measure_steps(Analysis const& facts);
/// MeasuredSteps::steady without idle and gaps, which stay empty: takes a fraction of the time.
std::vector<MeasuredDevice> measure_steady_times(Analysis const& facts);
/// A period, and of the idle time in it that is before its step's window why.
struct MeasuredPeriod {
  Interval when;
  IdleSplit lead{};
  bool is_steady = true;  ///< in MeasuredSteps::usual: no outlier, not of the slow start
};
/// The periods of MeasuredSteps::all alone: takes a fraction of the time.
std::vector<std::vector<MeasuredPeriod>> measured_periods(Analysis const& facts);

}  // namespace stepscope::analyzer
