#include "reports/text/whatif.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "reports/text/layout.h"
#include "reports/words/labels.h"
#include "reports/words/whatif_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::WhatIfAnswer;
using analyzer::WhatIfFix;
using analyzer::WhatIfStats;

constexpr size_t kLongestChange = 200;

std::string trust_text(analyzer::ReplayBaseline const& baseline, Paint const& paint, int width) {
  std::string text;
  std::string const sentence = replay_sentence(baseline);
  if (!sentence.empty()) text += wrapped(sentence, width, "", "");
  for (std::string const& caution : replay_cautions(baseline))
    text += wrapped(caution, width, "", "");

  auto const residuals = residual_rows(baseline);
  if (!residuals.empty()) text += aligned(residuals, paint);
  return text.empty() ? text : "\n" + text;
}

std::string refused_fixes_text(analyzer::Analysis const& analysis, WhatIfStats const& stats,
                               int width) {
  std::string text;
  for (WhatIfFix const& fix : stats.fixes) {
    if (!fix.alone.is_refused) continue;
    std::string const change = fix.alone.change.empty()
                                   ? ""
                                   : fmt::format(" ({})", shown(fix.alone.change, kLongestChange));

    text += wrapped(fmt::format("{}{}: {}", fixed_finding(analysis, fix), change,
                                refusal_sentence(fix.alone.reason)),
                    width, "  - ", "    ");
  }
  return text.empty() ? text : "\nNot predicted\n" + text;
}

/// A change may take away more than what was found: analyze counts only that.
std::string larger_fixes_text(analyzer::Analysis const& analysis, WhatIfStats const& stats,
                              int width) {
  constexpr double kNoticed = 0.0005;  // the last digit that is shown
  std::string text;
  for (WhatIfFix const& fix : stats.fixes) {
    auto const& most = analysis.findings[fix.finding].gain_ceiling;
    if (fix.alone.is_refused || !most || fix.alone.gain <= *most + kNoticed) continue;

    text += wrapped(fmt::format("{}: {} takes away more than was found. stepscope analyze counts "
                                "what was found, at most {}.",
                                fixed_finding(analysis, fix),
                                shown(fix.alone.change, kLongestChange), signed_gain(*most)),
                    width, "  - ", "    ");
  }
  return text;
}

/// Where the fixes have another order than the findings of `stepscope analyze`: why.
std::string order_text(WhatIfStats const& stats, int width) {
  auto const other_order = std::adjacent_find(
      stats.fixes.begin(), stats.fixes.end(), [](WhatIfFix const& above, WhatIfFix const& below) {
        return above.alone.is_refused == below.alone.is_refused && below.finding < above.finding;
      });
  if (other_order == stats.fixes.end()) return {};
  return wrapped(
      "Ordered by what each gives next, as far as it was found. stepscope analyze orders by cost.",
      width, "  - ", "    ");
}

std::string fixes_text(analyzer::Analysis const& analysis, WhatIfStats const& stats,
                       Paint const& paint, int width) {
  auto const rows = fix_rows(analysis, stats);
  std::string text;

  if (!rows.empty())
    text += "\n" +
            heading_text("Fixes of the findings, each alone and after those above it", paint) +
            aligned(rows, paint) + order_text(stats, width);
  text += larger_fixes_text(analysis, stats, width);
  return text + refused_fixes_text(analysis, stats, width);
}

std::string answer_text(WhatIfAnswer const& answer, Paint const& paint, int width) {
  std::string text = "\n" + paint.bold(shown(answer.change, kLongestChange)) + "\n";
  for (std::string const& line : answer_lines(answer)) text += wrapped(line, width, "  ", "  ");
  for (std::string const& line : answer_cautions(answer)) text += wrapped(line, width, "  ", "  ");
  return text;
}

}  // namespace

std::string whatif_text(model::Run const& run, analyzer::Analysis const& analysis,
                        WhatIfStats const& stats, TextOptions const& options) {
  Paint const paint{options.color, options.width};
  int const width = std::max(options.width, kLeastWidth);

  std::string text = paint.bold(run.name.empty() ? "run" : shown(run.name, 80));
  text += " · " + base::format_count(count_devices(run, analysis), "device") + "\n\n";
  text += wrapped(whatif_headline(analysis, stats), width, "", "");
  text += trust_text(stats.baseline, paint, width);
  if (stats.baseline.is_refused) return text;

  text += fixes_text(analysis, stats, paint, width);
  for (WhatIfAnswer const& answer : stats.answers) text += answer_text(answer, paint, width);
  return text;
}

}  // namespace stepscope::reports
