// Work on another thread than the frames: the value of the requested key arrives, and work for a
// key without a request is stopped.
#include "viewer/async/background.h"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <string>

namespace stepscope::viewer {
namespace {

using Squares = Background<int, std::string>;

Squares::Work square() {
  return [](int const& key, std::stop_token const&) { return std::to_string(key * key); };
}

TEST(Background, GivesTheValueOfTheKeyThatWasAskedFor) {
  Squares background;
  background.ask(7, square());
  background.finish();
  ASSERT_NE(background.latest(), nullptr);
  EXPECT_EQ(*background.ask(7, square()), "49");
  EXPECT_EQ(*background.latest_key(), 7);
  EXPECT_FALSE(background.is_busy());
}

TEST(Background, HasNothingBeforeTheFirstQuestion) {
  Squares background;
  EXPECT_EQ(background.latest(), nullptr);
  EXPECT_EQ(background.latest_key(), nullptr);
  EXPECT_FALSE(background.is_busy());
}

TEST(Background, ShowsTheLastValueUntilTheNextIsThere) {
  Squares background;
  background.ask(2, square());
  background.finish();
  background.ask(2, square());

  std::latch go{1};
  auto const slow = [&](int const&, std::stop_token const&) {
    go.wait();
    return std::string("slow");
  };

  EXPECT_EQ(background.ask(3, slow), nullptr);
  EXPECT_TRUE(background.is_busy());
  EXPECT_EQ(*background.latest(), "4");

  go.count_down();
  background.finish();
  EXPECT_EQ(*background.latest(), "slow");
}

TEST(Background, StopsWorkForAKeyThatIsNotWantedAnyMore) {
  Squares background;
  std::latch begun{1};
  auto const endless = [&](int const&, std::stop_token const& stop) {
    begun.count_down();
    while (!stop.stop_requested()) std::this_thread::yield();
    return std::string("never shown");
  };

  background.ask(1, endless);
  begun.wait();
  EXPECT_EQ(background.ask(5, square()), nullptr);

  background.finish();
  EXPECT_EQ(*background.latest(), "25");
  EXPECT_EQ(*background.latest_key(), 5);
}

TEST(Background, DoesTheWorkAgainThatWasGivenUp) {
  Squares background;
  background.give_up();
  std::latch begun{1};
  auto const endless = [&](int const&, std::stop_token const& stop) {
    begun.count_down();
    while (!stop.stop_requested()) std::this_thread::yield();
    return std::string("never shown");
  };

  EXPECT_EQ(background.ask(5, endless), nullptr);
  begun.wait();
  background.give_up();
  background.finish();
  EXPECT_EQ(background.latest(), nullptr);

  background.ask(5, square());
  background.finish();
  ASSERT_NE(background.ask(5, square()), nullptr);
  EXPECT_EQ(*background.latest(), "25");
}

TEST(Background, DoesTheWorkForOneKeyOnce) {
  Squares background;
  int times = 0;
  auto const counted = [&](int const&, std::stop_token const&) {
    ++times;
    return std::string("x");
  };

  for (int i = 0; i < 10; ++i) {
    background.ask(1, counted);
    background.finish();
  }
  EXPECT_EQ(times, 1);
}

TEST(Background, OfWorkThatFailsIsEmpty) {
  Squares background;
  background.ask(1, [](int const&, std::stop_token const&) -> std::string {
    throw std::runtime_error("no memory");
  });
  background.finish();
  ASSERT_NE(background.latest(), nullptr);
  EXPECT_TRUE(background.latest()->empty());
}

TEST(Background, StopsWhenItIsTakenDown) {
  Squares background;
  background.ask(1, [](int const&, std::stop_token const& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    return std::string();
  });
}

}  // namespace
}  // namespace stepscope::viewer
