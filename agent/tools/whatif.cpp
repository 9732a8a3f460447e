// whatif: what changes of a run would give, by replaying it, as `stepscope whatif` predicts it.
#include "analyzer/whatif/whatif.h"

#include <array>

#include "agent/tools/tools.h"
#include "reports/json/whatif_json.h"
#include "reports/markdown/whatif.h"

namespace stepscope::agent {
namespace {

constexpr std::array kWhatIfArguments = {
    kRunArgument,
    Argument{"changes", ArgumentType::kTexts, false,
             "changes as for stepscope whatif --change, such as input=0, kernel:gemm=/1.5, "
             "comm:bandwidth=*2, ranks=16; without any, the fixes of the findings are predicted"},
    Argument{"together", ArgumentType::kFlag, false,
             "make all changes at once instead of one at a time"}};

constexpr std::string_view kWhatIfSchema = R"({
  "type": "object",
  "description": "as stepscope whatif --json, docs/guide/WHATIF.md"
})";

base::Expected<analyzer::WhatIfStats> predict(OpenRun const& run,
                                              analyzer::WhatIfQuestion const& question) {
  if (run.is_in_memory()) return analyzer::what_if(run.run(), run.analysis(), question);
  return analyzer::what_if(run_loading::streamed_run_of(run.analyzed()), run.analysis(), question);
}

base::Expected<Answer> answer_whatif(Question const& question) {
  std::vector<std::string> const changes = question.arguments.texts("changes");
  auto asked = analyzer::question_of(changes, question.arguments.flag("together"));
  if (!asked) return base::fail("changes: {}", asked.error().message);
  asked->wants_fixes = changes.empty();

  auto const opened = question.runs.open(question.arguments.text("run"));
  if (!opened) return base::fail_with(opened);
  OpenRun const& run = **opened;
  auto const stats = predict(run, *asked);
  if (!stats) return base::fail_with(stats);
  return Answer{reports::whatif_markdown(run.run(), run.analysis(), *stats),
                OrderedJson::parse(reports::whatif_json(run.analysis(), *stats))};
}

}  // namespace

Tool whatif_tool() {
  return {"whatif",
          "Predict a change",
          "Replays the run with a change and predicts the step time, with an interval; or says why "
          "it cannot be predicted.",
          kWhatIfArguments,
          kWhatIfSchema,
          answer_whatif};
}

}  // namespace stepscope::agent
