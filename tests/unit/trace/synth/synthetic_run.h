// Runs that tests make, and what the analyzer says of them in the words of truth.json.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/results/analysis.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "trace/import/open/open_run.h"
#include "trace/synth/process/truth.h"
#include "trace/synth/synth.h"

namespace stepscope::synth::made {

using nlohmann::json;
using workloads::testing::read_bytes;
using workloads::testing::TemporaryFolder;

/// A run in a folder of its own.
struct SyntheticRun {
  TemporaryFolder folder;
  SynthSummary summary;
  json truth;

  SyntheticRun(std::string_view pattern, int32_t ranks, uint64_t events, uint64_t seed = 1) {
    SynthOptions options;
    options.pattern = find_pattern(pattern);
    options.ranks = ranks;
    options.events_per_rank = events;
    options.seed = seed;
    make(options);
  }
  /// A job of one fault, as the command line takes it.
  SyntheticRun(std::string_view pattern, int32_t ranks, std::string const& fault, int64_t steps,
               uint64_t seed = 1) {
    SynthOptions options;
    options.pattern = find_pattern(pattern);
    options.ranks = ranks;
    options.steps = steps;
    options.seed = seed;

    auto const parsed = parse_fault(fault);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
    if (parsed) options.fault = *parsed;

    make(options);
  }
  [[nodiscard]] model::Run open() const {
    auto run = import::open_run(folder.path());
    EXPECT_TRUE(run) << (run ? "" : run.error().message);
    return std::move(*run);
  }

 private:
  void make(SynthOptions const& options) {
    auto const made = make_run(options, folder.path());
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (made) summary = *made;
    truth = json::parse(read_bytes(folder.file("truth.json")));
  }
};

/// What the analyzer says of a window, spelled as in truth.json.
inline json time_of(model::Interval window, analyzer::TimeSplit const& time) {
  json idle = json::object();
  for (size_t cause = 0; cause < kIdleCauseCount; ++cause)
    idle[to_string(static_cast<IdleCause>(cause))] = 0;

  for (size_t cause = 0; cause < analyzer::kIdleCauseCount; ++cause)
    if (time.idle_by_cause[cause] != 0)
      idle[to_string(static_cast<analyzer::IdleCause>(cause))] = time.idle_by_cause[cause];

  return {{"begin_ns", window.begin},
          {"end_ns", window.end},
          {"busy_ns", time.busy_ns},
          {"compute_ns", time.compute_ns},
          {"comm_ns", time.comm_ns},
          {"copy_ns", time.copy_ns},
          {"exposed_comm_ns", time.exposed_comm_ns},
          {"exposed_copy_ns", time.exposed_copy_ns},
          {"exposed_wait_ns", time.exposed_wait_ns},
          {"idle_ns", idle}};
}

/// The members of `truth` that `found` has.
inline json same_members(json const& truth, json const& found) {
  json result = json::object();
  for (auto const& [key, value] : found.items()) result[key] = truth.at(key);
  return result;
}

inline json const& step_of(json const& truth, int64_t rank, int64_t step) {
  for (json const& line : truth.at("steps"))
    if (line.at("rank") == rank && line.at("step") == step) return line;
  throw std::out_of_range("no such step in truth.json");
}

}  // namespace stepscope::synth::made
