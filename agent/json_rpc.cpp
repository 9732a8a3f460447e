#include "agent/json_rpc.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stepscope::agent {
namespace {

/// Deepest nesting of brackets outside of texts. nlohmann's values are copied and written
/// recursively, so deep ones are refused before they are made.
size_t nesting_of(std::string_view text) {
  size_t depth = 0, deepest = 0;
  bool is_in_text = false;

  for (size_t i = 0; i < text.size(); ++i) {
    char const sign = text[i];
    if (is_in_text) {
      if (sign == '\\') ++i;
      if (sign == '"') is_in_text = false;
      continue;
    }

    if (sign == '"') is_in_text = true;
    if (sign == '[' || sign == '{') deepest = std::max(deepest, ++depth);
    if ((sign == ']' || sign == '}') && depth > 0) --depth;
  }

  return deepest;
}

bool is_id(Json const& value) { return value.is_string() || value.is_number_integer(); }

WrongMessage wrong(std::string message, Json id = nullptr, int code = kInvalidRequest) {
  return {std::move(id), {code, std::move(message), nullptr}};
}

/// Nothing for an answer: the server asks for none.
std::optional<std::variant<Request, WrongMessage>> message_of(Json& value) {
  if (!value.is_object()) return wrong("a message is a JSON object");
  auto const id = value.find("id");
  bool const has_id = id != value.end();
  Json const known = has_id && is_id(*id) ? *id : Json();

  if (value.value("jsonrpc", Json()) != "2.0")
    return wrong("the message needs \"jsonrpc\": \"2.0\"", known);
  auto const method = value.find("method");
  if (method == value.end() && (value.contains("result") || value.contains("error")))
    return std::nullopt;
  if (method == value.end() || !method->is_string())
    return wrong("the message needs a \"method\", which is a text", known);
  if (has_id && !is_id(*id)) return wrong("an \"id\" is a text or a whole number");

  Request request{known, method->get<std::string>()};
  if (auto const params = value.find("params"); params != value.end()) {
    if (!params->is_object()) return wrong("\"params\" is an object", known, kInvalidParams);
    request.params = std::move(*params);
  }
  return request;
}

}  // namespace

Messages read_messages(std::string_view line) {
  Messages read;
  if (line.size() > kLongestLine) {
    read.messages.push_back(wrong(
        fmt::format("the message has more than {} bytes, ask for less at once", kLongestLine)));
    return read;
  }
  if (nesting_of(line) > kDeepestNesting) {
    read.messages.push_back(
        wrong(fmt::format("the message is nested deeper than {}", kDeepestNesting)));
    return read;
  }

  Json whole = Json::parse(line, nullptr, false);
  if (whole.is_discarded()) {
    read.messages.push_back(wrong("the line is not JSON", nullptr, kParseError));
    return read;
  }

  read.is_batch = whole.is_array();
  if (read.is_batch && (whole.empty() || whole.size() > kLargestBatch)) {
    read.is_batch = false;
    read.messages.push_back(wrong(fmt::format("a batch has 1 to {} messages", kLargestBatch)));
    return read;
  }

  auto const add = [&](Json& value) {
    if (auto message = message_of(value)) read.messages.push_back(std::move(*message));
  };
  if (!read.is_batch)
    add(whole);
  else
    for (Json& value : whole) add(value);
  return read;
}

std::string line_of(OrderedJson const& message) {
  return message.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson result_message(Json const& id, OrderedJson result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

OrderedJson error_message(Json const& id, RpcError const& error) {
  OrderedJson inner = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) inner["data"] = error.data;

  // The protocol's schema has no null here: an id that is not known is left out.
  OrderedJson message = {{"jsonrpc", "2.0"}};
  if (!id.is_null()) message["id"] = id;
  message["error"] = std::move(inner);
  return message;
}

}  // namespace stepscope::agent
