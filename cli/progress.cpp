#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"

namespace stepscope::cli {
namespace {

constexpr std::chrono::milliseconds kBeforeFirst{1000}, kBetween{500};

}  // namespace

bool shows_progress() { return ::isatty(STDERR_FILENO) == 1 && !is_quiet(); }

void show_progress(std::string const& line) {
  constexpr char const* kEraseToEnd = "\033[K";
  std::fprintf(stderr, "\r%s%s%s", line.empty() ? "" : "stepscope: ", line.c_str(), kEraseToEnd);
  std::fflush(stderr);
}

void Progress::show(double share) {
  auto const now = std::chrono::steady_clock::now();
  if (!shows_progress() || now - shown_ < kBeforeFirst) return;
  shown_ = now;
  show_progress(fmt::format("{:3.0f} %", share * 100));
  is_shown_ = true;
}

void Progress::clear() {
  if (std::exchange(is_shown_, false)) show_progress({});
}

ProgressWatch::ProgressWatch(std::function<std::string()> line) : line_(std::move(line)) {
  if (shows_progress()) thread_ = std::thread([this] { watch(); });
}

ProgressWatch::~ProgressWatch() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProgressWatch::watch() {
  auto const begin = std::chrono::steady_clock::now();
  bool is_shown = false;

  std::unique_lock lock(mutex_);
  for (auto pause = kBeforeFirst; !changed_.wait_for(lock, pause, [this] { return is_over_; });
       pause = kBetween) {
    auto const seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    show_progress(fmt::format("{}, {} s", line_(), seconds.count()));
    is_shown = true;
  }
  if (is_shown) show_progress({});
}

}  // namespace stepscope::cli
