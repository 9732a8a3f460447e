#include "reports/junit/junit.h"

#include <algorithm>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/text/gate.h"
#include "reports/words/runs/gate_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::GateResult;
using analyzer::GateVerdict;

size_t answers_that(GateResult const& result, GateVerdict verdict) {
  return static_cast<size_t>(
      std::count_if(result.answers.begin(), result.answers.end(),
                    [&](analyzer::GateAnswer const& answer) { return answer.verdict == verdict; }));
}

std::string test_case(GateResult const& result, analyzer::GateAnswer const& answer) {
  std::string const begin =
      fmt::format("    <testcase name=\"{}\" classname=\"stepscope.{}\" time=\"0\"",
                  xml_escape(answer_title(result, answer)), xml_escape(result.name));
  if (answer.verdict == GateVerdict::kPassed) return begin + "/>\n";
  std::string_view const element = answer.verdict == GateVerdict::kFailed ? "failure" : "error";
  return fmt::format("{}>\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", begin,
                     element, xml_escape(answer_id(result, answer)),
                     xml_escape(answer_summary(result, answer)),
                     xml_escape(answer_message(result, answer)), element);
}

}  // namespace

std::string xml_escape(std::string_view text) {
  std::string clean = base::printable(text);
  // U+FFFE and U+FFFF are valid UTF-8 and no characters of XML.
  for (size_t i = 0; i + 2 < clean.size(); ++i)
    if (clean.compare(i, 2, "\xEF\xBF") == 0 && (clean[i + 2] == '\xBE' || clean[i + 2] == '\xBF'))
      clean[i + 2] = '\xBD';
  return escape_exactly(clean, clean.size());
}

std::string gate_junit(GateResult const& result, JunitOptions const& options) {
  std::string cases;
  for (analyzer::GateAnswer const& answer : result.answers) cases += test_case(result, answer);

  // Lines stay lines; each is escaped alone, for control characters are not let through.
  std::string output;
  std::string const text = gate_text(result);
  for (size_t at = 0; at < text.size();) {
    size_t const end = std::min(text.find('\n', at), text.size());
    output += xml_escape(std::string_view(text).substr(at, end - at)) + "\n";
    at = end + 1;
  }

  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"stepscope.{0}\" package=\"stepscope\" id=\"0\" timestamp=\"{1}\" "
      "hostname=\"{2}\" tests=\"{3}\" failures=\"{4}\" errors=\"{5}\" skipped=\"0\" time=\"0\">\n"
      "    <properties>\n      <property name=\"verdict\" value=\"{6}\"/>\n    </properties>\n"
      "{7}    <system-out>{8}</system-out>\n    <system-err></system-err>\n  "
      "</testsuite>\n</testsuites>\n",
      xml_escape(result.name), xml_escape(options.timestamp), xml_escape(options.host),
      result.answers.size(), answers_that(result, GateVerdict::kFailed),
      answers_that(result, GateVerdict::kUnclear), gate_word(result.verdict), cases, output);
}

}  // namespace stepscope::reports
