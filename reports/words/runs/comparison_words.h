// What comparisons say, in words: one spelling for text and JSON. Text from traces is made
// printable.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/comparison.h"

namespace stepscope::reports {

/// One or two sentences: whether a step is slower, by how much, how sure that is, and what most of
/// it is.
std::string headline(analyzer::Comparison const& comparison);
/// "faster", "slower" of what takes time; "less", "more" of parts and sizes; "same", "unclear".
std::string_view verdict_word(analyzer::Metric const& metric);
std::string_view verdict_word(analyzer::Verdict verdict,
                              analyzer::MetricFamily family = analyzer::MetricFamily::kStep);
/// "step", "exposed transfers", "kernel gemm", "all-reduce of 25.0 MiB".
std::string metric_label(analyzer::Metric const& metric);
/// The part that changed most in the direction of the step; none where nothing did.
std::optional<analyzer::ChangePart> largest_part(analyzer::Comparison const& comparison);
/// " Most of it: more waiting for peers (+3.54 ms)."; empty where no part is the largest.
std::string largest_part_sentence(analyzer::Comparison const& comparison);
/// In the middle of a sentence, by what it does to the step: "kernels are slower", "less waiting
/// for peers".
std::string change_part_label(analyzer::ChangePart part, int64_t ns);
/// Who or what makes a part what it is, where that is known: "rank 3 comes late by its compute",
/// "most in kernel gemm".
std::string change_part_reason(analyzer::Comparison const& comparison, analyzer::ChangePart part);
/// One line each: "driver: 550.54 → 560.28".
std::string difference_text(analyzer::Difference const& difference);
/// Whole sentences, for each caveat, and what the numbers leave out.
std::vector<std::string> comparison_notes(analyzer::Comparison const& comparison);
/// Completes "stepscope: compare: …"; only of a comparison that is refused.
std::string refusal_text(analyzer::Comparison const& comparison);

/// Rows of cells, the heading first: what each rule found on both sides, and how long a step of the
/// base would be without it. Empty where rules found nothing.
std::vector<std::vector<std::string>> finding_rows(analyzer::Comparison const& comparison);
/// What the base's replay promised for the costliest finding that is found no longer, and what was
/// measured; empty where it promised nothing.
std::string promise_text(analyzer::Comparison const& comparison);

/// "+1.23 ms", "-45.0 µs".
std::string signed_duration(double ns);
/// Who came how much later or earlier, and why: "+1.20 ms since rank 3 comes later (waiting for
/// input: next_batch)".
std::string lateness_text(analyzer::LateChange const& late, std::string_view cause,
                          size_t most_name_bytes);
/// "+4.5 %", "-0.3 %"; "new" where there was nothing before.
std::string signed_share(double change, double of);
/// The bounds of the interval, each at least −100 % of the base. An interval of few values with a
/// large variation reaches below that, but a time cannot fall by 144 %.
std::pair<double, double> shown_bounds(analyzer::Change const& change);
/// The mean changed by more or less than a typical value: it lies outside of the interval.
bool is_mean_outside(analyzer::Change const& change);
/// The room that a name has in a sentence, or in a table of numbers.
inline constexpr size_t kMostNameColumns = 48;
/// Behind an interval that the mean lies outside of, and the line below the table that explains it.
inline constexpr std::string_view kTypicalMark = "*";
inline constexpr std::string_view kTypicalNote =
    "* of a typical step or run: a few of them moved the mean";
/// "+28.9 % to +29.0 %": the bounds of the interval, of the base.
std::string interval_text(analyzer::Change const& change);
/// "95 % interval +28.9 % to +29.0 %". If the mean lies outside of it, the text says that it is the
/// interval of a typical value: rank statistics ignore outliers, the mean does not. Empty if
/// nothing is known.
std::string interval_words(analyzer::Change const& change);

}  // namespace stepscope::reports
