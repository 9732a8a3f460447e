// One answer to one question about a machine or a recording: how it went, what was found, and what
// mends it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepscope::doctor {

enum class Verdict : uint8_t { kGood = 0, kWarning = 1, kFailure = 2, kSkipped = 3 };

struct Check {
  std::string name;
  Verdict verdict = Verdict::kGood;
  std::string found;                        ///< with numbers, versions and paths
  std::string fix;                          ///< what to do; empty where nothing is to be done
  std::map<std::string, double> numbers{};  ///< measured, for programs; the name has the unit
};

}  // namespace stepscope::doctor
