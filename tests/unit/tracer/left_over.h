// What is left of the tracer in a process that it no longer records.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace stepscope::tracer {

/// A thread that was joined is listed for some moments more.
inline int count_threads() {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (;;) {
    auto const tasks = std::filesystem::directory_iterator("/proc/self/task");
    auto const count = static_cast<int>(std::distance(begin(tasks), end(tasks)));
    if (count == 1 || std::chrono::steady_clock::now() > deadline) return count;
    std::this_thread::yield();
  }
}

inline int64_t resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::atoll(line.c_str() + line.find(':') + 1);
  return -1;
}

/// Signals that end a program by default and are handled in another way than when this was called
/// first.
inline int changed_signals() {
  static std::vector<void*> first;
  int changed = 0;
  size_t place = 0;

  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    void* const handler = reinterpret_cast<void*>(now.sa_handler);
    if (place == first.size()) first.push_back(handler);
    changed += static_cast<int>(first[place++] != handler);
  }

  return changed;
}

}  // namespace stepscope::tracer
