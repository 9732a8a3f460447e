#include "tracer/core/own_thread.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

/// Encoding and compressing keep their memory on the heap; CUPTI and NVML, which our threads call, want some hundred KB.
constexpr size_t kStackBytes = 1 << 20;
/// What a stack that overflows runs into: more than any page.
constexpr size_t kGuardBytes = 64 << 10;
/// For what is remembered of a stack: behind it, as the thread itself may have all of it.
constexpr size_t kLinkBytes = 4 << 10;
constexpr size_t kAllBytes = kGuardBytes + kStackBytes + kLinkBytes;

/// A stack of our own, which stays until free_stacks() or the process's end; null when there is no memory. The C library would
/// give us one that a thread of the program has left. After a fork that is no memory of nobody: libraries of the program (oneTBB)
/// go on using what their threads had there.
void* make_stack() {
  void* const memory = ::mmap(nullptr, kAllBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  void* const stack = static_cast<char*>(memory) + kGuardBytes;
  ::munlock(stack, kStackBytes + kLinkBytes);  // after mlockall(MCL_FUTURE) all of its pages would be made now
  if (::mprotect(stack, kStackBytes + kLinkBytes, PROT_READ | PROT_WRITE) == 0) return stack;
  ::munmap(memory, kAllBytes);
  return nullptr;
}

/// What sched_setattr(2) takes; the C library has no declaration of it before glibc 2.41.
struct SchedulingAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns, deadline_ns, period_ns;
};

/// Stacks of this process, each linked from the page behind it. A forked child leaves those of its parent alone.
struct StackLink {
  StackLink* next;
  void* stack;
  pid_t process;
};
std::atomic<StackLink*> stacks{nullptr};

void remember_stack(void* stack) {
  auto* const link = new (static_cast<char*>(stack) + kStackBytes) StackLink{stacks.load(), stack, ::getpid()};
  while (!stacks.compare_exchange_weak(link->next, link)) {
  }
}

void free_stack(void* stack) { ::munmap(static_cast<char*>(stack) - kGuardBytes, kAllBytes); }

/// The shortest that Linux gives.
constexpr uint64_t kShortSliceNs = 100'000;

/// The calling thread's policy takes slices of a length that it asks for.
bool get_attributes(SchedulingAttributes& attributes) {
  attributes = {};
  attributes.size = sizeof attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return false;
  return attributes.policy == SCHED_OTHER || attributes.policy == SCHED_BATCH;
}

bool set_slice(SchedulingAttributes attributes, uint64_t ns) {
  attributes.runtime_ns = ns;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

/// Ours are short pieces of work for which a program may wait (a fork that ends). In slices of this length, which Linux 6.12
/// takes as a wish, they run soon after they are woken although the program keeps every core busy, for no larger a share of them.
void ask_for_short_slices() {
  if (SchedulingAttributes attributes; get_attributes(attributes)) set_slice(attributes, kShortSliceNs);
}

struct Start {
  char const* name;
  std::function<void()> run;
  std::shared_ptr<Doorbell> done;
};

void* run_thread(void* argument) {
  std::unique_ptr<Start> start(static_cast<Start*>(argument));
  ask_for_short_slices();
  ::pthread_setname_np(::pthread_self(), start->name);
  try {
    start->run();
  } catch (...) {
    // An exception that leaves a thread would end the program.
  }

  auto const done = std::move(start->done);
  start.reset();
  done->ring();
  return nullptr;
}

/// Signals are blocked before the thread is there: a mask is inherited, and none may arrive in between.
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
  auto done = std::make_shared<Doorbell>();
  auto argument = std::make_unique<Start>(Start{name, std::move(run), done});
  void* const stack = make_stack();
  if (stack == nullptr) return base::fail("there is no memory for a thread, raise its limit");
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstack(&attributes, stack, kStackBytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);

  pthread_t thread{};
  int reason = 0;
  {
    SignalsBlocked const blocked;
    reason = ::pthread_create(&thread, &attributes, run_thread, argument.get());
  }
  ::pthread_attr_destroy(&attributes);
  if (reason != 0) free_stack(stack);
  if (reason != 0) return base::fail("no thread could be started ({}), raise the limit of threads", std::strerror(reason));
  [[maybe_unused]] Start* const handed_over = argument.release();
  remember_stack(stack);
  return OwnThread(std::move(done));
}

void OwnThread::free_stacks() {
  for (StackLink* link = stacks.exchange(nullptr); link != nullptr;) {
    StackLink const copy = *link;
    if (copy.process == ::getpid()) free_stack(copy.stack);
    link = copy.next;
  }
}

void OwnThread::join() const {
  while (!done_->wait_until_rung(std::chrono::hours(1))) {
  }
}

}  // namespace stepscope::tracer
