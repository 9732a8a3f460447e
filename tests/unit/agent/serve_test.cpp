// The server on pipes: what a client sees that pings, cancels and closes while a tool works.
#include "agent/serve.h"

#include <csignal>
#include <optional>
#include <thread>

#include <unistd.h>

#include "agent/json_rpc.h"
#include "agent/line_reader.h"
#include "tests/unit/agent/served_runs.h"

namespace stepscope::agent {
namespace {

/// Never ends by itself.
constexpr std::string_view kEndless =
    R"({"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"query","arguments":)"
    R"({"run":"run.stepscope","sql":"with recursive n(i) as (select 1 union all select i+1 from n))"
    R"( select count(*) from n"}}})";

class ServeTest : public ServedRuns {
 protected:
  ServeTest() {
    EXPECT_EQ(::pipe(to_server_), 0);
    EXPECT_EQ(::pipe(from_server_), 0);
    reader_.emplace(from_server_[0], size_t{1} << 24);

    server_ = std::thread([this] {
      result_ = serve(runs_, "1", to_server_[0], from_server_[1]);
      ::close(from_server_[1]);
    });
    send(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":)"
         R"({"protocolVersion":"2025-06-18"}})");
    EXPECT_EQ(next().at("id"), 0);
  }
  ~ServeTest() override {
    finish();
    ::close(to_server_[0]);
    ::close(from_server_[0]);
  }

  void send(std::string_view line) const {
    std::string const whole = std::string(line) + "\n";
    ASSERT_EQ(::write(to_server_[1], whole.data(), whole.size()),
              static_cast<ssize_t>(whole.size()));
  }
  Json next() {
    auto const line = reader_->next();
    EXPECT_TRUE(line) << "the server closed its output";
    return line ? Json::parse(*line) : Json::object();
  }
  void close_input() {
    if (to_server_[1] >= 0) ::close(to_server_[1]);
    to_server_[1] = -1;
  }
  void finish() {
    close_input();
    if (server_.joinable()) server_.join();
  }

  RunStore runs_{*ServedPaths::of({served_.string()})};
  int to_server_[2] = {-1, -1}, from_server_[2] = {-1, -1};
  std::optional<LineReader> reader_;
  base::Expected<void> result_;
  std::thread server_;
};

TEST_F(ServeTest, PingIsAnsweredWhileAToolWorksAndACancelledCallIsNot) {
  send(kEndless);
  send(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_EQ(next().at("id"), 1);

  send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"long"}})");
  send(R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open"}})");
  EXPECT_EQ(next().at("id"), 2);
}

TEST_F(ServeTest, AWaitingCallCanBeCancelled) {
  send(kEndless);
  send(R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"open"}})");
  send(R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"open"}})");
  for (char const* const id : {"5", "\"long\"", "\"unknown\"", "{}"})
    send(std::string(
             R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)") +
         id + "}}");
  EXPECT_EQ(next().at("id"), 6);
}

TEST_F(ServeTest, WhatWasAskedBeforeTheEndIsAnswered) {
  for (int id = 1; id <= 3; ++id)
    send(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"open"}}}})", id));
  finish();
  EXPECT_TRUE(result_);
  for (int id = 1; id <= 3; ++id) EXPECT_EQ(next().at("id"), id);
  EXPECT_EQ(reader_->next(), std::nullopt);
}

TEST_F(ServeTest, AClientThatIsGoneEndsTheServer) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  ::close(from_server_[0]);
  send(kEndless);
  send(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  // The server looks after its next line at the latest.
  close_input();
  server_.join();
  std::signal(SIGPIPE, before);
  EXPECT_FALSE(result_);
  from_server_[0] = -1;
}

TEST_F(ServeTest, TooLongALineIsRefusedAndTheNextIsRead) {
  send(std::string(kLongestLine + 10, 'x'));
  EXPECT_EQ(next().at("error").at("code"), kInvalidRequest);
  send(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_EQ(next().at("id"), 1);
}

}  // namespace
}  // namespace stepscope::agent
