// compare: what changed between runs, as `stepscope compare` judges it.
#include "analyzer/compare/comparison.h"

#include <array>

#include "agent/tools/tools.h"
#include "reports/json/comparison_json.h"
#include "reports/markdown/markdown.h"
#include "reports/words/runs/comparison_words.h"

namespace stepscope::agent {
namespace {

constexpr std::array kCompareArguments = {
    Argument{"base", ArgumentType::kTexts, true, "the paths of the runs before the change"},
    Argument{"candidate", ArgumentType::kTexts, true, "the paths of the runs after the change"},
    Argument{"min_effect_percent", ArgumentType::kNumber, false,
             "smallest change of the step time that counts", 0, 100, 2},
    Argument{"paired", ArgumentType::kFlag, false,
             "the runs of both sides were made in turn and are named in this order"}};

constexpr std::string_view kCompareSchema = R"({
  "type": "object",
  "description": "as stepscope compare --json, docs/guide/COMPARE.md"
})";

base::Expected<std::vector<analyzer::RunMeasurements>> samples_of(
    Question const& question, std::vector<std::string> const& paths) {
  std::vector<analyzer::RunMeasurements> samples;
  for (std::string const& path : paths) {
    auto const opened = question.runs.open(path);
    if (!opened) return base::fail_with(opened);
    samples.push_back(analyzer::sample_run((*opened)->run(), (*opened)->analysis()));
    samples.back().name = path;
  }
  return samples;
}

base::Expected<Answer> answer_compare(Question const& question) {
  auto const base = samples_of(question, question.arguments.texts("base"));
  if (!base) return base::fail_with(base);
  auto const candidate = samples_of(question, question.arguments.texts("candidate"));
  if (!candidate) return base::fail_with(candidate);

  double const least = static_cast<double>(question.arguments.number("min_effect_percent")) / 100;
  analyzer::Comparison const comparison =
      analyzer::compare_runs(*base, *candidate, {least, question.arguments.flag("paired")});
  if (comparison.refusal) return base::fail("compare: {}", reports::refusal_text(comparison));
  return Answer{reports::comparison_markdown(comparison),
                OrderedJson::parse(reports::comparison_json(comparison))};
}

}  // namespace

Tool compare_tool() {
  return {
      "compare",
      "Compare runs",
      "Whether the step became slower or faster between runs, whether that is more than chance, "
      "and what changed: parts of the step, kernels, conditions.",
      kCompareArguments,
      kCompareSchema,
      answer_compare};
}

}  // namespace stepscope::agent
