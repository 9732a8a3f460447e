// Long work for Python: without its lock, and so that Ctrl-C ends the wait.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace stepscope::python {

/// Python's signal handlers run on its main thread alone.
inline bool is_main_thread() {
  auto const threading = pybind11::module_::import("threading");
  return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

/// Runs `work` on a thread of its own and returns what it returns. The calling thread waits without
/// Python's lock. The main thread looks every 50 ms whether a signal handler of Python wants to
/// raise. If it does, the work goes on unseen until it ends: it must own all that it uses, and
/// touch nothing of Python.
///
/// The lock is taken back by plain calls and not by a guard. When the interpreter ends meanwhile,
/// it ends this thread there by unwinding its stack. No destructor may do that.
template <class Work>
auto interruptibly(Work work) {
  using Result = std::invoke_result_t<Work>;
  struct Shared {
    std::mutex mutex;
    std::condition_variable over;
    std::optional<Result> result;
    std::exception_ptr failure;
    bool is_over = false;
  };
  auto const shared = std::make_shared<Shared>();
  bool const looks = is_main_thread();

  std::thread([shared, work = std::move(work)]() mutable {
    std::optional<Result> result;
    std::exception_ptr failure;
    try {
      result.emplace(work());
    } catch (...) {
      failure = std::current_exception();
    }
    std::lock_guard const lock(shared->mutex);
    shared->result = std::move(result);
    shared->failure = failure;
    shared->is_over = true;
    shared->over.notify_one();
  }).detach();

  constexpr std::chrono::milliseconds kLookPeriod{50};
  auto const wait = [&] {
    std::unique_lock lock(shared->mutex);
    auto const is_over = [&] { return shared->is_over; };
    if (looks) return shared->over.wait_for(lock, kLookPeriod, is_over);
    shared->over.wait(lock, is_over);
    return true;
  };

  for (bool is_over = false; !is_over;) {
    PyThreadState* const state = PyEval_SaveThread();
    is_over = wait();
    PyEval_RestoreThread(state);
    if (!is_over && PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }

  std::lock_guard const lock(shared->mutex);
  if (shared->failure) std::rethrow_exception(shared->failure);
  return std::move(*shared->result);
}

}  // namespace stepscope::python
