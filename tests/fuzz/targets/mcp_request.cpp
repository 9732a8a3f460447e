// Any bytes as lines of a client: the server never crashes, and whatever it answers is one line of
// JSON-RPC. Tools are asked too, where nothing is served that they could read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "agent/server.h"
#include "trace/base/check.h"

namespace {

using namespace stepscope;

void check_message(agent::Json const& message) {
  STEPSCOPE_CHECK(message.is_object() && message.at("jsonrpc") == "2.0");
  STEPSCOPE_CHECK(
      message.contains("result") + message.contains("error") + message.contains("method") == 1);
}

void check_line(std::string const& line) {
  STEPSCOPE_CHECK(line.find('\n') == std::string::npos);
  agent::Json const answer = agent::Json::parse(line);
  if (!answer.is_array()) return check_message(answer);
  for (agent::Json const& each : answer) check_message(each);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  // A file that is no trace: every run is refused.
  static std::filesystem::path const served = std::filesystem::canonical("/proc/self/exe");
  agent::RunStore runs(*agent::ServedPaths::of({served.string()}));
  agent::Server server(runs, "1");

  std::string_view rest(reinterpret_cast<char const*>(data), size);
  while (!rest.empty()) {
    std::string_view const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    agent::Server::Received received = server.receive(line);
    for (std::string const& answer : received.lines) check_line(answer);
    if (!received.work) continue;
    if (std::string const answer = server.run(std::move(*received.work)); !answer.empty())
      check_line(answer);
  }
  return 0;
}
