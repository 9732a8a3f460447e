#include "tracer/core/threads/own_thread.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/core/clock.h"
#include "tracer/core/threads/short_slices.h"

namespace stepscope::tracer {
namespace {

/// Encoding and compressing keep their memory on the heap; CUPTI and NVML, which our threads call,
/// want some hundred KB.
constexpr size_t kStackBytes = 1 << 20;
/// What a stack that overflows runs into: more than any page.
constexpr size_t kGuardBytes = 64 << 10;
/// For what is remembered of a stack: behind it, as the thread itself may have all of it.
constexpr size_t kLinkBytes = 4 << 10;
constexpr size_t kAllBytes = kGuardBytes + kStackBytes + kLinkBytes;

/// A stack of our own, which stays until free_stacks() or the process's end; null when there is no
/// memory. The C library would give us one that a thread of the program has left. After a fork that
/// is still in use: libraries of the program (oneTBB) go on using what their threads had
/// there.
void* make_stack() {
  void* const memory = ::mmap(nullptr, kAllBytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;

  void* const stack = static_cast<char*>(memory) + kGuardBytes;
  ::munlock(
      stack,
      kStackBytes + kLinkBytes);  // after mlockall(MCL_FUTURE) all of its pages would be made now

  if (::mprotect(stack, kStackBytes + kLinkBytes, PROT_READ | PROT_WRITE) == 0) return stack;
  ::munmap(memory, kAllBytes);
  return nullptr;
}

/// Else the thread's number. The kernel writes the first when the thread ends, however it does.
constexpr uint32_t kGone = 0, kNotBegun = UINT32_MAX;
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

/// Stacks of this process, each linked from the page behind it. A forked child leaves those of its
/// parent alone.
struct StackLink {
  StackLink* next;
  void* stack;
  pid_t process;
  std::atomic<uint32_t> life;  ///< of its thread: a futex
};
std::atomic<StackLink*> stacks{nullptr};
/// A fork of it, too, would count threads by the clean-up.
std::atomic<pid_t> process_that_ends{0};

StackLink* make_link(void* stack) {
  return new (static_cast<char*>(stack) + kStackBytes)
      StackLink{nullptr, stack, ::getpid(), kNotBegun};
}

void remember_stack(StackLink* link) {
  link->next = stacks.load();
  while (!stacks.compare_exchange_weak(link->next, link)) {
  }
}

void free_stack(void* stack) { ::munmap(static_cast<char*>(stack) - kGuardBytes, kAllBytes); }

struct Start {
  char const* name;
  std::function<void()> run;
  std::atomic<uint32_t>* life;
};

/// A shared futex, not a private one: the kernel's own wake-up is shared, too.
void wake_all(std::atomic<uint32_t>& life) {
  ::syscall(SYS_futex, &life, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// In place of the word behind the thread's handle, which nothing waits for: the thread is
/// detached. Who waits is woken by a thread that needs no further turn to end, so that the process
/// can end at once. Returns the thread's number; kGone where a sandbox refuses.
uint32_t tell_end_by(std::atomic<uint32_t>& life) {
  long const thread = ::syscall(SYS_set_tid_address, &life);
  if (thread <= 0) return kGone;
  life.store(static_cast<uint32_t>(thread), std::memory_order_relaxed);
  return static_cast<uint32_t>(thread);
}

void* run_thread(void* argument) {
  std::unique_ptr<Start> start(static_cast<Start*>(argument));
  uint32_t const number = tell_end_by(*start->life);
  ::pthread_setname_np(::pthread_self(), start->name);
  try {
    start->run();
  } catch (...) {
    // An exception that leaves a thread would end the program.
  }

  std::atomic<uint32_t>& life = *start->life;
  start.reset();
  life.store(number, std::memory_order_release);
  if (number == kGone) wake_all(life);
  if (process_that_ends == ::getpid()) ::syscall(SYS_exit, 0);
  return nullptr;
}

/// Signals are blocked before the thread is there: a mask is inherited, and none may arrive in
/// between.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(SignalsBlocked const&) = delete;
  SignalsBlocked& operator=(SignalsBlocked const&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

base::Expected<OwnThread> OwnThread::start(char const* name, std::function<void()> run) {
  void* const stack = make_stack();
  if (stack == nullptr) return base::fail("there is no memory for a thread, raise its limit");
  StackLink* const link = make_link(stack);
  auto argument = std::make_unique<Start>(Start{name, std::move(run), &link->life});
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstack(&attributes, stack, kStackBytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);

  pthread_t thread{};
  int reason = 0;
  {
    SignalsBlocked const blocked;
    ShortSlices const inherited;
    reason = ::pthread_create(&thread, &attributes, run_thread, argument.get());
  }
  ::pthread_attr_destroy(&attributes);
  if (reason != 0) free_stack(stack);
  if (reason != 0)
    return base::fail("no thread could be started ({}), raise the limit of threads",
                      std::strerror(reason));
  [[maybe_unused]] Start* const handed_over = argument.release();
  remember_stack(link);
  return OwnThread(&link->life);
}

void OwnThread::process_ends_next() { process_that_ends = ::getpid(); }

void OwnThread::free_stacks() {
  for (StackLink* link = stacks.exchange(nullptr); link != nullptr;) {
    StackLink* const next = link->next;
    if (link->process == ::getpid()) free_stack(link->stack);
    link = next;
  }
}

void OwnThread::join() const {
  while (!wait_until_gone(std::chrono::hours(1))) {
  }
}

bool OwnThread::wait_until_gone(std::chrono::nanoseconds timeout) const {
  constexpr int64_t kLongestNs =
      100'000'000;  // the kernel wakes one thread, which wakes all others unless it ends meanwhile

  int64_t const end = monotonic_ns() + timeout.count();
  auto const waiting = static_cast<uint32_t>(::syscall(SYS_gettid));

  for (uint32_t state = life_->load(std::memory_order_acquire); state != kGone;) {
    if (state == waiting) return true;  // the last thread of a process runs the exit handlers

    int64_t const left = end - monotonic_ns();
    if (left <= 0) return false;
    timespec const pause = {0, std::min(left, kLongestNs)};
    ::syscall(SYS_futex, life_, FUTEX_WAIT, state, &pause, nullptr, 0);
    state = life_->load(std::memory_order_acquire);
    if (state == kGone) wake_all(*life_);
  }
  return true;
}

}  // namespace stepscope::tracer
