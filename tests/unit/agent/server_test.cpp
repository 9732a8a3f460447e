// The protocol: revisions, the order of messages, errors, and tools with wrong arguments.
#include "agent/server.h"

#include "agent/tool.h"
#include "tests/unit/agent/served_runs.h"

namespace stepscope::agent {
namespace {

constexpr std::string_view kMeta = R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                   R"("io.modelcontextprotocol/clientCapabilities":{}})";

class ServerTest : public ServedRuns {
 protected:
  /// All lines that one line brings about, those of its work too.
  std::vector<Json> ask(std::string const& line) {
    Server::Received received = server_.receive(line);
    if (received.work)
      if (std::string answer = server_.run(std::move(*received.work)); !answer.empty())
        received.lines.push_back(std::move(answer));
    std::vector<Json> answers;
    for (std::string const& each : received.lines) answers.push_back(Json::parse(each));
    return answers;
  }
  Json answer_to(std::string const& method, Json params = Json::object()) {
    auto const answers =
        ask(Json{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", std::move(params)}}
                .dump());
    EXPECT_EQ(answers.size(), 1U) << method;
    if (answers.size() != 1) return {};
    EXPECT_EQ(answers[0].at("id"), 7);
    return answers[0];
  }
  Json begin(std::string const& revision) {
    return answer_to("initialize", {{"protocolVersion", revision},
                                    {"capabilities", Json::object()},
                                    {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  }
  Json call(std::string const& tool, Json arguments) {
    return answer_to("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
  }
  std::string error_of_call(std::string const& tool, Json arguments) {
    Json const answer = call(tool, std::move(arguments));
    EXPECT_EQ(answer.at("result").value("isError", false), true) << answer;
    return answer.at("result").at("content").at(0).at("text");
  }
  static int code_of(Json const& answer) {
    return answer.contains("error") ? answer.at("error").at("code").get<int>() : 0;
  }

  RunStore runs_{*ServedPaths::of({served_.string()})};
  Server server_{runs_, "1.2.3"};
};

TEST_F(ServerTest, ASessionHasTheRevisionThatTheClientWantsElseTheNewest) {
  for (std::string_view const revision : kSessionRevisions)
    EXPECT_EQ(begin(std::string(revision)).at("result").at("protocolVersion"), revision);
  EXPECT_EQ(begin("2024-01-01").at("result").at("protocolVersion"), "2025-11-25");

  Json const result = begin("2025-06-18").at("result");
  EXPECT_EQ(result.at("serverInfo").at("version"), "1.2.3");
  EXPECT_TRUE(result.at("capabilities").contains("tools"));
  EXPECT_EQ(code_of(answer_to("initialize")), kInvalidParams);
}

TEST_F(ServerTest, BeforeInitializeOnlyPingIsAnswered) {
  EXPECT_EQ(answer_to("ping").at("result"), Json::object());
  EXPECT_EQ(code_of(answer_to("tools/list")), kInvalidParams);
  EXPECT_EQ(code_of(call("open", Json::object())), kInvalidParams);
  begin("2025-06-18");
  EXPECT_EQ(code_of(answer_to("tools/list")), 0);
}

TEST_F(ServerTest, ModernRequestsNeedNoSessionAndNameTheirRevision) {
  Json const discovered =
      answer_to("server/discover", {{"_meta", Json::parse(kMeta)}}).at("result");
  EXPECT_EQ(discovered.at("supportedVersions"), Json::array({"2026-07-28"}));
  EXPECT_EQ(discovered.at("resultType"), "complete");
  EXPECT_GE(discovered.at("ttlMs"), 0);

  Json const tools = answer_to("tools/list", {{"_meta", Json::parse(kMeta)}}).at("result");
  EXPECT_EQ(tools.at("tools").size(), 8U);
  EXPECT_EQ(tools.at("cacheScope"), "public");
  Json const opened =
      answer_to("tools/call", {{"name", "open"}, {"_meta", Json::parse(kMeta)}}).at("result");
  EXPECT_EQ(opened.at("resultType"), "complete");

  // ping and initialize are of older revisions.
  EXPECT_EQ(code_of(answer_to("ping", {{"_meta", Json::parse(kMeta)}})), kMethodNotFound);
}

TEST_F(ServerTest, ModernRequestsThatLackMetadataAreRefused) {
  Json meta = Json::parse(kMeta);
  meta["io.modelcontextprotocol/protocolVersion"] = "2031-01-01";
  Json const refused = answer_to("tools/list", {{"_meta", meta}});
  EXPECT_EQ(code_of(refused), kUnsupportedVersion);
  EXPECT_EQ(refused.at("error").at("data").at("supported"), Json::array({"2026-07-28"}));
  EXPECT_EQ(refused.at("error").at("data").at("requested"), "2031-01-01");

  meta = Json::parse(kMeta);
  meta.erase("io.modelcontextprotocol/clientCapabilities");
  EXPECT_EQ(code_of(answer_to("tools/list", {{"_meta", meta}})), kInvalidParams);
  EXPECT_EQ(code_of(answer_to("server/discover")), kInvalidParams);
}

TEST_F(ServerTest, ASubscriptionIsAcknowledgedAndStaysOpen) {
  auto const answers = ask(R"({"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":)"
                           R"({"notifications":{"toolsListChanged":true},"_meta":)" +
                           std::string(kMeta) + "}}");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].at("method"), "notifications/subscriptions/acknowledged");
  EXPECT_EQ(answers[0].at("params").at("notifications"), Json::object());
}

TEST_F(ServerTest, NotificationsGetNoAnswer) {
  EXPECT_TRUE(ask(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").empty());
  EXPECT_TRUE(ask(R"({"jsonrpc":"2.0","method":"whatever"})").empty());
  EXPECT_TRUE(ask("").empty());
  auto const received = server_.receive(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  EXPECT_EQ(received.cancelled, std::vector<Json>{5});
}

TEST_F(ServerTest, BatchesAreAnsweredInTheOneRevisionThatHasThem) {
  std::string const batch =
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},)"
      R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open"}},7])";
  begin("2025-06-18");
  auto const refused = ask(batch);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(code_of(refused[0]), kInvalidRequest);

  begin("2025-03-26");
  auto const answers = ask(batch);
  ASSERT_EQ(answers.size(), 1U);
  ASSERT_EQ(answers[0].size(), 3U) << answers[0];
  EXPECT_EQ(answers[0][0].at("id"), 1);
  EXPECT_TRUE(answers[0][1].at("result").contains("structuredContent"));
  EXPECT_EQ(code_of(answers[0][2]), kInvalidRequest);
}

TEST_F(ServerTest, UnknownMethodsToolsAndResourcesAreErrorsOfTheProtocol) {
  begin("2025-11-25");
  EXPECT_EQ(code_of(answer_to("prompts/list")), kMethodNotFound);
  EXPECT_EQ(code_of(call("delete", Json::object())), kInvalidParams);
  EXPECT_EQ(code_of(answer_to("tools/call")), kInvalidParams);
  EXPECT_EQ(code_of(answer_to("resources/read", {{"uri", "file:///etc/passwd"}})),
            kOldResourceNotFound);
  EXPECT_EQ(code_of(answer_to("resources/read", {{"uri", "x"}, {"_meta", Json::parse(kMeta)}})),
            kInvalidParams);
}

TEST_F(ServerTest, EveryListedResourceCanBeRead) {
  begin("2025-11-25");
  Json const list = answer_to("resources/list").at("result").at("resources");
  ASSERT_EQ(list.size(), 4U);
  for (Json const& resource : list) {
    Json const read = answer_to("resources/read", {{"uri", resource.at("uri")}});
    std::string const text = read.at("result").at("contents").at(0).at("text");
    EXPECT_EQ(text.size(), resource.at("size")) << resource;
    EXPECT_TRUE(text.starts_with("# ")) << resource;
  }
}

TEST_F(ServerTest, WrongArgumentsAreErrorsOfTheToolThatNameTheArgument) {
  begin("2025-11-25");
  EXPECT_NE(error_of_call("summary", Json::object()).find("run: is missing"), std::string::npos);
  EXPECT_NE(error_of_call("summary", {{"run", 7}}).find("run: has to be a text"),
            std::string::npos);
  EXPECT_NE(error_of_call("summary", {{"run", "x"}, {"depth", 1}}).find("depth: is no argument"),
            std::string::npos);

  EXPECT_NE(error_of_call("findings", {{"run", "x"}, {"limit", 0}}).find("from 1 to 30"),
            std::string::npos);
  EXPECT_NE(error_of_call("findings", {{"run", "x"}, {"limit", UINT64_MAX}}).find("from 1 to 30"),
            std::string::npos);
  EXPECT_NE(error_of_call("compare", {{"base", "x"}, {"candidate", {"y"}}}).find("a list of texts"),
            std::string::npos);
  EXPECT_NE(error_of_call("whatif", {{"run", "x"}, {"together", "yes"}}).find("true or false"),
            std::string::npos);
  EXPECT_NE(error_of_call("summary", Json::array()).find("have to be an object"),
            std::string::npos);
}

TEST_F(ServerTest, PathsOutsideAreRefusedByEveryToolThatReads) {
  begin("2025-11-25");
  std::string const outside = (outside_ / "secret.stepscope").string();
  for (std::string const tool : {"open", "summary", "findings", "whatif", "view_link"})
    EXPECT_NE(error_of_call(tool, {{"run", outside}}).find("is not within the served paths"),
              std::string::npos)
        << tool;

  EXPECT_NE(error_of_call("query", {{"run", outside}, {"sql", "select 1"}}).find("not within"),
            std::string::npos);
  EXPECT_NE(error_of_call("table", {{"run", outside}, {"table", "steps"}}).find("not within"),
            std::string::npos);
  EXPECT_NE(error_of_call("compare", {{"base", {"run.stepscope"}}, {"candidate", {outside}}})
                .find("not within"),
            std::string::npos);
}

TEST_F(ServerTest, ACancelledCallGetsNoAnswer) {
  begin("2025-11-25");
  auto received =
      server_.receive(R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"open"}})");
  ASSERT_TRUE(received.work);
  std::get<ToolCall>(received.work->parts.front()).stop.request_stop();
  EXPECT_EQ(server_.run(std::move(*received.work)), "");
}

TEST_F(ServerTest, EveryToolSaysThatItOnlyReadsAndHasSchemas) {
  begin("2025-11-25");
  Json const answer = answer_to("tools/list");
  for (Json const& tool : answer.at("result").at("tools")) {
    EXPECT_EQ(tool.at("annotations").at("readOnlyHint"), true);
    EXPECT_EQ(tool.at("inputSchema").at("type"), "object");
    EXPECT_EQ(tool.at("outputSchema").at("type"), "object");
    EXPECT_FALSE(tool.at("description").get<std::string>().empty());
  }
}

}  // namespace
}  // namespace stepscope::agent
