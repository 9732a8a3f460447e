// Messages between processes over MPI, and how one that is gone is noticed; see processes.h.
#include "mpi/processes.h"

#include <dlfcn.h>
#include <pthread.h>
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

namespace stepscope::mpi {
namespace {

namespace fs = std::filesystem;

// Waiting for a message: at first the core is only offered to others, then the thread sleeps
// between looks. On a machine with fewer cores than threads the sleep is what lets the computation
// have them.
constexpr int kEagerLooks = 50;
constexpr std::chrono::microseconds kLookEvery{50};
// Where answers take long, looks become rarer: a message waits for at most an eighth of the time
// that nothing came before it, or for 2 ms. Every look takes the core from the work.
constexpr int kLooksInSilence = 8;
constexpr std::chrono::microseconds kSlowLookEvery{2'000};
constexpr std::chrono::milliseconds kIdleLookEvery{100};
constexpr std::chrono::milliseconds kPeersEvery{250};
// A beat is a kilobyte: nothing beside gradients. A shorter time limit has shorter ones, so that it
// is not reached by a late one.
constexpr std::chrono::milliseconds kBeatEvery{1'000};
constexpr int kBeatsInTimeout = 4;
// How often is looked for beats while no other message is awaited: that a process gives up must
// come well before a second.
constexpr std::chrono::milliseconds kBeatLookEvery{5};
// The reason for giving up has left this process by then, if it can leave at all.
constexpr std::chrono::milliseconds kTimeToTell{1'000};

// Signal handlers can reach nothing else.
std::atomic<bool>& termination_requested() {
  static std::atomic<bool> requested = false;
  return requested;
}
static_assert(std::atomic<bool>::is_always_lock_free);

struct sigaction& action_before() {
  static struct sigaction action = {};
  return action;
}

/// Launchers end the others' processes by SIGTERM when one has failed: the training ends itself
/// then, with its trace closed.
void expect_termination() {
  static_cast<void>(termination_requested());  // constructed before the handler could need it
  struct sigaction action = {};
  action.sa_handler = [](int) { termination_requested().store(true); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &action_before());
}

base::Expected<MpiModule const*> load_module() {
  std::error_code ignored;
  fs::path const program = fs::read_symlink("/proc/self/exe", ignored);
  std::string const library =
      (program.parent_path() / "../lib/libstepscope-mpi.so").lexically_normal().string();

  if (!fs::exists(library, ignored)) {
    return base::fail(
        "{}: this Stepscope was built without MPI, install libopenmpi-dev and build it again",
        library);
  }

  // Global: MPI loads parts of its own that look for its symbols.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    return base::fail("{}; install the MPI of the launcher (Debian: openmpi-bin)", dlerror());

  auto* const get = reinterpret_cast<MpiModule const* (*)()>(dlsym(handle, kMpiModuleSymbol));
  if (get == nullptr)
    return base::fail("{}: is no part of this Stepscope, install it again", library);
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
  return line_of("/proc/sys/kernel/random/boot_id") +
         fs::read_symlink("/proc/self/ns/pid", ignored).string();
}

/// Also true for a process that its parent has not waited for yet.
bool has_ended(int64_t process_id) {
  std::string const stat = line_of(fmt::format("/proc/{}/stat", process_id).c_str());
  size_t const name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ||
         stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

}  // namespace

base::Expected<void> Processes::find_module() {
  auto const module = load_module();
  if (!module) return base::fail_with(module);
  return {};
}

base::Expected<std::shared_ptr<Processes>> Processes::join(std::chrono::milliseconds timeout) {
  auto const launch = launch_from_environment();
  return launch ? join(*launch, {.timeout = timeout}) : std::shared_ptr<Processes>();
}

base::Expected<std::shared_ptr<Processes>> Processes::join(Launch launch,
                                                           Patience const& patience) {
  auto const module = load_module();
  if (!module)
    return base::fail("process {} of {}: {}", launch.rank, launch.size, module.error().message);

  int rank = 0, size = 0;
  if (char const* const error = (*module)->start(&rank, &size)) return base::fail("MPI: {}", error);
  if (static_cast<uint32_t>(size) != launch.size) {
    (*module)->finish();
    return base::fail(
        "the launcher says that this is one of {} processes, MPI says of {}: use the launcher of "
        "the same MPI (mpirun, or srun --mpi=pmix)",
        launch.size, size);
  }

  launch.rank = static_cast<uint32_t>(rank);
  expect_termination();
  return meet(launch, patience, **module);
}

base::Expected<std::shared_ptr<Processes>> Processes::meet(Launch const& launch,
                                                           Patience const& patience,
                                                           MpiModule const& mpi) {
  std::shared_ptr<Processes> processes(new Processes(launch, patience, mpi));
  processes->meet_peers();
  processes->set_timeout(patience.timeout);
  if (auto const reason = processes->failure()) return base::fail("{}", *reason);
  return processes;
}

Processes::Processes(Launch const& launch, Patience const& patience, MpiModule const& mpi)
    : launch_(launch),
      patience_(patience),
      timeout_(std::max<std::chrono::milliseconds>(patience.timeout, kDefaultTimeout)),
      mpi_(mpi),
      peers_(launch.size),
      looked_(Clock::now()) {
  thread_ = std::thread([this] { run(); });
}

Processes::~Processes() {
  Processes::all_gather("");  // no process leaves while another one still waits for a message
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  // With somebody missing MPI_Finalize would wait for ever.
  if (!failure_) mpi_.finish();
}

std::chrono::milliseconds Processes::timeout() const {
  std::lock_guard const lock(mutex_);
  return timeout_;
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
    if (peer != rank() && all[peer].ends_with(here))
      peers_[peer].process_id = std::stoll(all[peer]);
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

void Processes::watch() {
  {
    std::lock_guard const lock(mutex_);
    if (watching_ || failure_) return;
    watching_ = true;
    for (uint32_t peer = 0; peer < size(); ++peer) {
      if (peer != rank()) expect_beat(peer);
    }
  }
  wake_.notify_one();
}

void Processes::give_up(std::string const& why) {
  {
    std::lock_guard const lock(mutex_);
    if (failure_ || giving_up_) return;
    giving_up_ = why;
  }
  wake_.notify_one();
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
    char const* const error =
        message.sent
            ? mpi_.send(message.data, message.bytes, peer, message.tag, &message.request)
            : mpi_.receive(message.data, message.bytes, peer, message.tag, &message.request);

    if (error != nullptr)
      return fail(fmt::format("no message to or from rank {}: MPI says: {}", peer, error));
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
    std::shared_ptr<Message> const done = *at;
    at = active_.erase(at);
    take(*done);
  }

  if (moved) changed_.notify_all();
  return moved;
}

void Processes::take(Message& message) {
  message.received = !message.sent;
  if (message.sent) return;

  Peer& peer = peers_[message.peer];
  if (message.tag != kBeatTag) {
    peer.heard = Clock::now();
    return;
  }

  peer.lived = Clock::now();
  if (peer.beat.says == Beat::Says::kLives) return expect_beat(message.peer);

  peer.left = true;
  if (peer.beat.says == Beat::Says::kLeaves) return;
  peer.beat.why.back() = '\0';
  fail(fmt::format("rank {} cannot go on: {}", message.peer, peer.beat.why.data()));
}

void Processes::expect_beat(uint32_t peer) {
  auto const message = std::make_shared<Message>();
  message->peer = peer;
  message->tag = kBeatTag;
  message->data = &peers_[peer].beat;
  message->bytes = sizeof(Beat);
  message->since = Clock::now();
  submitted_.push_back(message);
}

void Processes::tell_all(Beat const& beat) {
  auto const* const first = reinterpret_cast<std::byte const*>(&beat);
  for (uint32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank() || peers_[peer].is_gone) continue;

    auto const message = std::make_shared<Message>();
    message->sent = true;
    message->peer = peer;
    message->tag = kBeatTag;
    message->kept.assign(first, first + sizeof beat);
    message->data = message->kept.data();
    message->bytes = sizeof beat;
    submitted_.push_back(message);
  }

  beat_at_ = Clock::now();
}

/// What is due of what this process tells the others.
void Processes::beat() {
  auto const now = Clock::now();

  if (giving_up_ && !gave_up_at_) {
    gave_up_at_ = now;
    Beat last;
    last.says = Beat::Says::kGivesUp;
    giving_up_->copy(last.why.data(), last.why.size() - 1);
    if (watching_) tell_all(last);
  } else if (gave_up_at_) {
    bool const is_sent =
        submitted_.empty() && std::none_of(active_.begin(), active_.end(), [](auto const& message) {
          return message->sent && message->tag == kBeatTag;
        });
    if (is_sent || now - *gave_up_at_ > kTimeToTell) fail(*giving_up_);
  } else if (watching_ && stopping_ && !leaving_) {
    leaving_ = true;
    Beat last;
    last.says = Beat::Says::kLeaves;
    tell_all(last);
  } else if (watching_ && !leaving_ &&
             now - beat_at_ >= std::min(kBeatEvery, timeout_ / kBeatsInTimeout)) {
    tell_all(Beat());
  }
}

void Processes::look_after_peers() {
  auto const now = Clock::now();
  bool const is_ending = termination_requested().load();
  // Who watches waits for the others' last words.

  if ((stopping_ && !watching_) || (!is_ending && now - looked_ < kPeersEvery)) return;
  looked_ = now;

  for (uint32_t peer = 0; peer < size(); ++peer) {
    int64_t const process = peers_[peer].process_id;
    if (process != 0 && !peers_[peer].left && !peers_[peer].is_gone && has_ended(process)) {
      // Its last words may have come since.
      test_active();
      if (peers_[peer].left || failure_) continue;
      return notice_gone(peer);
    }
  }

  // The launcher may be quicker than the system to take a dead process out of its list.
  constexpr std::chrono::milliseconds kTimeToSee{200};
  if (is_ending && !termination_at_) termination_at_ = now;
  if (termination_at_ && now - *termination_at_ > kTimeToSee)
    return fail(giving_up_.value_or(
        "the launcher told this process to end (SIGTERM), as it does when another one has failed"));

  look_for_silence(now);
}

/// A process that watches tells the others before it ends itself. Another one may notice that end
/// first, and would name the wrong process.
void Processes::notice_gone(uint32_t peer) {
  std::string reason = fmt::format("rank {} is gone: its process {} has ended; {}", peer,
                                   peers_[peer].process_id, patience_.if_gone);
  peers_[peer].is_gone = true;
  if (!watching_) return fail(std::move(reason));
  if (!giving_up_) giving_up_ = std::move(reason);
}

void Processes::look_for_silence(Clock::time_point now) {
  for (auto const& message : active_) {
    // A process whose messages come may still hang where they are not made: beats are no answer to
    // what is waited for.
    Peer const& peer = peers_[message->peer];
    bool const is_beat = message->tag == kBeatTag;
    auto const last = is_beat ? peer.lived : peer.heard;

    if (message->sent || (patience_.has_slow_answers && watching_ && !is_beat)) continue;
    if (now - std::max(message->since, last) < timeout_) continue;
    return fail(fmt::format(
        "nothing came from rank {} for {} s: it hangs or is gone, or waits for one "
        "that does; {}",
        message->peer, std::chrono::duration<double>(timeout_).count(), patience_.if_silent));
  }
}

/// What the program does without messages may take long: it has a second to say why it ends.
void Processes::end_when_terminated(std::unique_lock<std::mutex>& lock) {
  if (!patience_.ends_when_terminated) return;
  while (!stopping_ && !termination_requested().load()) wake_.wait_for(lock, kIdleLookEvery);
  if (wake_.wait_for(lock, kTimeToTell, [this] { return stopping_; })) return;

  sigaction(SIGTERM, &action_before(), nullptr);
  ::kill(::getpid(), SIGTERM);
}

void Processes::run() {
  pthread_setname_np(pthread_self(), "messages");
  int looks = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    beat();
    if (!submitted_.empty()) moved_at_ = Clock::now();
    begin_new();
    bool const moved = test_active();
    look_after_peers();

    if (failure_) return end_when_terminated(lock);
    if (stopping_ && submitted_.empty() && active_.empty()) return;
    looks = moved ? 0 : looks + 1;
    if (moved) moved_at_ = Clock::now();

    if (!submitted_.empty()) continue;
    if (active_.empty()) {
      wake_.wait_for(lock, kIdleLookEvery);
      looks = 0;
    } else if (std::all_of(active_.begin(), active_.end(),
                           [](auto const& message) { return message->tag == kBeatTag; })) {
      wake_.wait_for(lock, kBeatLookEvery);
      looks = 0;
    } else if (patience_.has_slow_answers) {
      Clock::duration const silence = Clock::now() - moved_at_;
      wake_.wait_for(
          lock, std::clamp<Clock::duration>(silence / kLooksInSilence, kLookEvery, kSlowLookEvery));
    } else if (looks < kEagerLooks) {
      lock.unlock();
      sched_yield();
      lock.lock();
    } else {
      wake_.wait_for(lock, kLookEvery);
    }
  }
}

}  // namespace stepscope::mpi
