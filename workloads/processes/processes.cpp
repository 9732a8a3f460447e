// Messages between processes over MPI, and how one that is gone is noticed; see processes.h.
#include "workloads/processes/processes.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "trace/base/check.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads {
namespace {

namespace fs = std::filesystem;

// Waiting for a message: at first the core is only offered to others, then the thread sleeps between looks. On a machine with
// fewer cores than threads the sleep is what lets the computation have them.
constexpr int kEagerLooks = 50;
constexpr std::chrono::microseconds kLookEvery{50};
constexpr std::chrono::milliseconds kIdleLookEvery{100};
constexpr std::chrono::milliseconds kPeersEvery{250};

// Signal handlers can reach nothing else.
std::atomic<bool>& told_to_end() {
  static std::atomic<bool> told = false;
  return told;
}
static_assert(std::atomic<bool>::is_always_lock_free);

/// Launchers end the others' processes by SIGTERM when one has failed: the training ends itself then, with its trace closed.
void expect_termination() {
  static_cast<void>(told_to_end());  // constructed before the handler could need it
  struct sigaction action = {};
  action.sa_handler = [](int) { told_to_end().store(true); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

base::Expected<MpiModule const*> load_module() {
  std::error_code ignored;
  fs::path const program = fs::read_symlink("/proc/self/exe", ignored);
  std::string const library = (program.parent_path() / "../lib/libstepscope-mpi.so").lexically_normal().string();
  if (!fs::exists(library, ignored)) {
    return base::fail("{}: this Stepscope was built without MPI, install libopenmpi-dev and build it again", library);
  }
  // Global: MPI loads parts of its own that look for its symbols.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) return base::fail("{}; install the MPI of the launcher (Debian: openmpi-bin)", dlerror());
  auto* const get = reinterpret_cast<MpiModule const* (*)()>(dlsym(handle, kMpiModuleSymbol));
  if (get == nullptr) return base::fail("{}: is no part of this Stepscope, install it again", library);
  return get();
}

std::string line_of(char const* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Processes with the same text see each other's process ids.
std::string machine() {
  std::error_code ignored;
  return line_of("/proc/sys/kernel/random/boot_id") + fs::read_symlink("/proc/self/ns/pid", ignored).string();
}

/// Also one that nobody has waited for yet.
bool has_ended(int64_t process_id) {
  std::string const stat = line_of(fmt::format("/proc/{}/stat", process_id).c_str());
  size_t const name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

}  // namespace

base::Expected<std::shared_ptr<Processes>> Processes::join(std::chrono::milliseconds timeout) {
  auto launch = launch_from_environment();
  if (!launch) return std::shared_ptr<Processes>();
  auto const module = load_module();
  if (!module) return base::fail("process {} of {}: {}", launch->rank, launch->size, module.error().message);
  int rank = 0, size = 0;
  if (char const* const error = (*module)->start(&rank, &size)) return base::fail("MPI: {}", error);
  if (static_cast<uint32_t>(size) != launch->size) {
    (*module)->finish();
    return base::fail(
        "the launcher says that this is one of {} processes, MPI says of {}: use the launcher of the same MPI (mpirun, "
        "or srun --mpi=pmix)",
        launch->size, size);
  }
  launch->rank = static_cast<uint32_t>(rank);
  expect_termination();
  return meet(*launch, timeout, **module);
}

base::Expected<std::shared_ptr<Processes>> Processes::meet(Launch const& launch, std::chrono::milliseconds timeout,
                                                           MpiModule const& mpi) {
  std::shared_ptr<Processes> processes(new Processes(launch, timeout, mpi));
  processes->meet_peers();
  processes->set_timeout(timeout);
  if (auto const reason = processes->failure()) return base::fail("{}", *reason);
  return processes;
}

Processes::Processes(Launch const& launch, std::chrono::milliseconds timeout, MpiModule const& mpi)
    : launch_(launch),
      timeout_(std::max<std::chrono::milliseconds>(timeout, kDefaultTimeout)),
      mpi_(mpi),
      peers_(launch.size),
      looked_(Clock::now()) {
  thread_ = std::thread([this] { run(); });
}

Processes::~Processes() {
  all_gather("");  // nobody leaves while another one still waits for a message
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  // With somebody missing MPI_Finalize would wait for ever.
  if (!failure_) mpi_.finish();
}

void Processes::set_timeout(std::chrono::milliseconds timeout) {
  std::lock_guard const lock(mutex_);
  timeout_ = timeout;
}

void Processes::meet_peers() {
  std::vector<std::string> const all = all_gather(fmt::format("{} {}", ::getpid(), machine()));
  std::string const here = " " + machine();
  std::lock_guard const lock(mutex_);
  for (uint32_t peer = 0; peer < size() && !failure_; ++peer) {
    if (peer != rank() && all[peer].ends_with(here)) peers_[peer].process_id = std::stoll(all[peer]);
  }
}

void Processes::send(uint32_t to, int tag, void const* data, size_t bytes) {
  STEPSCOPE_CHECK(to < size() && to != rank() && bytes <= INT_MAX);
  auto message = std::make_shared<Message>();
  message->sent = true;
  message->peer = to;
  message->tag = tag;
  auto const* const first = static_cast<std::byte const*>(data);
  message->kept.assign(first, first + bytes);
  message->data = message->kept.data();
  message->bytes = bytes;
  {
    std::lock_guard const lock(mutex_);
    if (failure_) return;
    submitted_.push_back(std::move(message));
  }
  wake_.notify_one();
}

bool Processes::receive(uint32_t from, int tag, void* data, size_t bytes) {
  STEPSCOPE_CHECK(from < size() && from != rank() && bytes <= INT_MAX);
  auto const message = std::make_shared<Message>();
  message->peer = from;
  message->tag = tag;
  message->data = data;
  message->bytes = bytes;
  message->since = Clock::now();
  std::unique_lock lock(mutex_);
  if (failure_) return false;
  submitted_.push_back(message);
  wake_.notify_one();
  changed_.wait(lock, [&] { return message->over || failure_; });
  return message->received;
}

std::vector<std::string> Processes::all_gather(std::string const& mine) {
  std::vector<std::string> all(size());
  all[rank()] = mine;
  uint64_t const bytes = mine.size();
  for (uint32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    send(peer, kGatherTag, &bytes, sizeof bytes);
    send(peer, kGatherTag, mine.data(), mine.size());
  }
  for (uint32_t peer = 0; peer < size(); ++peer) {
    uint64_t theirs = 0;
    if (peer == rank() || !receive(peer, kGatherTag, &theirs, sizeof theirs)) continue;
    all[peer].resize(theirs);
    receive(peer, kGatherTag, all[peer].data(), theirs);
  }
  if (failure()) return std::vector<std::string>(size());
  return all;
}

base::Expected<void> Processes::agree(base::Expected<void> const& mine) {
  std::vector<std::string> const all = all_gather(mine ? "" : mine.error().message);
  if (!mine) return mine;
  for (uint32_t peer = 0; peer < size(); ++peer) {
    if (!all[peer].empty()) return base::fail("rank {}: {}", peer, all[peer]);
  }
  if (auto const gone = failure()) return base::fail("{}", *gone);
  return {};
}

std::optional<std::string> Processes::failure() const {
  std::lock_guard const lock(mutex_);
  return failure_;
}

/// From here on MPI is not called any more: what it still has of messages stays where it is.
void Processes::fail(std::string reason) {
  if (failure_) return;
  failure_ = std::move(reason);
  changed_.notify_all();
}

void Processes::begin_new() {
  for (; !submitted_.empty() && !failure_; submitted_.pop_front()) {
    Message& message = *submitted_.front();
    auto const peer = static_cast<int>(message.peer);
    char const* const error = message.sent ? mpi_.send(message.data, message.bytes, peer, message.tag, &message.request)
                                           : mpi_.receive(message.data, message.bytes, peer, message.tag, &message.request);
    if (error != nullptr) return fail(fmt::format("no message to or from rank {}: MPI says: {}", peer, error));
    active_.push_back(submitted_.front());
  }
}

/// Whether a message is over that was not.
bool Processes::test_active() {
  bool moved = false;
  for (auto at = active_.begin(); at != active_.end() && !failure_;) {
    Message& message = **at;
    if (char const* const error = mpi_.test(message.request, &message.over)) {
      fail(fmt::format("rank {} is gone or cannot be reached: MPI says: {}", message.peer, error));
      return true;
    }
    if (!message.over) {
      ++at;
      continue;
    }
    moved = true;
    message.received = !message.sent;
    if (message.received) peers_[message.peer].heard = Clock::now();
    at = active_.erase(at);
  }
  if (moved) changed_.notify_all();
  return moved;
}

void Processes::look_after_peers() {
  auto const now = Clock::now();
  bool const told = told_to_end().load();
  if (stopping_ || (!told && now - looked_ < kPeersEvery)) return;
  looked_ = now;
  for (uint32_t peer = 0; peer < size(); ++peer) {
    int64_t const process = peers_[peer].process_id;
    if (process != 0 && has_ended(process)) {
      return fail(fmt::format("rank {} is gone: its process {} has ended; checkpoints and traces written so far can be read",
                              peer, process));
    }
  }
  // The launcher may be quicker than the system to take a dead process out of its list.
  constexpr std::chrono::milliseconds kTimeToSee{200};
  if (told && !told_at_) told_at_ = now;
  if (told_at_ && now - *told_at_ > kTimeToSee)
    return fail("the launcher told this process to end (SIGTERM), as it does when another one has failed");
  for (auto const& message : active_) {
    if (message->sent || now - std::max(message->since, peers_[message->peer].heard) < timeout_) continue;
    return fail(
        fmt::format("nothing came from rank {} for {} s: it hangs or is gone, or waits for one that does; if it only works "
                    "longer, raise --collective-timeout",
                    message->peer, std::chrono::duration<double>(timeout_).count()));
  }
}

void Processes::run() {
  name_this_thread("messages");
  int looks = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_new();
    bool const moved = test_active();
    look_after_peers();
    if (failure_ || (stopping_ && submitted_.empty() && active_.empty())) return;
    looks = moved ? 0 : looks + 1;
    if (!submitted_.empty()) continue;
    if (active_.empty()) {
      wake_.wait_for(lock, kIdleLookEvery);
      looks = 0;
    } else if (looks < kEagerLooks) {
      lock.unlock();
      sched_yield();
      lock.lock();
    } else {
      wake_.wait_for(lock, kLookEvery);
    }
  }
}

}  // namespace stepscope::workloads
