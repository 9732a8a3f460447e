// How far a command has got, for people at a terminal. Silent in the first second, in pipes and
// with
// --quiet.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace stepscope::cli {

/// Whether people look at the standard error.
bool shows_progress();
/// A line in the place of the last one; empty: takes it away.
void show_progress(std::string const& line);

/// A share that the command itself counts.
class Progress {
 public:
  ~Progress() { clear(); }
  void show(double share);
  void clear();

 private:
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

/// What another part of the program is at, asked every half second on a thread of its own until
/// this is destroyed.
class ProgressWatch {
 public:
  /// `line`: says what is done, such as "reading 64 processes"; called on any thread.
  explicit ProgressWatch(std::function<std::string()> line);
  ProgressWatch(ProgressWatch const&) = delete;
  ProgressWatch& operator=(ProgressWatch const&) = delete;
  ~ProgressWatch();

 private:
  void watch();

  std::function<std::string()> line_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace stepscope::cli
