// What `stepscope trigger` and the processes of a run tell each other: small JSON files in the
// folder `requests` of the run. One holds what is asked for; each process keeps one with how far it
// is and what it made of the request. A folder that all processes share reaches other machines,
// leaves nothing listening, and still says something when a process has died.
//
// All of it may be hostile or torn: files of other users, links, and files that are too large do
// not count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "trace/base/expected.h"
#include "tracer/core/capture_window.h"

namespace stepscope::tracer {

/// The version of these messages. A process answers a request of another version with why it does
/// nothing.
inline constexpr int kRequestVersion = 3;
/// How often each process of a job of so many ranks looks for a request: all of them together ask a
/// file server about a thousand times a second.
constexpr int64_t request_period_ns(int32_t world_size) {
  constexpr int64_t kShortestNs = 250'000'000, kLongestNs = 2'000'000'000;
  constexpr int64_t kRanksAtShortest = 256;
  return std::clamp(world_size * (kShortestNs / kRanksAtShortest), kShortestNs, kLongestNs);
}

/// Why a ring is written that a person asks for.
inline constexpr char kAskedByPerson[] = "stepscope trigger asked for it";
/// What is asked for. A window is asked for twice: first where every process is, then, once all
/// have answered, for the steps that all of them can record.
struct Request {
  enum class Kind : uint8_t {
    kNone,   ///< the window whose steps have not come yet is not wanted any more
    kState,  ///< say how far you are
    kWindow,
    kRing,   ///< write what is kept; processes ask each other, too
    kStop,   ///< end recording for good; the program goes on
    kFlush,  ///< bring what the open window has until now into its file
  };
  int version = kRequestVersion;
  std::string id;  ///< another one for every file that is written
  Kind kind = Kind::kNone;
  StepRange steps;  ///< kWindow, all where it is timed; kRing: it begins at the first or later
  // kWindow: a stretch of time, in ns since 1970. 0 = by steps.
  int64_t begin_epoch_ns = 0, end_epoch_ns = 0;
  std::string ring;    ///< kRing: the name of its folder in that of the run
  std::string reason;  ///< kRing: why, for people
  bool operator==(Request const&) const = default;

  [[nodiscard]] bool is_timed() const { return begin_epoch_ns != 0; }
};

/// What a process says of itself.
struct ProcessState {
  enum class Phase : uint8_t { kWaiting, kAsked, kRecording, kKeeping, kEnded };
  enum class Answer : uint8_t { kNone, kDone, kTooLate, kBusy, kOtherVersion };

  int version = kRequestVersion;
  std::string host;
  uint64_t process_ids = 0;  ///< the namespace of process_id: containers have their own
  int64_t process_id = 0;
  int32_t rank = -1;  ///< −1: it has none
  int32_t world_size = 1;
  std::string command;

  Phase phase = Phase::kWaiting;
  int64_t step = -1;         ///< the latest that a thread has begun; −1: none
  int64_t step_ns = 0;       ///< the length of the latest ones; 0: not known
  StepRange window{-1, -1};  ///< asked for or being recorded; then the last one that was written;
                             ///< of a ring what is kept
  uint64_t written = 0;      ///< windows, until now
  std::string file;          ///< of the last one
  std::string problem;       ///< why recording ended before the program did
  uint64_t failed = 0;       ///< rings that could not be written; `problem` is of the last one
  std::string request;       ///< the id of the latest request that it has seen
  std::string ring;          ///< the id of the latest request for a ring that it has taken in
  Answer answer = Answer::kNone;
  bool operator==(ProcessState const&) const = default;
};

/// The folder of the messages of a run.
std::string requests_folder(std::string const& run);
/// It is there, and this user's own: not behind a link.
bool has_requests_folder(std::string const& run);
/// What ProcessState::process_ids is here; 0 = not known.
uint64_t own_process_ids();
/// The name of a process's file in it.
std::string state_file_name(ProcessState const& process);

std::string to_text(Request const& request);
std::string to_text(ProcessState const& state);
/// Nothing when it is not one, or lacks a part.
std::optional<Request> parse_request(std::string_view text);
std::optional<ProcessState> parse_process_state(std::string_view text);

/// Whether a folder of that name may be made for a ring: "ring-" and letters, digits or "-".
bool is_ring_name(std::string_view name);

/// Errors: the folder is gone, full or not writable.
base::Expected<void> write_message(std::string const& folder, std::string const& name,
                                   std::string const& text);
/// Nothing when no file of that name counts.
std::optional<std::string> read_message(std::string const& folder, std::string const& name);
/// Requests for rings have a file of their own: processes write it, too, while somebody asks for
/// something else.
base::Expected<void> write_request(std::string const& run, Request const& request);
/// None of these is a kRing.
std::optional<Request> read_request(std::string const& run);
std::optional<Request> read_ring_request(std::string const& run);
/// All that can be read, sorted by rank and process id.
std::vector<ProcessState> read_process_states(std::string const& run);
/// Files of processes that belong to another user, which do not count.
size_t foreign_process_files(std::string const& run);
/// Removes what an earlier run in this folder has left: all of it, or what one rank has.
void forget_processes(std::string const& run, std::optional<int32_t> rank);
/// Whether it is on this machine and has not ended. One that its parent has not waited for has: in
/// containers that may never happen.
bool is_alive(pid_t process);
/// Removes what processes of this machine have left that are no more.
void forget_dead_processes(std::string const& run);

}  // namespace stepscope::tracer
