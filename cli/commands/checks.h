// What doctor and selftest print of their checks.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "doctor/check.h"

namespace stepscope::cli {

/// The words for a verdict, by its number: "OK" or "PASS" for the first.
struct VerdictWords {
  char const* good;
  char const* warning;
  char const* failure;
  char const* skipped;
};

/// One line: the verdict, the check's name, what was found; below it what to do.
void print_check(doctor::Check const& check, VerdictWords const& words);

nlohmann::json json_of(std::span<doctor::Check const> checks, VerdictWords const& words);

/// `stepscope doctor` without RUN. Returns the exit code.
int examine_machine(bool as_json);

}  // namespace stepscope::cli
