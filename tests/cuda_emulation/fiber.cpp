// Fibers: makecontext() gives each its stack once; from then on _setjmp() and _longjmp() switch,
// because swapcontext() makes a system call at each switch.

// Its longjmp() ends the program when a jump leads to another stack.
#undef _FORTIFY_SOURCE

#include "tests/cuda_emulation/fiber.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>

namespace stepscope::cuda_emulation {
namespace {

constexpr size_t kUntouchable = 4096;  // a page
constexpr size_t kStack = 64U << 10U;  // kernels need a few KiB; the handler of SIGSEGV 16 KiB

Fiber* running_fiber = nullptr;
std::jmp_buf caller_of_resume;

}  // namespace

Fiber::Fiber() {
  stack_ = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack_ == MAP_FAILED || mprotect(stack_, kUntouchable, PROT_NONE) != 0) {
    std::perror("the stack of an emulated thread");
    std::abort();
  }
}
Fiber::~Fiber() { munmap(stack_, kStack); }

Fiber* Fiber::running() { return running_fiber; }

void Fiber::start(std::function<void()> const& work) {
  work_ = &work;
  if (stage_ == Stage::kIdle) {
    stage_ = Stage::kBegun;
    return;
  }

  // Never used, or left in the middle of its work.
  getcontext(&first_);
  first_.uc_stack.ss_sp = stack_;
  first_.uc_stack.ss_size = kStack;
  first_.uc_link = nullptr;
  makecontext(&first_, &Fiber::run_for_ever, 0);
  stage_ = Stage::kUnmade;
}

void Fiber::resume() {
  running_fiber = this;

  if (_setjmp(caller_of_resume) == 0) {
    if (stage_ == Stage::kUnmade) {
      stage_ = Stage::kBegun;
      setcontext(&first_);
    }
    _longjmp(at_, 1);
  }

  running_fiber = nullptr;
}

void Fiber::suspend() {
  if (_setjmp(running_fiber->at_) == 0) _longjmp(caller_of_resume, 1);
}

void Fiber::run_for_ever() {
  for (;;) {
    (*running_fiber->work_)();
    running_fiber->stage_ = Stage::kIdle;
    suspend();
  }
}

}  // namespace stepscope::cuda_emulation
