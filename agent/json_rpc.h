// JSON-RPC 2.0, one message a line, as the Model Context Protocol uses it. The lines are untrusted:
// everything is checked here, so that the server sees well-formed messages only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace stepscope::agent {

/// What comes in: objects are sorted, so that a message of many keys costs no more than its length.
using Json = nlohmann::json;
/// What goes out: keys stand in the order in which they are written.
using OrderedJson = nlohmann::ordered_json;

/// Error codes of JSON-RPC, and those of the protocol.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kOldResourceNotFound = -32002;  ///< up to revision 2025-11-25
inline constexpr int kUnsupportedVersion = -32022;   ///< from revision 2026-07-28

struct RpcError {
  int code = kInvalidRequest;
  std::string message;
  OrderedJson data;  ///< null: none
};

/// A request, or a notification, which has no id and gets no answer.
struct Request {
  Json id;  ///< a text or a whole number; null: a notification
  std::string method;
  Json params = Json::object();  ///< an object
  [[nodiscard]] bool is_notification() const { return id.is_null(); }
};

/// A malformed message, with the id under which its sender may wait; null where the id is unknown.
struct WrongMessage {
  Json id;
  RpcError error;
};

/// A line holds one message, or an array of them (a batch).
struct Messages {
  std::vector<std::variant<Request, WrongMessage>>
      messages;  ///< without answers, which are ignored
  bool is_batch = false;
};

/// Longest line. No question needs more than a few kilobytes.
inline constexpr size_t kLongestLine = size_t{1} << 20;
/// Deepest nesting of arrays and objects.
inline constexpr size_t kDeepestNesting = 64;
/// Most messages of a batch.
inline constexpr size_t kLargestBatch = 64;

/// Never fails: what cannot be read is a WrongMessage.
Messages read_messages(std::string_view line);

/// One line without its end, valid UTF-8, whatever bytes the texts hold.
std::string line_of(OrderedJson const& message);
OrderedJson result_message(Json const& id, OrderedJson result);
OrderedJson error_message(Json const& id, RpcError const& error);

}  // namespace stepscope::agent
