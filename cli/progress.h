// How far a command has got, for people at a terminal.
#pragma once

#include <chrono>
#include <cstdio>

#include <unistd.h>

namespace stepscope::cli {

/// Shows how far it is, on a terminal and only when it takes longer than a second.
class Progress {
 public:
  void show(double share) {
    auto const now = std::chrono::steady_clock::now();
    if (!is_terminal_ || now - shown_ < std::chrono::seconds(1)) return;
    shown_ = now;
    std::fprintf(stderr, "\rstepscope: %3.0f %%", share * 100);
    is_shown_ = true;
  }
  void clear() const {
    if (is_shown_) std::fputs("\r                 \r", stderr);
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1, is_shown_ = false;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

}  // namespace stepscope::cli
