// THE table of what `stepscope tune WORKLOAD` may change of a bundled workload: options, values,
// and what they mean to the replay (tune/meanings.h).
#pragma once

#include <span>
#include <string_view>

namespace stepscope::workloads {

struct TuningKnob {
  char const* name;
  char const* option;  ///< "--bucket-mb" with a value; null: on and off have a flag each
  char const* on_flag;
  char const* off_flag;  ///< empty: none
  std::span<char const* const> values;
  char const* default_value;  ///< of the workload, without the option
  char const* means;          ///< empty: it is only measured
  bool changes_numerics = false;
  bool needs_cuda = false;
};

/// Empty: the workload has nothing to tune, or does not exist.
std::span<TuningKnob const> tuning_knobs(std::string_view workload);
/// Options of the workload that every trial gets: it trains, and does nothing else.
std::span<char const* const> tuning_arguments(std::string_view workload);

}  // namespace stepscope::workloads
