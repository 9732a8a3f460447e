// Lines of a client as messages: what is well-formed, and what each malformed line gets.
#include "agent/json_rpc.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "agent/line_reader.h"

namespace stepscope::agent {
namespace {

int code_of(std::string_view line) {
  Messages const read = read_messages(line);
  if (read.messages.size() != 1) return 0;
  auto const* const wrong = std::get_if<WrongMessage>(&read.messages.front());
  return wrong == nullptr ? 0 : wrong->error.code;
}

TEST(JsonRpc, ARequestHasIdMethodAndParameters) {
  Messages const read =
      read_messages(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1}})");
  ASSERT_EQ(read.messages.size(), 1U);
  auto const& request = std::get<Request>(read.messages.front());
  EXPECT_EQ(request.id, "a");
  EXPECT_EQ(request.method, "ping");
  EXPECT_EQ(request.params.at("x"), 1);
  EXPECT_FALSE(request.is_notification());
}

TEST(JsonRpc, MalformedLinesHaveTheCodesOfTheStandard) {
  EXPECT_EQ(code_of("{"), kParseError);
  EXPECT_EQ(code_of("\xff"), kParseError);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"ping"} {})"), kParseError);

  EXPECT_EQ(code_of("[]"), kInvalidRequest);
  EXPECT_EQ(code_of("1"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"1.0","id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":7})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})"), kInvalidParams);
}

TEST(JsonRpc, AnAnswerOfTheClientIsPassedOver) {
  EXPECT_TRUE(read_messages(R"({"jsonrpc":"2.0","id":1,"result":{}})").messages.empty());
}

TEST(JsonRpc, DeepAndLongLinesAreRefusedBeforeTheyAreParsed) {
  std::string const deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(code_of(deep), kInvalidRequest);
  std::string const objects(100'000, '{');
  EXPECT_EQ(code_of(objects), kInvalidRequest);
  EXPECT_EQ(code_of(std::string(kLongestLine + 1, ' ')), kInvalidRequest);

  // Brackets within texts are no nesting.
  std::string const text = R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\")" +
                           std::string(1000, '[') + R"("}})";
  EXPECT_EQ(code_of(text), 0);
}

TEST(JsonRpc, AnswersAreOneLineOfValidUtf8) {
  std::string const line = line_of(result_message(1, {{"text", "a\nb\xff"}}));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(Json::parse(line).at("result").at("text"), "a\nb\xEF\xBF\xBD");
}

TEST(LineReader, CutsEndlessLinesAndGoesOnBehindThem) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string const sent = std::string(50, 'x') + "\nab\r\n\nlast";
  ASSERT_EQ(::write(ends[1], sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
  ::close(ends[1]);

  LineReader reader(ends[0], 10);
  EXPECT_EQ(reader.next(), std::string(11, 'x'));
  EXPECT_EQ(reader.next(), "ab");
  EXPECT_EQ(reader.next(), "");
  EXPECT_EQ(reader.next(), "last");
  EXPECT_EQ(reader.next(), std::nullopt);
  ::close(ends[0]);
}

}  // namespace
}  // namespace stepscope::agent
