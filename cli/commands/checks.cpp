#include "cli/commands/checks.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

using doctor::Verdict;

char const* word_for(Verdict verdict, VerdictWords const& words) {
  switch (verdict) {
    case Verdict::kGood:
      return words.good;
    case Verdict::kWarning:
      return words.warning;
    case Verdict::kFailure:
      return words.failure;
    case Verdict::kSkipped:
      return words.skipped;
  }
  return "";
}

char const* color_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "\033[32m";
    case Verdict::kWarning:
      return "\033[33m";
    case Verdict::kFailure:
      return "\033[31m";
    case Verdict::kSkipped:
      return "\033[2m";
  }
  return "";
}

}  // namespace

void print_check(doctor::Check const& check, VerdictWords const& words) {
  bool const color = use_color();
  std::printf("%s%-4s%s  %-22s %s\n", color ? color_for(check.verdict) : "",
              word_for(check.verdict, words), color ? "\033[0m" : "",
              base::printable(check.name).c_str(), base::printable(check.found).c_str());
  if (!check.fix.empty()) std::printf("      %-22s → %s\n", "", base::printable(check.fix).c_str());
  std::fflush(stdout);
}

nlohmann::json json_of(std::span<doctor::Check const> checks, VerdictWords const& words) {
  nlohmann::json all = nlohmann::json::array();
  for (doctor::Check const& check : checks) {
    all.push_back({{"name", check.name},
                   {"verdict", word_for(check.verdict, words)},
                   {"found", check.found},
                   {"fix", check.fix}});
    if (!check.numbers.empty()) all.back()["numbers"] = check.numbers;
  }
  return all;
}

}  // namespace stepscope::cli
