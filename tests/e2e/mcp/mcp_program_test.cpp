// `stepscope mcp` as a client starts it: requests on its input, and on its output nothing but their
// answers, with the numbers that the commands print.
#include <fstream>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class Mcp : public Program {
 protected:
  void SetUp() override {
    ASSERT_EQ(stepscope("synth --ranks 2 --steps 20 --seed 3 --fault input=8 -o run").code, 0);
    ASSERT_EQ(stepscope("synth --ranks 2 --steps 20 --seed 4 -o good").code, 0);
  }

  /// Sends a session with these calls, and returns their results by id: the calls' places, from 1.
  std::map<int, json> ask(std::vector<std::pair<std::string, json>> const& calls) const {
    std::ofstream requests(path("requests"));
    requests << json{{"jsonrpc", "2.0"},
                     {"id", 0},
                     {"method", "initialize"},
                     {"params", {{"protocolVersion", "2025-06-18"}}}}
                    .dump()
             << "\n";
    for (size_t i = 0; i < calls.size(); ++i)
      requests << json{{"jsonrpc", "2.0"},
                       {"id", i + 1},
                       {"method", "tools/call"},
                       {"params", {{"name", calls[i].first}, {"arguments", calls[i].second}}}}
                      .dump()
               << "\n";
    requests.close();

    Outcome const outcome = shell(program() + " mcp run good < requests 2> warnings");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    std::map<int, json> results;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
      json const message = json::parse(line, nullptr, false);
      EXPECT_FALSE(message.is_discarded()) << "the output has a line that is no message: " << line;
      if (message.is_object() && message.contains("result"))
        results[message.at("id").get<int>()] = message.at("result");
    }

    EXPECT_EQ(results.size(), calls.size() + 1) << outcome.output;
    return results;
  }
  [[nodiscard]] json printed(std::string const& arguments) const {
    return json::parse(stepscope(arguments + " 2> warnings").output);
  }
};

TEST_F(Mcp, AnswersHaveTheNumbersOfTheCommands) {
  std::string const sql =
      "select rank, count(*) as n, sum(dur_ns) as ns from kernels group by rank";
  auto const results = ask({{"summary", {{"run", "run"}}},
                            {"findings", {{"run", "run"}, {"limit", 30}}},
                            {"query", {{"run", "run"}, {"sql", sql}}},
                            {"compare", {{"base", {"good"}}, {"candidate", {"run"}}}},
                            {"whatif", {{"run", "run"}, {"changes", {"input=0"}}}},
                            {"open", {{"run", "run"}}}});
  auto const data = [&](int id) { return results.at(id).at("structuredContent"); };

  json const analysis = printed("analyze run --json");
  EXPECT_EQ(data(1).at("summary"), analysis.at("summary"));
  ASSERT_EQ(data(2).at("findings").size(), analysis.at("findings").size());
  for (size_t i = 0; i < analysis.at("findings").size(); ++i)
    for (std::string const key : {"rule", "cost_ns_per_step", "gain_alone", "metrics"})
      EXPECT_EQ(data(2).at("findings")[i].at(key), analysis.at("findings")[i].at(key)) << key;

  json const rows = printed("query run --format json '" + sql + "'");
  ASSERT_EQ(data(3).at("rows").size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(data(3).at("rows")[i],
              json::array({rows[i].at("rank"), rows[i].at("n"), rows[i].at("ns")}));

  EXPECT_EQ(data(4), printed("compare good --vs run --json"));
  EXPECT_EQ(data(5), printed("whatif run --change input=0 --only-changes --json"));
  EXPECT_EQ(data(6).at("rank_count"), 2);
}

TEST_F(Mcp, WhatTheCommandRefusesTheToolRefusesInItsWords) {
  std::ofstream(path("run/broken.stepscope")) << "no trace";
  auto const results = ask({{"query", {{"run", "good"}, {"sql", "select nme from kernels"}}},
                            {"summary", {{"run", "run/broken.stepscope"}}},
                            {"whatif", {{"run", "good"}, {"changes", {"inptu=0"}}}}});
  std::string const commands[] = {"query good 'select nme from kernels'",
                                  "analyze run/broken.stepscope", "whatif good --change inptu=0"};

  for (int id = 1; id <= 3; ++id) {
    json const& result = results.at(id);
    EXPECT_EQ(result.at("isError"), true);
    std::string message = result.at("content").at(0).at("text");
    message = message.substr(message.find(": ") + 2);
    message = message.substr(0, message.find('\n'));
    Outcome const outcome = stepscope(commands[id - 1]);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.output.find(message), std::string::npos) << message << "\n" << outcome.output;
  }
}

TEST_F(Mcp, WrongUseIsRefusedBeforeItServes) {
  EXPECT_EQ(stepscope("mcp < /dev/null").code, 2);
  Outcome const absent = stepscope("mcp absent < /dev/null");
  EXPECT_EQ(absent.code, 2);
  EXPECT_NE(absent.output.find("absent: cannot be served"), std::string::npos) << absent.output;
  EXPECT_EQ(stepscope("mcp run < /dev/null").code, 0);
}

TEST_F(Mcp, BytesThatAreNoMessagesAreAnsweredWithErrorsAndNothingElse) {
  Outcome const outcome =
      shell("head -c 300000 " + program() + " | " + program() + " mcp run 2> warnings");
  EXPECT_EQ(outcome.code, 0);
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(json::parse(line).at("error").at("code").is_number_integer()) << line;
}

}  // namespace
}  // namespace stepscope::e2e
