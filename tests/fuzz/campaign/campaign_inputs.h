// Inputs of the fuzzing campaign: seeds of every format, and mutants of them and of mutants that a
// command could read.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "trace/base/bytes.h"

namespace stepscope::fuzz {

using Input = std::vector<std::byte>;

class CampaignInputs {
 public:
  /// `corpus`: tests/fuzz/corpus. Takes the seeds of the formats that commands read.
  CampaignInputs(std::string const& corpus, uint64_t seed);
  [[nodiscard]] size_t seeds() const { return seeds_.size(); }

  /// A mutant, of kMostBytes at most.
  Input next();
  /// The last mutant could be read: it may be changed further.
  void keep(Input input);

  static constexpr size_t kMostBytes = 1U << 20;

 private:
  Input const& pick();
  void mutate_trace(Input& input);
  void mutate_other(Input& input);

  std::vector<Input> seeds_;
  std::vector<Input> readable_;  ///< mutants, the latest at random places
  std::mt19937_64 random_;
};

}  // namespace stepscope::fuzz
