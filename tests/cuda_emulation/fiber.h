// A function on a stack of its own, which can be left in the middle and resumed there: one thread
// of an emulated block. All fibers of the process run on one host thread.
#pragma once

#include <csetjmp>
#include <functional>

#include <ucontext.h>

namespace stepscope::cuda_emulation {

class Fiber {
 public:
  Fiber();
  Fiber(Fiber const&) = delete;
  Fiber& operator=(Fiber const&) = delete;
  ~Fiber();

  /// The next resume() begins `work`, which must outlive it. What the fiber was in the middle of
  /// is dropped: its destructors never run.
  void start(std::function<void()> const& work);
  /// Returns when the fiber suspends itself or its work is over.
  void resume();
  [[nodiscard]] bool is_done() const { return stage_ == Stage::kIdle; }

  /// Goes back to the resume() that runs the calling fiber.
  static void suspend();
  /// The fiber that runs, or null outside of resume().
  [[nodiscard]] static Fiber* running();

 private:
  enum class Stage { kUnmade, kIdle, kBegun };

  static void run_for_ever();

  Stage stage_ = Stage::kUnmade;
  std::function<void()> const* work_ = nullptr;
  void* stack_ = nullptr;  ///< its lowest page cannot be touched
  ucontext_t first_ = {};
  std::jmp_buf at_ = {};  ///< where the fiber was left
};

}  // namespace stepscope::cuda_emulation
