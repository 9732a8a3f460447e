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

/// Runs `work` on a thread of its own and returns what it returns. The calling thread waits without
/// Python's lock, and looks every 50 ms whether a signal handler of Python wants to raise. If it
/// does, the work goes on unseen until it ends: it must own all that it uses, and touch nothing of
/// Python.
template <class Work>
auto interruptibly(Work work) {
  using Result = std::invoke_result_t<Work>;
  struct Shared {
    std::mutex mutex;
    std::condition_variable over;
    std::optional<Result> result;
    std::exception_ptr failure;
  };
  auto const shared = std::make_shared<Shared>();

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
    shared->over.notify_one();
  }).detach();

  constexpr std::chrono::milliseconds kLookPeriod{50};
  pybind11::gil_scoped_release const released;
  std::unique_lock lock(shared->mutex);
  while (!shared->over.wait_for(lock, kLookPeriod,
                                [&] { return shared->result || shared->failure; })) {
    lock.unlock();
    {
      pybind11::gil_scoped_acquire const acquired;
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    }
    lock.lock();
  }

  if (shared->failure) std::rethrow_exception(shared->failure);
  return std::move(*shared->result);
}

}  // namespace stepscope::python
