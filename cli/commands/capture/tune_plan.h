// What a search was asked for: kept in its folder, so that it can be resumed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "tune/space.h"
#include "tune/study.h"

namespace stepscope::cli {

struct TunePlan {
  std::string space_text;              ///< TOML; empty: a bundled workload
  std::string workload;                ///< empty: a command
  std::vector<std::string> arguments;  ///< options of the workload, or the command with {knobs}
  double min_effect_percent = 2;
  double time_s = 600;
  uint64_t pairs = 16;
  bool allows_numerics = false;
  bool is_apart = false;  ///< the two runs of a pair follow each other instead of taking turns
  int64_t turn_steps = 8;
  double timeout_s = 0;  ///< of one program; 0: follows from the ones before

  // Follow from it: complete_plan().
  tune::Space space;
  std::vector<std::string> words;  ///< the command with {knobs}
};

/// `path`: of the space, for messages. Errors: in the space, the command or the workload's options.
base::Expected<void> complete_plan(TunePlan& plan, std::string const& path);
tune::StudyOptions study_options(TunePlan const& plan);

std::string plan_text(TunePlan const& plan);
/// Reads untrusted text. Errors: `path` and what is wrong.
base::Expected<TunePlan> parse_plan(std::string_view text, std::string const& path);
/// What two searches must have in common to share their trials.
std::string fingerprint_of_plan(TunePlan const& plan);

/// Space and command of a bundled workload: what `arguments` set becomes the default of its knob.
/// Errors: no such workload, nothing to tune, an option without its value.
base::Expected<void> plan_workload(TunePlan& plan);
/// The knobs of the bundled workloads with their values, for `tune --help`.
std::string workload_knobs_text();

}  // namespace stepscope::cli
