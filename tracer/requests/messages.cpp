#include "tracer/requests/messages.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/host_name.h"
#include "trace/file/codec/json_text.h"
#include "tracer/core/sockets/file_descriptor.h"
#include "tracer/requests/flat_object.h"

namespace stepscope::tracer {
namespace {

/// Commands and paths are the longest that a message has.
constexpr size_t kMaxMessageBytes = 64 << 10;
constexpr char kRequestName[] = "request.json", kRingRequestName[] = "ring.json";
constexpr std::string_view kStateSuffix = ".process.json";
/// Processes of a run: more files than that are not ours.
constexpr size_t kMaxProcesses = 1 << 17;

template <class Enum, size_t N>
using Names = std::array<std::pair<Enum, char const*>, N>;

constexpr Names<Request::Kind, 6> kKinds = {{{Request::Kind::kNone, "none"},
                                             {Request::Kind::kState, "state"},
                                             {Request::Kind::kWindow, "window"},
                                             {Request::Kind::kRing, "ring"},
                                             {Request::Kind::kStop, "stop"},
                                             {Request::Kind::kFlush, "flush"}}};
constexpr Names<ProcessState::Phase, 5> kPhases = {{{ProcessState::Phase::kWaiting, "waiting"},
                                                    {ProcessState::Phase::kAsked, "asked"},
                                                    {ProcessState::Phase::kRecording, "recording"},
                                                    {ProcessState::Phase::kKeeping, "keeping"},
                                                    {ProcessState::Phase::kEnded, "ended"}}};
constexpr Names<ProcessState::Answer, 5> kAnswers = {
    {{ProcessState::Answer::kNone, "none"},
     {ProcessState::Answer::kDone, "done"},
     {ProcessState::Answer::kTooLate, "too late"},
     {ProcessState::Answer::kBusy, "busy"},
     {ProcessState::Answer::kOtherVersion, "other version"}}};

template <class Enum, size_t N>
char const* name_of(Names<Enum, N> const& names, Enum wanted) {
  for (auto const& [value, name] : names)
    if (value == wanted) return name;
  return "";
}

/// The members of a message. A part that is missing or of another type makes all of it bad.
class Reader {
 public:
  explicit Reader(std::string_view text) : message_(FlatObject::parse(text)) {
    is_good_ = message_.has_value();
  }

  template <class Int>
  void read(char const* name, Int& into) {
    int64_t const* const found = is_good_ ? message_->integer(name) : nullptr;
    is_good_ = found != nullptr && std::in_range<Int>(*found);
    if (is_good_) into = static_cast<Int>(*found);
  }
  void read(char const* name, std::string& into) {
    std::string const* const found = is_good_ ? message_->string(name) : nullptr;
    is_good_ = found != nullptr;
    if (is_good_) into = *found;
  }
  template <class Enum, size_t N>
  void read(char const* name, Enum& into, Names<Enum, N> const& names) {
    std::string text;
    read(name, text);
    for (auto const& [value, known] : names)
      if (text == known) {
        into = value;
        return;
      }
    is_good_ = false;
  }
  [[nodiscard]] bool is_good() const { return is_good_; }

 private:
  std::optional<FlatObject> message_;
  bool is_good_ = false;
};

bool is_of_this_user(struct stat const& found) {
  return found.st_uid == ::geteuid() || found.st_uid == 0;
}

/// The names of files of processes.
std::vector<std::string> process_files(std::string const& run) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(requests_folder(run), error), end;
       !error && entry != end && names.size() < kMaxProcesses; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && name.ends_with(kStateSuffix)) names.push_back(std::move(name));
  }
  return names;
}

/// What the names of files begin with for processes of one machine and one space of process ids.
std::string prefix_of_machine(std::string host, uint64_t process_ids) {
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '_');
  return fmt::format("{}-{}-", host, process_ids);
}

}  // namespace

std::string requests_folder(std::string const& run) { return run + "/requests"; }

bool has_requests_folder(std::string const& run) {
  struct stat found {};
  return ::lstat(requests_folder(run).c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid();
}

uint64_t own_process_ids() {
  struct stat found {};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

std::string state_file_name(ProcessState const& process) {
  return fmt::format("{}{}{}", prefix_of_machine(process.host, process.process_ids),
                     process.process_id, kStateSuffix);
}

std::string to_text(Request const& request) {
  file::JsonText text;
  text.begin_object()
      .member("version", request.version)
      .member("id", request.id)
      .member("kind", name_of(kKinds, request.kind))
      .member("first_step", request.steps.first)
      .member("last_step", request.steps.last)
      .member("begin_ns", request.begin_epoch_ns)
      .member("end_ns", request.end_epoch_ns)
      .member("ring", request.ring)
      .member("reason", request.reason)
      .end_object();

  return text.take() + "\n";
}

std::string to_text(ProcessState const& state) {
  file::JsonText text;
  text.begin_object()
      .member("version", state.version)
      .member("host", state.host)
      .member("process_ids", state.process_ids)
      .member("process_id", state.process_id)
      .member("rank", state.rank)
      .member("world_size", state.world_size)
      .member("command", state.command)
      .member("phase", name_of(kPhases, state.phase))
      .member("step", state.step)
      .member("step_ns", state.step_ns)
      .member("first_step", state.window.first)
      .member("last_step", state.window.last)
      .member("written", state.written)
      .member("file", state.file)
      .member("problem", state.problem)
      .member("failed", state.failed)
      .member("request", state.request)
      .member("ring", state.ring)
      .member("answer", name_of(kAnswers, state.answer))
      .end_object();

  return text.take() + "\n";
}

std::optional<Request> parse_request(std::string_view text) {
  Request request;
  Reader reader(text);
  reader.read("version", request.version);
  reader.read("id", request.id);

  // Another version has other parts: what it asks for is not known, but that it asks is.
  if (reader.is_good() && request.version != kRequestVersion) return request;
  reader.read("kind", request.kind, kKinds);
  reader.read("first_step", request.steps.first);
  reader.read("last_step", request.steps.last);
  reader.read("begin_ns", request.begin_epoch_ns);
  reader.read("end_ns", request.end_epoch_ns);
  reader.read("ring", request.ring);
  reader.read("reason", request.reason);

  bool const is_range = request.steps.first >= 0 && request.steps.last >= request.steps.first;
  bool const is_named = request.kind != Request::Kind::kRing || is_ring_name(request.ring);
  bool const is_time = request.begin_epoch_ns >= 0 &&
                       (request.is_timed() ? request.end_epoch_ns > request.begin_epoch_ns
                                           : request.end_epoch_ns == 0);
  if (!reader.is_good() || !is_range || !is_named || !is_time) return {};
  return request;
}

std::optional<ProcessState> parse_process_state(std::string_view text) {
  ProcessState state;
  Reader reader(text);
  reader.read("version", state.version);
  reader.read("host", state.host);
  reader.read("process_id", state.process_id);
  if (reader.is_good() && state.version != kRequestVersion) return state;

  reader.read("process_ids", state.process_ids);
  reader.read("rank", state.rank);
  reader.read("world_size", state.world_size);
  reader.read("command", state.command);

  reader.read("phase", state.phase, kPhases);
  reader.read("step", state.step);
  reader.read("step_ns", state.step_ns);
  reader.read("first_step", state.window.first);
  reader.read("last_step", state.window.last);
  reader.read("written", state.written);
  reader.read("file", state.file);
  reader.read("problem", state.problem);
  reader.read("failed", state.failed);
  reader.read("request", state.request);
  reader.read("ring", state.ring);
  reader.read("answer", state.answer, kAnswers);
  if (!reader.is_good() || state.step_ns < 0) return {};
  return state;
}

bool is_ring_name(std::string_view name) {
  constexpr std::string_view kPrefix = "ring-";
  constexpr size_t kMostBytes = 64;
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() && name.size() <= kMostBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (std::isalnum(c) != 0 && c < 0x80) || c == '-';
         });
}

base::Expected<void> write_message(std::string const& folder, std::string const& name,
                                   std::string const& text) {
  std::string const path = folder + "/" + name;
  // Processes that ask each other may write one name at once.
  std::string const beside =
      fmt::format("{}/.{}.{}{}.new", folder, name,
                  prefix_of_machine(base::host_name(), own_process_ids()), ::getpid());
  auto const failed = [&](int reason) {
    ::unlink(beside.c_str());
    return base::fail("{}: cannot be written ({}), requests cannot reach the run", path,
                      std::strerror(reason));
  };

  ::unlink(beside.c_str());  // left behind, or planted
  FileDescriptor file(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return failed(errno);
  if (ssize_t const written = ::write(file.get(), text.data(), text.size());
      written != static_cast<ssize_t>(text.size()))
    return failed(written < 0 ? errno : ENOSPC);
  file.close();
  if (::rename(beside.c_str(), path.c_str()) != 0) return failed(errno);
  return {};
}

std::optional<std::string> read_message(std::string const& folder, std::string const& name) {
  std::string const path = folder + "/" + name;
  // Opened each time: a file server is asked then whether another one has taken its place.
  FileDescriptor const file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0) return {};
  if (!S_ISREG(found.st_mode) || !is_of_this_user(found)) return {};
  if (found.st_size < 0 || static_cast<size_t>(found.st_size) > kMaxMessageBytes) return {};

  std::string text(static_cast<size_t>(found.st_size), '\0');
  ssize_t const got = ::read(file.get(), text.data(), text.size());
  if (got != static_cast<ssize_t>(text.size())) return {};
  return text;
}

base::Expected<void> write_request(std::string const& run, Request const& request) {
  bool const is_ring = request.kind == Request::Kind::kRing;
  return write_message(requests_folder(run), is_ring ? kRingRequestName : kRequestName,
                       to_text(request));
}

namespace {

std::optional<Request> read_request_from(std::string const& run, char const* name, bool is_ring) {
  auto const text = read_message(requests_folder(run), name);
  auto request = text ? parse_request(*text) : std::nullopt;
  bool const is_wanted = request && (request->version != kRequestVersion ||
                                     (request->kind == Request::Kind::kRing) == is_ring);
  return is_wanted ? std::move(request) : std::nullopt;
}

}  // namespace

std::optional<Request> read_request(std::string const& run) {
  return read_request_from(run, kRequestName, false);
}

std::optional<Request> read_ring_request(std::string const& run) {
  return read_request_from(run, kRingRequestName, true);
}

std::vector<ProcessState> read_process_states(std::string const& run) {
  std::vector<ProcessState> states;
  for (std::string const& name : process_files(run)) {
    auto const text = read_message(requests_folder(run), name);
    if (auto state = text ? parse_process_state(*text) : std::nullopt)
      states.push_back(std::move(*state));
  }

  std::sort(states.begin(), states.end(), [](ProcessState const& a, ProcessState const& b) {
    return std::tie(a.rank, a.host, a.process_id) < std::tie(b.rank, b.host, b.process_id);
  });
  return states;
}

size_t foreign_process_files(std::string const& run) {
  size_t count = 0;
  for (std::string const& name : process_files(run)) {
    struct stat found {};
    bool const is_there = ::lstat((requests_folder(run) + "/" + name).c_str(), &found) == 0;
    if (is_there && !is_of_this_user(found)) ++count;
  }
  return count;
}

void forget_processes(std::string const& run, std::optional<int32_t> rank) {
  std::string const folder = requests_folder(run);
  for (ProcessState const& state : read_process_states(run))
    if (!rank || state.rank == *rank) ::unlink((folder + "/" + state_file_name(state)).c_str());
  if (rank) return;
  for (char const* const name : {kRequestName, kRingRequestName})
    ::unlink((folder + "/" + name).c_str());
}

bool is_alive(pid_t process) {
  if (::kill(process, 0) != 0 && errno != EPERM) return false;
  std::string const path = "/proc/" + std::to_string(process) + "/stat";
  FileDescriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> buffer{};
  ssize_t const size = file.get() >= 0 ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
  std::string_view line(buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));

  // Its name stands in brackets and may have any characters. The state comes next.
  constexpr int kFieldOfThreads = 18;
  size_t at = line.rfind(')');
  if (at == std::string_view::npos) return true;
  bool const is_zombie = line.substr(at).starts_with(") Z ");
  for (int i = 0; i < kFieldOfThreads && at != std::string_view::npos; ++i)
    at = line.find(' ', at + 1);

  // A main thread may exit before the others: the process lives as long as one of them.
  bool const is_last = at == std::string_view::npos || line.substr(at).starts_with(" 1 ");
  return !is_zombie || !is_last;
}

void forget_dead_processes(std::string const& run) {
  std::string const prefix = prefix_of_machine(base::host_name(), own_process_ids());
  for (std::string const& name : process_files(run)) {
    if (!name.starts_with(prefix)) continue;
    pid_t process = 0;
    char const* const first = name.data() + prefix.size();
    auto const [last, error] = std::from_chars(first, name.data() + name.size(), process);

    bool const is_number = error == std::errc() && std::string_view(last) == kStateSuffix;
    if (is_number && process > 0 && !is_alive(process))
      ::unlink((requests_folder(run) + "/" + name).c_str());
  }
}

}  // namespace stepscope::tracer
