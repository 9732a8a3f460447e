// What `stepscope tune` may change: knobs with their values, what restricts them, what is wanted
// (docs/guide/TUNE.md). Read by space_file.h, or made of a bundled workload.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "tune/expression.h"
#include "tune/meanings.h"

namespace stepscope::tune {

struct KnobRange {
  double low = 0, high = 0;
  bool is_log = false;
  bool is_whole = false;  ///< only whole numbers
};

struct Knob {
  std::string name;
  bool is_environment = false;      ///< the name is that of an environment variable
  bool changes_numerics = false;    ///< proposed, and taken only if the user allows it
  std::vector<std::string> values;  ///< distinct, with the default; of a range a coarse grid of it
  std::string default_value;
  std::optional<KnobRange> range;
  Meaning const* meaning = nullptr;          ///< null: only measured
  std::map<std::string, std::string> words;  ///< value → what the command gets; absent: the value
  [[nodiscard]] std::string const& word_of(std::string const& value) const;
};

/// A value a knob, in the order of the space.
using Settings = std::vector<std::string>;

struct Space {
  std::vector<Knob> knobs;
  /// Samples of a step, for `maximize = "samples_per_second"`; none: the step's time is minimized.
  std::optional<Expression> samples;
  std::vector<Expression> requirements;  ///< of what a run measured or printed
  std::vector<Expression> restrictions;  ///< of knobs
  std::optional<double> time_s;          ///< budget
  std::optional<size_t> pairs;           ///< most pairs a candidate
  std::optional<int64_t> steps;          ///< of a run: what {steps} in the command stands for
};

inline constexpr size_t kMostKnobs = 32, kMostKnobValues = 64, kMostKnobValueBytes = 1000,
                        kMostConditions = 32;
/// Points of a range that are tried, besides the default.
inline constexpr size_t kRangePoints = 5;

/// Steps of a short run: a quarter, and at least kFewestShortSteps. None where the steps are not
/// known, or so few that nothing is saved.
std::optional<int64_t> short_steps(Space const& space);
/// A run in turn is measured by the fastest quarter of its steps, and five of them are needed.
inline constexpr int64_t kFewestShortSteps = 32;

/// Distinct values from low to high, evenly or by their logarithms.
std::vector<std::string> grid_of(KnobRange const& range);
/// As a value of the range is written.
std::string range_value(KnobRange const& range, double value);

/// What no search could work with: no knob, a knob without a default among its values, a
/// restriction that names no knob or excludes the default settings. The message names the knob.
base::Expected<void> check_space(Space const& space);

Settings default_settings(Space const& space);
/// Restrictions that cannot be computed for these settings do not hold.
bool is_allowed(Space const& space, Settings const& settings);
/// Names of knobs as they stand in expressions.
Lookup lookup_of(Space const& space, Settings const& settings);
/// Samples of a step with these settings; 1 where the step's time is minimized. Errors: no positive
/// number.
base::Expected<double> samples_of(Space const& space, Settings const& settings);

/// "90", "90s", "10m", "2h" in seconds. Errors: not of that form, 0, more than a year.
base::Expected<double> parse_budget_time(std::string_view text);

/// "workers=8, overlap=on": where they differ from `base`; "the default" where they do not.
std::string changed_text(Space const& space, Settings const& settings, Settings const& base);
/// Whether one of the knobs that differ changes numerics.
bool changes_numerics(Space const& space, Settings const& settings, Settings const& base);

}  // namespace stepscope::tune
