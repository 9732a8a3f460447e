#include "reports/text/scaling.h"

#include <algorithm>

#include <fmt/format.h>

#include "reports/text/layout.h"
#include "reports/text/scaling_tables.h"
#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"

namespace stepscope::reports {
namespace {

using analyzer::LostTime;
using analyzer::ScalingSeries;

/// Kernels beyond are in the JSON and on the page.
constexpr size_t kMostKernelLines = 6;
/// Parts of the lost time of less than this share of the step are summed up.
constexpr double kLeastLossShare = 0.001;

std::string loss_text(ScalingSeries const& series, int width) {
  LostTime const& loss = whole_loss(series);
  LossLines const lines = loss_lines(loss, kLeastLossShare);
  std::string text = "\n" + wrapped(loss_heading(series, loss), width, "", "");

  for (LossLine const& line : lines.lines)
    text += wrapped(fmt::format("{}{}{}", line.label, line.reason.empty() ? "" : ": ", line.reason),
                    width, fmt::format("  {:>10}  ", signed_duration(static_cast<double>(line.ns))),
                    "              ");

  if (lines.has_rest)
    text += fmt::format("  {:>10}  {}\n", signed_duration(static_cast<double>(lines.rest_ns)),
                        lines.lines.empty() ? "everything" : "everything else");

  return text;
}

std::string fits_text(ScalingSeries const& series, Paint const& paint, int width) {
  std::string text = "\n" + wrapped(scaling_limit_text(series), width, "", "");
  if (series.fits.fits.empty()) return text;
  text += aligned(fit_table(series), paint);
  for (analyzer::ScalingFit const& fit : series.fits.fits)
    text +=
        wrapped(fmt::format("{}: {}", model_label(fit.model), fit_text(fit)), width, "  ", "    ");
  return text;
}

std::string replayed_text(ScalingSeries const& series, Paint const& paint, int width) {
  std::string const sentence = replayed_curve_text(series);
  if (sentence.empty()) return {};
  std::string const text = "\n" + wrapped(sentence, width, "", "");
  bool const has_curve = !series.replayed->points.empty();
  return has_curve ? text + aligned(replayed_table(series), paint) : text;
}

}  // namespace

std::string scaling_text(ScalingSeries const& series, TextOptions const& options) {
  Paint const paint{options.color, options.width};
  int const width = std::max(options.width, kLeastWidth);
  std::string text;
  std::vector<std::string> const differences = scaling_differences(series);

  if (!differences.empty()) {
    text += paint.bold(
                fmt::format("Not the same as on {}", devices_text(series.points.front().devices))) +
            "\n";
    for (std::string const& line : differences) text += wrapped(line, width, "  - ", "    ");
    text += "\n";
  }

  text += wrapped(scaling_headline(series), width, "", "");
  text += "\n" + wrapped(scaling_kind_text(series), width, "", "");
  text += "\n" + aligned(speed_table(series), paint);
  text += "\n" + aligned(factor_table(series), paint);
  text += loss_text(series, width);
  text += "\n" + aligned(step_part_table(series), paint);
  text += "\n" + aligned(kernel_growth_table(series, kMostKernelLines), paint);
  text += fits_text(series, paint, width);
  text += replayed_text(series, paint, width);

  std::vector<std::string> const notes = scaling_notes(series);
  if (!notes.empty()) text += "\n";
  for (std::string const& note : notes) text += wrapped(note, width, "  - ", "    ");
  return text;
}

}  // namespace stepscope::reports
