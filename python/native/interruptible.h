// Long work for Python: without its lock, and so that Ctrl-C ends the wait.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace stepscope::python {

/// Python's signal handlers run on its main thread alone.
inline bool is_main_thread() {
  auto const threading = pybind11::module_::import("threading");
  return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident"));
}

/// Says on Python's standard error how far work is, where that is a terminal and the work takes
/// more than a second. Its functions need Python's lock.
class ProgressLine {
 public:
  /// `line`: any thread; may be empty.
  explicit ProgressLine(std::function<std::string()> line) : line_(std::move(line)) {}

  void update() {
    constexpr std::chrono::milliseconds kBeforeFirst{1000}, kBetween{500};
    auto const now = std::chrono::steady_clock::now();
    if (!line_ || now - latest_ < (is_shown_ ? kBetween : kBeforeFirst)) return;
    latest_ = now;
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(now - begin_);
    write("\rstepscope: " + line_() + ", " + std::to_string(seconds.count()) + " s\033[K");
  }
  void clear() {
    if (std::exchange(is_shown_, false)) write("\r\033[K");
  }

 private:
  /// A standard error that is closed or replaced is no reason to fail.
  void write(std::string const& text) {
    try {
      auto const stream = pybind11::module_::import("sys").attr("stderr");
      if (stream.is_none() || !stream.attr("isatty")().cast<bool>()) return;

      stream.attr("write")(text);
      stream.attr("flush")();
      is_shown_ = true;
    } catch (pybind11::error_already_set& error) {
      line_ = nullptr;
      // Ctrl-C meanwhile: it is raised where the wait looks for it.
      if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    }
  }

  std::function<std::string()> line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), latest_ = begin_;
  bool is_shown_ = false;
};

/// On Python's main thread, with its lock. Raises what a signal handler of Python raises.
inline void look_for_signals(ProgressLine& line) {
  if (PyErr_CheckSignals() == 0) return line.update();
  pybind11::error_already_set raised;  // takes it: what follows calls Python
  line.clear();
  throw raised;
}

/// Runs `work` on a thread of its own and returns what it returns. The calling thread waits without
/// Python's lock. The main thread looks every 50 ms whether a signal handler of Python wants to
/// raise. If it does, the work goes on unseen until it ends: it must own all that it uses, and
/// touch nothing of Python.
///
/// The lock is taken back by plain calls and not by a guard. When the interpreter ends meanwhile,
/// it ends this thread there by unwinding its stack. No destructor may do that.
///
/// `progress`: what the work is at, for people; may be empty.
template <class Work>
auto interruptibly(Work work, std::function<std::string()> progress = {}) {
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

  ProgressLine line(std::move(progress));
  for (bool is_over = false; !is_over;) {
    PyThreadState* const state = PyEval_SaveThread();
    is_over = wait();
    PyEval_RestoreThread(state);
    if (is_over)
      line.clear();
    else if (looks)
      look_for_signals(line);
  }

  std::lock_guard const lock(shared->mutex);
  if (shared->failure) std::rethrow_exception(shared->failure);
  return std::move(*shared->result);
}

}  // namespace stepscope::python
