#include "cli/commands/checks.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/pager.h"
#include "reports/text/layout.h"
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

/// Where what was found begins, behind the verdict and the name.
constexpr size_t kFoundColumn = 29;

}  // namespace

void print_check(doctor::Check const& check, VerdictWords const& words) {
  bool const color = use_color();
  std::string const verdict = fmt::format("{:<4}", word_for(check.verdict, words));
  std::string const line =
      reports::list_line(fmt::format("{}  {}", verdict, base::printable(check.name)),
                         base::printable(check.found), kFoundColumn, wrap_width());

  std::printf("%s%s%s%s", color ? color_for(check.verdict) : "", verdict.c_str(),
              color ? "\033[0m" : "", line.c_str() + verdict.size());
  if (!check.fix.empty())
    std::fputs(reports::list_line("", "→ " + base::printable(check.fix), kFoundColumn, wrap_width())
                   .c_str(),
               stdout);
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
