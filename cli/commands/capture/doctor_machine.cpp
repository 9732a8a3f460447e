// stepscope doctor without RUN: is this machine ready to train and to record? See doctor/machine.h.
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/commands/checks.h"
#include "doctor/machine.h"

namespace stepscope::cli {
namespace {

constexpr VerdictWords kWords = {"OK", "WARN", "FAIL", "SKIP"};

std::string conclusion(size_t failures, size_t warnings) {
  if (failures > 0) return fmt::format("not ready: {} to fix", failures);
  if (warnings == 0) return "ready";
  return fmt::format("ready, with {} warning{}", warnings, warnings == 1 ? "" : "s");
}

}  // namespace

int examine_machine(bool as_json) {
  std::vector<doctor::Check> const checks = doctor::examine(doctor::this_machine(program_folder()));
  auto const count = [&](doctor::Verdict verdict) {
    return static_cast<size_t>(
        std::count_if(checks.begin(), checks.end(),
                      [&](doctor::Check const& check) { return check.verdict == verdict; }));
  };

  size_t const failures = count(doctor::Verdict::kFailure);

  if (as_json) {
    nlohmann::json const all = {{"ready", failures == 0}, {"checks", json_of(checks, kWords)}};
    std::printf("%s\n", all.dump(2, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (doctor::Check const& check : checks) print_check(check, kWords);
    std::printf("%s\n", conclusion(failures, count(doctor::Verdict::kWarning)).c_str());
  }

  return failures == 0 ? kGood : kFinding;
}

}  // namespace stepscope::cli
