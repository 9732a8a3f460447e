// Idle gaps in columns keep every device, length and thread that was put in.
#include "analyzer/results/idle_gaps.h"

#include <random>

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

bool are_equal(IdleGap const& a, IdleGap const& b) {
  return a.ref == b.ref && a.when == b.when && a.cause == b.cause &&
         a.host_is_apart == b.host_is_apart && a.host_row == b.host_row &&
         a.next_op_row == b.next_op_row && a.host_name == b.host_name &&
         a.next_op_name == b.next_op_name && a.host_track == b.host_track;
}

/// Gaps of five devices, with lengths from 1 ns to years.
std::vector<IdleGap> random_gaps(uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<IdleGap> gaps;
  for (int32_t device = 0; device < 5; ++device) {
    int64_t at = -static_cast<int64_t>(random() >> 4);
    for (uint64_t i = random() % 40; i > 0; --i) {
      IdleGap& gap = gaps.emplace_back();
      gap.ref = {device / 2, device % 2};
      at += static_cast<int64_t>(random() % 1000);
      gap.when.begin = at;
      at += static_cast<int64_t>(random() >> (8 + random() % 56));
      gap.when.end = ++at;

      gap.cause = static_cast<IdleCause>(random() % kIdleCauseCount);
      gap.host_is_apart = random() % 2 == 0;
      if (random() % 2 == 0) gap.host_row.value = static_cast<uint32_t>(random());
      if (random() % 2 == 0) gap.next_op_row.value = static_cast<uint32_t>(random());
      if (random() % 2 == 0) gap.host_name.value = static_cast<uint32_t>(random());
      if (random() % 2 == 0) gap.next_op_name.value = static_cast<uint32_t>(random() % 9);
      if (random() % 2 == 0) gap.host_track.value = static_cast<uint32_t>(random() % 100'000);
    }
  }
  return gaps;
}

TEST(IdleGaps, GiveWhatWasPutIn) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<IdleGap> const wanted = random_gaps(seed);
    IdleGaps const gaps(wanted);
    ASSERT_EQ(gaps.size(), wanted.size());

    size_t place = 0;
    for (IdleGap const gap : gaps) {
      ASSERT_TRUE(are_equal(gap, wanted[place])) << "seed " << seed << ", gap " << place;
      ASSERT_TRUE(are_equal(gaps[place], wanted[place]));

      DeviceGaps const* const of_device = gaps.of(gap.ref);
      ASSERT_NE(of_device, nullptr);
      ASSERT_EQ(of_device->when(place - gaps.first_of(gap.ref)), gap.when);
      ASSERT_EQ(of_device->cause(place - gaps.first_of(gap.ref)), gap.cause);
      ++place;
    }
    ASSERT_EQ(place, wanted.size());
  }
}

TEST(IdleGaps, FindTheFirstThatEndsAfterAnInstant) {
  std::vector<IdleGap> wanted(3);
  wanted[0].when = {10, 20};
  wanted[1].when = {20, 25};
  wanted[2].when = {40, 50};
  DeviceGaps const gaps({}, wanted);
  std::vector<std::pair<int64_t, size_t>> const cases{{0, 0},  {10, 0}, {19, 0}, {20, 1}, {24, 1},
                                                      {25, 2}, {40, 2}, {49, 2}, {50, 3}};
  for (auto const& [instant, place] : cases)
    EXPECT_EQ(gaps.exponential_search(instant), place) << instant;
}

/// More than a block, and more reasons than fit into two bytes; every hundredth gap comes hours
/// after the one before.
std::vector<IdleGap> many_gaps() {
  constexpr int64_t kHours = 10'000'000'000'000;
  std::vector<IdleGap> gaps(70'000);
  int64_t at = -kHours;

  for (uint32_t i = 0; i < gaps.size(); ++i) {
    at += i % 100 == 0 ? kHours : 7;
    gaps[i].when.begin = at;
    at += i % 1000 == 0 ? kHours : 1 + i % 5;
    gaps[i].when.end = at;
    gaps[i].cause = static_cast<IdleCause>(i % kIdleCauseCount);
    gaps[i].host_name.value = i % 3 == 0 ? 5 : i;
  }
  return gaps;
}

TEST(IdleGaps, OfManyReasonsAndWithLongTimesBetweenThemGiveWhatWasPutIn) {
  std::vector<IdleGap> const wanted = many_gaps();
  DeviceGaps const gaps({}, wanted);
  ASSERT_EQ(gaps.size(), wanted.size());

  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_TRUE(are_equal(gaps[i], wanted[i])) << "gap " << i;
    ASSERT_EQ(gaps.cause(i), wanted[i].cause);
    for (int64_t const instant : {wanted[i].when.begin, wanted[i].when.end - 1})
      ASSERT_EQ(gaps.exponential_search(instant), i);
    ASSERT_EQ(gaps.exponential_search(wanted[i].when.end), i + 1);
    ASSERT_EQ(gaps.exponential_search(wanted[i].when.begin - 1), i);
  }
}

/// Lengths take two bytes where few of them are longer than these can say.
TEST(IdleGaps, OfFewOrManyLongOnesGiveWhatWasPutIn) {
  for (uint64_t const one_in : {2U, 7U, 9U, 100U, 5000U}) {
    std::mt19937_64 random(one_in);
    std::vector<IdleGap> wanted(5000);
    int64_t at = 0;
    for (IdleGap& gap : wanted) {
      auto const shortest = static_cast<int64_t>(random() % 65'534);
      gap.when = {at, at + 1 + (random() % one_in == 0 ? 65'533 + shortest : shortest)};
      at = gap.when.end + static_cast<int64_t>(random() % 99);
    }

    DeviceGaps const gaps({}, wanted);
    ASSERT_EQ(gaps.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(gaps.when(i), wanted[i].when) << i;
  }
}

TEST(IdleGaps, AreFoundAlikeFromWhereverIsLookedFirst) {
  std::vector<IdleGap> const wanted = many_gaps();
  DeviceGaps const gaps({}, wanted);
  std::mt19937_64 random(3);

  for (int i = 0; i < 20'000; ++i) {
    size_t const place = random() % wanted.size();
    int64_t const instant = wanted[place].when.begin + static_cast<int64_t>(random() % 9) - 4;

    // Guesses are mostly close on both sides and at ends of blocks, but also far away and after the
    // last gap.
    size_t const far = random() % (wanted.size() + 2), close = place + random() % 4096;
    for (size_t const near : {far, close, close - std::min<size_t>(close, 2048), place / 64 * 64})
      ASSERT_EQ(gaps.exponential_search(instant, near), gaps.exponential_search(instant))
          << instant << " from " << near;
  }
}

TEST(IdleGaps, WithoutRowsKeepTheRest) {
  std::vector<IdleGap> wanted = random_gaps(1);
  std::erase_if(wanted, [](IdleGap const& gap) { return gap.ref != DeviceRef{0, 0}; });
  ASSERT_FALSE(wanted.empty());
  DeviceGaps const gaps({0, 0}, wanted, false);
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i].host_row = wanted[i].next_op_row = {};
    EXPECT_TRUE(are_equal(gaps[i], wanted[i]));
  }
}

TEST(IdleGaps, OfADeviceWithoutAnyAreNone) {
  IdleGaps gaps;
  gaps.append(DeviceGaps({0, 1}, {}));
  EXPECT_TRUE(gaps.empty());
  EXPECT_EQ(gaps.of({0, 1}), nullptr);
  EXPECT_EQ(gaps.begin(), gaps.end());
}

}  // namespace
}  // namespace stepscope::analyzer
