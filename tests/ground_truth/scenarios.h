// The jobs whose first finding is known: what `stepscope synth` makes of each fault, in patterns,
// sizes and amounts that differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::ground_truth {

/// A synthetic run.
struct Scenario {
  std::string pattern;
  int32_t ranks = 4;
  std::string fault;  ///< as `stepscope synth --fault` takes it
  uint64_t seed = 1;
  int64_t steps = 40;
  /// "dp 4 input=4 #1": unique among the scenarios.
  [[nodiscard]] std::string name() const;
};
std::vector<Scenario> scenarios();

/// What was known of a run, and what the analyzer found.
struct Outcome {
  std::string scenario;
  std::string expected;  ///< a rule; empty = nothing above info
  std::string found;     ///< rule of the first finding above info; empty = none
  std::optional<int64_t> injected_ns,
      stated_ns;  ///< per step; of the expected rule's finding, wherever it stands
  std::optional<int32_t> expected_rank, found_rank;  ///< where the fault is one rank's
  std::string error;                                 ///< the run could not be made or read

  [[nodiscard]] bool is_right() const;
  /// True where there is no cost to compare.
  [[nodiscard]] bool is_cost_right() const;
};

/// Makes the run in `folder`, which must be empty, and analyzes it.
Outcome play(Scenario const& scenario, std::string const& folder);

/// A line an outcome, then precision, recall and the share of right costs. Returns whether all are
/// as they must be.
bool print_table(std::vector<Outcome> const& outcomes);

/// The workloads with each of their injected faults on two host devices, by the program
/// `stepscope`, their runs below `folder`.
std::vector<Outcome> play_workloads(std::string const& stepscope, std::string const& folder,
                                    std::string const& only);

}  // namespace stepscope::ground_truth
