#include "cli/commands/checks.h"

#include <algorithm>
#include <cstdio>

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
  std::string const indent(kFoundColumn, ' ');
  // Scripts look for whole sentences.
  constexpr int kUnbroken = 100'000;
  int const width = is_output_terminal() ? std::max(terminal_width(), 40) : kUnbroken;

  std::string const found = reports::wrapped(base::printable(check.found), width, indent, indent);
  std::printf("%s%-4s%s  %-22s %s", color ? color_for(check.verdict) : "",
              word_for(check.verdict, words), color ? "\033[0m" : "",
              base::printable(check.name).c_str(), found.c_str() + kFoundColumn);
  if (!check.fix.empty())
    std::fputs(
        reports::wrapped(base::printable(check.fix), width, indent + "→ ", indent + "  ").c_str(),
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
