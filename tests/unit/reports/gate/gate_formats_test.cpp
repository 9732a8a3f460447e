// A gate's verdict in the formats that CI systems read. No name of a trace or file escapes its
// place.
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "reports/github/annotations.h"
#include "reports/json/gate_json.h"
#include "reports/junit/junit.h"
#include "reports/markdown/escape.h"
#include "reports/markdown/markdown.h"
#include "reports/sarif/sarif.h"
#include "reports/words/runs/gate_words.h"
#include "tests/support/paths.h"
#include "tests/unit/reports/gate/gate_results.h"

namespace stepscope::reports {
namespace {

using analyzer::GateResult;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(GateJson, HoldsWhatTheTextSays) {
  GateResult const result = failed_gate();
  json const document = json::parse(gate_json(result));

  EXPECT_EQ(document["schema"], 2);
  EXPECT_EQ(document["verdict"], "failed");
  EXPECT_EQ(document["headline"], gate_headline(result));

  ASSERT_EQ(document["checks"].size(), 5U);
  EXPECT_EQ(document["checks"][0]["id"], "step_time");
  EXPECT_EQ(document["checks"][0]["budget"], nullptr);
  EXPECT_EQ(
      document["comparison"]["metrics"][document["checks"][0]["metric"].get<size_t>()]["name"],
      "step");
  EXPECT_EQ(document["checks"][2]["budget"]["line"], 3);
  EXPECT_EQ(document["checks"][4]["budget"]["value"], nullptr);

  EXPECT_EQ(document["comparison"]["verdict"], "slower");
  EXPECT_EQ(document["history"], nullptr);
}

TEST(GateJson, SaysWhatWasKept) {
  json document = json::parse(gate_json(failed_gate()));
  EXPECT_EQ(document["baseline"], nullptr);
  EXPECT_EQ(document["appended"], nullptr);

  GateResult result = written_baseline();
  result.kept_history = {"h.json", 4, 9};
  document = json::parse(gate_json(result));
  EXPECT_EQ(document["headline"], gate_headline(result));
  EXPECT_EQ(document["verdict"], "passed");

  json const& baseline = document["baseline"];
  EXPECT_EQ(baseline["file"], "ci/baselines/cifar10.json");
  EXPECT_EQ(baseline["written"], true);
  EXPECT_EQ(baseline["replaced"], false);
  ASSERT_EQ(baseline["runs"].size(), 4U);
  EXPECT_EQ(baseline["runs"][1]["name"], "base-2");
  EXPECT_EQ(baseline["runs"][1]["steps"], 20);
  EXPECT_GT(baseline["noise"]["sees"], baseline["noise"]["deviation"]);
  EXPECT_EQ(baseline["next"], "stepscope check NEW… --baseline ci/baselines");
  EXPECT_EQ(document["appended"], (json{{"file", "h.json"}, {"added", 4}, {"runs", 9}}));

  result.kept_baseline->is_written = false;
  EXPECT_EQ(json::parse(gate_json(result))["baseline"]["next"], nullptr);
}

void collect_gate_keys(json const& value, std::set<std::string>& keys) {
  if (value.is_object())
    for (auto const& [key, inner] : value.items()) {
      keys.insert(key);
      // Documented in docs/guide/COMPARE.md.
      if (key != "comparison") collect_gate_keys(inner, keys);
    }
  if (value.is_array())
    for (json const& inner : value) collect_gate_keys(inner, keys);
}

TEST(GateJson, EveryKeyIsDocumented) {
  std::ifstream file(support::source_path("docs/guide/GATE.md"));
  std::string const document{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  ASSERT_FALSE(document.empty());
  std::set<std::string> keys;

  GateResult kept = written_baseline();
  kept.kept_history = {"h.json", 4, 9};
  for (GateResult const& result : {failed_gate(), unclear_gate(), hostile_gate(), kept})
    collect_gate_keys(json::parse(gate_json(result)), keys);

  std::set<std::string> parts;
  for (size_t p = 0; p < analyzer::kStepPartCount; ++p)
    parts.insert(analyzer::to_string(static_cast<analyzer::StepPart>(p)));

  EXPECT_GT(keys.size(), 30U);
  for (std::string const& key : keys)
    if (!parts.contains(key)) {
      EXPECT_THAT(document, HasSubstr("`" + key + "`"));
    }

  for (analyzer::BudgetFact const& fact : analyzer::budget_facts()) {
    // Idle causes are documented as one row.
    bool const is_cause =
        fact.name.starts_with("idle_") && fact.name != "idle_ms" && fact.name != "idle_share";
    if (!is_cause) {
      EXPECT_THAT(document, HasSubstr("`" + fact.name + "`"));
    }
  }
}

TEST(GateMarkdown, IsATableAndTheReasons) {
  std::string const text = gate_markdown(failed_gate());
  EXPECT_THAT(text, testing::StartsWith("### Stepscope: FAILED\\: cifar10\\: 2 of 5"));
  EXPECT_THAT(text, AllOf(HasSubstr("| check | found | verdict |"), HasSubstr("**failed** |"),
                          HasSubstr("**Why**"), HasSubstr("<details>")));
  std::string const comparison = comparison_markdown(*failed_gate().comparison);
  EXPECT_THAT(comparison, testing::StartsWith("### Stepscope: SLOWER"));
}

TEST(GateMarkdown, EscapesMarkupLinksAndMentions) {
  EXPECT_EQ(markdown_escape("a|b"), "a\\|b");
  EXPECT_EQ(markdown_escape("<b>"), "\\<b\\>");
  EXPECT_EQ(markdown_escape("`x` *y* _z_"), "\\`x\\` \\*y\\* \\_z\\_");

  EXPECT_EQ(markdown_escape("@you #1"),
            "\\@\xE2\x81\xA0you \\#\xE2\x81\xA0"
            "1");
  EXPECT_EQ(markdown_escape("https://x"), "https\\://x");
  EXPECT_EQ(markdown_escape("1. +2.5 - (x)"), "1\\. +2.5 - (x)");
  EXPECT_EQ(markdown_escape("www.x"), "www\\.x");

  EXPECT_EQ(markdown_escape("a\nb\x1b"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

/// Cells of a table end its line; nothing of a name begins a line, closes a cell or opens an
/// element.
TEST(GateMarkdown, HostileNamesStayInTheirPlace) {
  for (std::string const& text :
       {gate_markdown(hostile_gate()), comparison_markdown(*hostile_gate().comparison)}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\n::error")), Not(HasSubstr("@everyone")),
                            Not(HasSubstr("#1")), Not(HasSubstr("www.")), Not(HasSubstr("a](b)")),
                            Not(HasSubstr("https:/")), Not(HasSubstr("\x1b"))));
    EXPECT_LT(text.size(), 60'000U);

    for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
      bool const is_ours =
          text.compare(at, 8, "<details") == 0 || text.compare(at, 9, "</details") == 0 ||
          text.compare(at, 8, "<summary") == 0 || text.compare(at, 9, "</summary") == 0;
      EXPECT_TRUE(is_ours || text[at - 1] == '\\') << text.substr(at, 20);
    }
  }
}

/// The attribute of the first element of this name from `at` on.
std::string attribute(std::string const& xml, std::string const& element, std::string const& name) {
  size_t const begin = xml.find("<" + element + " ");
  size_t const at = xml.find(" " + name + "=\"", begin) + name.size() + 3;
  return xml.substr(at, xml.find('"', at) - at);
}
size_t times_in(std::string const& text, std::string const& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// What the schemas of Ant and of Jenkins' xUnit plugin demand; both were tried on these documents.
TEST(GateJunit, HasWhatTheSchemasDemand) {
  std::string const xml = gate_junit(failed_gate(), {"2026-11-23T02:00:00", "node-1"});
  EXPECT_THAT(xml, testing::StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>"));
  EXPECT_EQ(attribute(xml, "testsuite", "tests"), "5");
  EXPECT_EQ(attribute(xml, "testsuite", "failures"), "2");
  EXPECT_EQ(attribute(xml, "testsuite", "errors"), "1");
  EXPECT_EQ(attribute(xml, "testsuite", "timestamp"), "2026-11-23T02:00:00");
  EXPECT_EQ(attribute(xml, "testsuite", "hostname"), "node-1");

  for (char const* const name : {"name", "package", "id", "time"})
    EXPECT_FALSE(attribute(xml, "testsuite", name).empty()) << name;

  EXPECT_EQ(times_in(xml, "<testcase "), 5U);
  EXPECT_EQ(times_in(xml, "<failure type="), 2U);
  EXPECT_EQ(times_in(xml, "<error type="), 1U);

  // In this order, each once.
  size_t at = 0;
  for (char const* const element : {"<properties>", "<testcase ", "<system-out>", "<system-err>"}) {
    size_t const next = xml.find(element);
    EXPECT_GT(next, at) << element;
    at = next;
  }
}

TEST(GateJunit, TextIsWhatXmlCanHold) {
  EXPECT_EQ(xml_escape("<a href=\"x\" b='y'>&"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(xml_escape(std::string("\0\x01\x1b", 3)), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(xml_escape("\xEF\xBF\xBF|\xEF\xBF\xBE|\xEF\xBF\xBD|\xFF"),
            "\xEF\xBF\xBD|\xEF\xBF\xBD|\xEF\xBF\xBD|\xEF\xBF\xBD");
  std::string const xml = gate_junit(hostile_gate());
  EXPECT_THAT(xml, AllOf(Not(HasSubstr("<img")), Not(HasSubstr("]]>")), Not(HasSubstr("\x1b")),
                         Not(HasSubstr("\r")), Not(HasSubstr("\xEF\xBF\xBF"))));
  for (char const byte : xml) EXPECT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20);
}

/// What the schema of SARIF 2.1.0 demands of what is written here; it was tried on these documents.
TEST(GateSarif, HasWhatTheSchemaDemands) {
  json const document =
      json::parse(gate_sarif(failed_gate(), {"0.1.0", "baselines/cifar 10.json"}));
  EXPECT_EQ(document["version"], "2.1.0");
  EXPECT_THAT(document["$schema"].get<std::string>(), testing::EndsWith("sarif-schema-2.1.0.json"));
  ASSERT_EQ(document["runs"].size(), 1U);

  json const& run = document["runs"][0];
  json const& driver = run["tool"]["driver"];
  EXPECT_EQ(driver["name"], "Stepscope");
  std::set<std::string> ids;
  for (json const& rule : driver["rules"]) EXPECT_TRUE(ids.insert(rule["id"]).second);

  ASSERT_EQ(run["results"].size(), 3U);
  for (json const& result : run["results"]) {
    EXPECT_EQ(driver["rules"][result["ruleIndex"].get<size_t>()]["id"], result["ruleId"]);
    EXPECT_THAT(result["level"].get<std::string>(), testing::AnyOf("error", "warning"));
    EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
    EXPECT_GE(result["locations"][0]["physicalLocation"]["region"]["startLine"].get<int>(), 1);
  }

  EXPECT_EQ(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "baselines/cifar%2010.json");
  json const& budget = run["results"][1]["locations"][0]["physicalLocation"];
  EXPECT_EQ(budget["artifactLocation"]["uri"], "ci/budgets.toml");
  EXPECT_EQ(budget["region"]["startLine"], 3);
  EXPECT_EQ(run["results"][2]["level"], "warning");
}

TEST(GateSarif, PathsBecomeUris) {
  EXPECT_EQ(uri_of_path("a/b.json"), "a/b.json");
  EXPECT_EQ(uri_of_path("/tmp/a b"), "file:///tmp/a%20b");
  EXPECT_EQ(uri_of_path("ä?#"), "%C3%A4%3F%23");
  EXPECT_TRUE(json::accept(gate_sarif(hostile_gate(), {"0.1.0", support::kHostileText})));
}

TEST(GateAnnotations, AreALineForEachThatDidNotPass) {
  std::string const text = gate_annotations(failed_gate());

  EXPECT_EQ(times_in(text, "\n"), 3U);
  EXPECT_THAT(
      text,
      AllOf(
          testing::StartsWith("::error title=cifar10%3A step time failed::SLOWER"),
          HasSubstr("::error title=cifar10%3A budget step_time_ms <= 11 ms "
                    "failed,file=ci/budgets.toml,line=3,col=5::BROKEN"),
          HasSubstr("::warning title=cifar10%3A budget peak_reserved_gb <= 70 GB unclear,file=")));
  EXPECT_THAT(text, Not(HasSubstr("= 90 %")));
}

TEST(GateAnnotations, HostileNamesAddNoCommand) {
  std::string const text = gate_annotations(hostile_gate());
  ASSERT_FALSE(text.empty());
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1, ++lines)
    EXPECT_TRUE(text.compare(at, 8, "::error ") == 0 || text.compare(at, 9, "::notice ") == 0)
        << text.substr(at, 40);
  EXPECT_EQ(lines, 3U);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\r")), Not(HasSubstr(" %0A"))));
}

TEST(GateAnnotations, TextBetweenIsNoCommand) {
  EXPECT_EQ(without_commands("::error::x", "t"), "::stop-commands::t\n::error::x\n::t::\n");
  EXPECT_EQ(without_commands("a\n", "t"), "::stop-commands::t\na\n::t::\n");
}

}  // namespace
}  // namespace stepscope::reports
