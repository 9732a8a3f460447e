// What scaling series say, in words: one spelling for text, Markdown, JSON and the page. Text from
// traces is made printable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/scaling/series.h"

namespace stepscope::reports {

/// One to three sentences: throughput of the most devices, the factor that broke first, and how
/// many devices pay off. Needs a series without refusal, as do all functions below except
/// scaling_refusal().
std::string scaling_headline(analyzer::ScalingSeries const& series);
/// Strong or weak, and how that is known.
std::string scaling_kind_text(analyzer::ScalingSeries const& series);
/// The factor that broke first, where, and the largest part of the lost time.
std::string scaling_break_text(analyzer::ScalingSeries const& series);
/// Up to where more devices pay off, by the model that predicts best.
std::string scaling_limit_text(analyzer::ScalingSeries const& series);
/// Whole sentences: caveats, what was left out.
std::vector<std::string> scaling_notes(analyzer::ScalingSeries const& series);
/// What differs from the fewest devices, apart from what a series changes: another program first,
/// then one line a fact.
std::vector<std::string> scaling_differences(analyzer::ScalingSeries const& series);
/// Completes "stepscope: report: …"; only of a series that is refused.
std::string scaling_refusal(analyzer::ScalingSeries const& series);

/// "1 device", "4 devices".
std::string devices_text(uint64_t devices);
/// "2, 4 and 8 devices".
std::string devices_text(std::vector<uint64_t> const& devices);
/// "steps/s", "device steps/s" or "samples/s".
std::string_view throughput_unit(analyzer::ScalingSeries const& series);
/// Three significant digits, no exponent below a million.
std::string plain_number(double value);
/// "±0.42 %", half of the interval, of the value; or "–".
std::string half_interval(analyzer::Estimate const& estimate);
/// "93.0 … 95.2 %", or "–" where there is no interval.
std::string share_interval(analyzer::Estimate const& estimate);

struct FactorWords {
  std::string_view label, meaning;
};
FactorWords factor_words(analyzer::ScalingFactor factor);
/// The lost time from the fewest to the most devices, and a sentence that leads to its parts.
analyzer::LostTime const& whole_loss(analyzer::ScalingSeries const& series);
std::string loss_heading(analyzer::ScalingSeries const& series, analyzer::LostTime const& loss);
FactorWords lost_part_words(analyzer::LostPart part);
/// Who or what makes a part what it is, where that is known.
std::string lost_part_reason(analyzer::LostTime const& loss, analyzer::LostPart part);
/// Like Part::label of parts: "compute", "waiting for peers".
std::string step_part_label(analyzer::StepPart part);

std::string_view model_label(analyzer::ScalingModel model);
/// "n^(1/2) · log2 n"; "1" where nothing grows.
std::string cost_term_text(analyzer::CostTerm const& term);
/// What the fit's coefficients say, in a sentence.
std::string fit_text(analyzer::ScalingFit const& fit);
/// "16", "≥ 64".
std::string scaling_limit_number(analyzer::ScalingLimit const& pays_to);
/// "12 … ≥ 64", by the 95 % interval; "–" where there is none.
std::string scaling_limit_interval(analyzer::ScalingFit const& fit);

}  // namespace stepscope::reports
