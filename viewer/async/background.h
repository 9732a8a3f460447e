// Work that takes longer than a frame. The frame asks for a value by its key and goes on; it shows
// the last value until the next one is ready. One thread works at a time; work for a key that no
// frame asks for any more is asked to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "viewer/async/dispose_async.h"

namespace stepscope::viewer {

/// A frame waits this long for work that it starts, so that what is quickly done never flickers: an
/// eighth of the frame's time. It does not where the work before took longer.
inline constexpr std::chrono::microseconds kGrace{2000};
/// Work that takes so long went through so much memory (of events: some 10 MiB) that giving it back
/// pays.
inline constexpr std::chrono::milliseconds kLongWork{50};

template <class Key, class Value>
class Background {
 public:
  /// Returns early, with any value, when told to stop. Whatever it refers to must outlive this
  /// object.
  using Work = std::function<Value(Key const&, std::stop_token const&)>;

  /// The value of `key`, if it is there. Otherwise the work begins, unless it is at hand already.
  Value const* ask(Key const& key, Work work) {
    take();
    if (key_ == key) return &*value_;
    if (job_ && job_->key == key) return nullptr;

    if (job_) {
      job_->thread.request_stop();
      next_ = {key, std::move(work)};
      return nullptr;
    }

    start(key, std::move(work));
    if (last_took_ > kGrace) return nullptr;

    for (auto const end = std::chrono::steady_clock::now() + kGrace;
         std::chrono::steady_clock::now() < end && !job_->done;)
      std::this_thread::yield();
    take();
    return key_ == key ? &*value_ : nullptr;
  }
  /// The last value, of whatever key; null before the first.
  [[nodiscard]] Value const* latest() const { return value_ ? &*value_ : nullptr; }
  [[nodiscard]] Key const* latest_key() const { return key_ ? &*key_ : nullptr; }
  /// Whether work is at hand: another frame is due when it is done.
  [[nodiscard]] bool is_busy() {
    take();
    return job_ != nullptr;
  }
  /// No caller waits any more for what is in progress.
  void give_up() {
    next_.reset();
    if (job_) job_->thread.request_stop();
  }
  /// Waits until what was asked for last is there.
  void finish() {
    while (job_) {
      job_->thread.join();
      take();
    }
  }

 private:
  struct Job {
    Key key;
    std::atomic<bool> done = false;
    std::chrono::nanoseconds took{0};
    std::optional<Value> value;  ///< none: the work failed, for want of memory
    std::jthread thread;         // last: it ends before what it writes to
  };

  void start(Key key, Work work) {
    job_ = std::make_unique<Job>();
    job_->key = std::move(key);

    job_->thread =
        std::jthread([job = job_.get(), work = std::move(work)](std::stop_token const& stop) {
          auto const begin = std::chrono::steady_clock::now();
          try {
            job->value.emplace(work(job->key, stop));
          } catch (std::exception const&) {
            job->value.reset();
          }
          job->took = std::chrono::steady_clock::now() - begin;
          job->done = true;
        });
  }
  /// Takes what is done, and starts what was asked for meanwhile.
  void take() {
    if (!job_ || !job_->done) return;

    bool const stopped = job_->thread.get_stop_token().stop_requested();
    job_->thread = {};
    std::unique_ptr<Job> const job = std::move(job_);

    if (!stopped) {
      last_took_ = job->took;
      key_ = std::move(job->key);
      std::swap(value_, job->value);
      if (!value_) value_.emplace();
    }

    // The value before, or one that no frame wants.
    if (job->took > kLongWork) dispose_async(std::move(job->value));

    if (next_) {
      auto next = std::move(*next_);
      next_.reset();
      start(std::move(next.first), std::move(next.second));
    }
  }

  std::optional<Key> key_;  ///< of value_
  std::optional<Value> value_;
  std::unique_ptr<Job> job_;
  std::optional<std::pair<Key, Work>> next_;
  std::chrono::nanoseconds last_took_{0};
};

}  // namespace stepscope::viewer
