// Signal handlers that annotate, on threads that they interrupt anywhere, in the midst of an
// event's recording too.
#include <atomic>
#include <csignal>
#include <map>
#include <string>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"

namespace stepscope::tracer {
namespace {

/// The thread that the handler belongs to; signal handlers take no argument of ours.
ThreadRecorder* interrupted_thread = nullptr;
/// How often it ran.
std::atomic<int64_t> handled = 0;
/// On a machine where the thread hardly gets to run more handlers than these would fill the ring
/// between two of its drains. It begins with 128 KiB, and cannot always grow.
constexpr int64_t kMostBetweenDrains = 400;

TEST(SignalHandlers, annotate_in_the_midst_of_an_event_without_damage_and_what_is_lost_is_counted) {
  Pipeline pipeline;
  interrupted_thread = pipeline.source.attach(1);
  struct sigaction action {};
  action.sa_handler = [](int) {
    interrupted_thread->push_text(kDefaultDomain, "in the handler");
    interrupted_thread->pop(kDefaultDomain);
    interrupted_thread->mark(named("mark"));
    ++handled;
  };
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> is_over = false;
  std::atomic<int64_t> allowed = kMostBetweenDrains;
  std::thread interrupter([&is_over, &allowed, interrupted = ::pthread_self()] {
    while (!is_over) {
      if (handled < allowed)
        ::pthread_kill(interrupted, SIGUSR1);
      else
        std::this_thread::yield();
    }
  });

  constexpr int kRanges = 200'000;
  for (int i = 0; i < kRanges; ++i) {
    EXPECT_EQ(interrupted_thread->push_text(kDefaultDomain, "outer"), 0);
    EXPECT_EQ(interrupted_thread->pop(kDefaultDomain), 0);
    if (i % 100 != 0) continue;
    pipeline.drain();
    allowed = handled + kMostBetweenDrains;
  }
  is_over = true;
  interrupter.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  pipeline.finish();

  std::map<std::string, size_t> found;
  for (std::string const& name : pipeline.names()) ++found[name];
  EXPECT_EQ(found["outer"], size_t{kRanges});
  for (auto const& [name, count] : found)
    EXPECT_TRUE(name == "outer" || name == "in the handler" || name == "mark")
        << name << " was never made";
  EXPECT_EQ(pipeline.source.dropped(), pipeline.source.dropped_in_signal_handlers());
}

}  // namespace
}  // namespace stepscope::tracer
