// The Model Context Protocol: its revisions, its methods, and what each line of the client gets as
// an answer. No threads, no descriptors: serve.h has these.
//
// Revision 2026-07-28 has no session: each request names its revision in `_meta`. Revisions up to
// 2025-11-25 begin with `initialize`. One server answers both, each request in its own way.
#pragma once

#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/json_rpc.h"
#include "agent/run_store.h"

namespace stepscope::agent {

/// Revisions with per-request metadata, and those with a session; the newest first.
inline constexpr std::string_view kModernRevision = "2026-07-28";
inline constexpr std::string_view kSessionRevisions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                         "2024-11-05"};
/// The only one in which a line may hold several messages.
inline constexpr std::string_view kBatchRevision = "2025-03-26";

/// A call of a tool that is to be computed.
struct ToolCall {
  Json id;
  std::string tool;
  Json arguments;
  bool is_modern = false;
  std::stop_source stop;  ///< the client cancels it: then it gets no answer
};

/// What is left to do for a line, after all that is quick.
struct Work {
  std::vector<std::variant<OrderedJson, ToolCall>> parts;  ///< answers, and calls
  bool is_batch = false;
};

class Server {
 public:
  Server(RunStore& runs, std::string version) : runs_(runs), version_(std::move(version)) {}

  /// What a line brings about. One thread calls receive(), and it never waits for a tool.
  struct Received {
    std::vector<std::string> lines;  ///< to be sent at once
    std::optional<Work> work;        ///< for run()
    std::vector<Json> cancelled;     ///< ids of requests that the client gave up
  };
  Received receive(std::string_view line);

  /// The line that answers the work; empty where all of it was cancelled. One thread calls run(),
  /// it may be another one.
  std::string run(Work work);

 private:
  using Reply = std::variant<std::monostate, OrderedJson, ToolCall>;
  Reply reply_to(Request const& request, bool is_in_batch, Received& received);
  Reply reply_to_modern(Request const& request, Received& received);
  Reply reply_in_session(Request const& request, bool is_in_batch);
  /// Methods that all revisions have.
  Reply reply_to_shared(Request const& request, bool is_modern);
  Reply call_of(Request const& request, bool is_modern);
  void notice(Request const& notification, Received& received) const;
  OrderedJson initialize(Request const& request);
  [[nodiscard]] OrderedJson server_info() const;
  [[nodiscard]] OrderedJson finished(Request const& request, OrderedJson result, bool is_modern,
                                     bool is_cacheable) const;
  [[nodiscard]] OrderedJson answer_call(ToolCall const& call);

  RunStore& runs_;
  std::string version_;
  std::string session_revision_;  ///< empty before `initialize`
};

}  // namespace stepscope::agent
