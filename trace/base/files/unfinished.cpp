// The handler may run at any instruction of any thread, so it takes no lock and no memory: names
// stand in a list that only grows, and an atomic exchange decides who removes one.
#include "trace/base/files/unfinished.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace stepscope::base {

struct UnfinishedName {
  std::string path;
  Unfinished::Kind kind;
  pid_t owner;
};

struct UnfinishedSlot {
  std::atomic<UnfinishedName*> name{nullptr};
  UnfinishedSlot* next = nullptr;
};

namespace {

constexpr std::array kEndingSignals = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE,
                                       SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ};
/// Folders in folders: a staged output is flat, a self-test's folder holds runs.
constexpr int kMostDepth = 8;
/// Other threads may still make files in a folder while it is emptied.
constexpr int kMostRounds = 100;

std::atomic<UnfinishedSlot*> first_slot{nullptr};
std::atomic<int> holds{0};
std::atomic<int> signal_that_ends{0};
/// That has the handler: a fork of it may end while this one does.
std::atomic<pid_t> watched_process{0};
enum class Removal : int { kNotBegun, kRunning, kDone };
std::atomic<Removal> removal{Removal::kNotBegun};

/// readdir() takes memory, which a signal handler must not.
template <class Visit>
void each_entry(int folder, Visit visit) {
  struct Entry {
    ino64_t inode;
    off64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  alignas(Entry) std::array<char, 4096> buffer{};
  for (;;) {
    long const size = ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (size <= 0) return;
    for (long at = 0; at < size;) {
      auto const* const entry = reinterpret_cast<Entry const*>(buffer.data() + at);
      char const* const name = buffer.data() + at + offsetof(Entry, name);
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) visit(name);
      at += entry->length;
    }
  }
}

void remove_at(int folder, char const* name, int depth) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT || depth > kMostDepth) return;
  for (int round = 0; round < kMostRounds; ++round) {
    int const inside = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inside < 0) return;
    each_entry(inside, [&](char const* entry) { remove_at(inside, entry, depth + 1); });
    ::close(inside);
    if (::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY) return;
  }
}

void remove_name(UnfinishedName const& name) {
  if (name.owner != ::getpid()) return;
  switch (name.kind) {
    case Unfinished::Kind::kFile:
      ::unlink(name.path.c_str());
      break;
    case Unfinished::Kind::kFolder:
      remove_tree(name.path.c_str());
      break;
    case Unfinished::Kind::kEmptyFolder:
      ::rmdir(name.path.c_str());
      break;
  }
}

bool is_empty_folder(UnfinishedName const& name) {
  return name.kind == Unfinished::Kind::kEmptyFolder;
}

void remove_all_names() {
  // What is in a folder goes first; a folder that was made inside another one needs one more round
  // each.
  for (int round = 0; round < kMostDepth; ++round) {
    for (UnfinishedSlot* slot = first_slot.load(); slot != nullptr; slot = slot->next) {
      UnfinishedName* const name = slot->name.exchange(nullptr);
      if (name == nullptr) continue;
      if (is_empty_folder(*name) == (round > 0)) remove_name(*name);
      if (is_empty_folder(*name)) slot->name = name;
    }
  }
}

/// The signal is blocked until its handler returns, and then ends the process.
void end_by(int signal) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal, &by_default, nullptr);
  ::raise(signal);
}

bool is_of_this_process() { return watched_process == ::getpid(); }

void on_ending_signal(int signal) {
  int const error = errno;
  signal_that_ends = signal;
  if (holds == 0) {
    Removal begun = Removal::kNotBegun;
    if (removal.compare_exchange_strong(begun, Removal::kRunning)) {
      remove_all_names();
      removal = Removal::kDone;
    }
    timespec const moment = {0, 1'000'000};
    while (removal != Removal::kDone) ::nanosleep(&moment, nullptr);  // another thread is at it
    end_by(signal);
  }
  errno = error;
}

/// A slot that is free, else a new one: the list never shrinks, as a handler may be walking through
/// it.
UnfinishedSlot* put_in_list(UnfinishedName* name) {
  for (UnfinishedSlot* slot = first_slot.load(); slot != nullptr; slot = slot->next) {
    UnfinishedName* none = nullptr;
    if (slot->name.compare_exchange_strong(none, name)) return slot;
  }
  auto* const slot = new UnfinishedSlot;
  slot->name = name;
  slot->next = first_slot.load();
  while (!first_slot.compare_exchange_weak(slot->next, slot)) {
  }
  return slot;
}

/// The handler runs in any thread. The others must neither make what it no longer sees, nor end the
/// process as if it had failed.
void wait_for_the_end() {
  while (removal != Removal::kNotBegun && is_of_this_process()) ::pause();
}

UnfinishedSlot* put(UnfinishedName* name) {
  UnfinishedSlot* const slot = put_in_list(name);
  wait_for_the_end();
  return slot;
}

}  // namespace

void remove_unfinished_on_signals() {
  watched_process = ::getpid();
  std::atexit(wait_for_the_end);
  struct sigaction ours {};
  ours.sa_handler = on_ending_signal;
  ours.sa_flags = SA_RESTART;
  sigfillset(&ours.sa_mask);
  for (int const signal : kEndingSignals) {
    struct sigaction now {};
    bool const is_by_default = ::sigaction(signal, nullptr, &now) == 0 &&
                               (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
    if (is_by_default) ::sigaction(signal, &ours, nullptr);
  }
}

void remove_tree(char const* path) { remove_at(AT_FDCWD, path, 0); }

Unfinished::Unfinished(std::string const& path, Kind kind)
    : slot_(put(new UnfinishedName{path, kind, ::getpid()})) {}

Unfinished::Unfinished(Unfinished&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

Unfinished& Unfinished::operator=(Unfinished&& other) noexcept {
  if (this == &other) return *this;
  remove();
  slot_ = std::exchange(other.slot_, nullptr);
  return *this;
}

void Unfinished::remove() {
  if (slot_ == nullptr) return;
  UnfinishedName* const name = std::exchange(slot_, nullptr)->name.exchange(nullptr);
  if (name == nullptr) return;  // a signal has it
  remove_name(*name);
  delete name;
}

void Unfinished::keep() {
  if (slot_ != nullptr) delete std::exchange(slot_, nullptr)->name.exchange(nullptr);
}

HeldSignals::HeldSignals() {
  ++holds;
  if (int const signal = signal_that_ends; signal != 0) {
    --holds;
    ::raise(signal);
    ++holds;
  }
}

HeldSignals::~HeldSignals() {
  if (--holds > 0) return;
  if (int const signal = signal_that_ends; signal != 0) ::raise(signal);
}

}  // namespace stepscope::base
