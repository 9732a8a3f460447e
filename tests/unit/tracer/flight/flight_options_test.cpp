#include "tracer/core/flight/flight_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace stepscope::tracer {
namespace {

using ::testing::HasSubstr;

TEST(RingOption, SaysHowMuchIsKept) {
  EXPECT_EQ(parse_ring("60s")->ns, 60'000'000'000);
  EXPECT_EQ(parse_ring("500ms")->ns, 500'000'000);
  EXPECT_EQ(parse_ring("50steps")->steps, 50);
  EXPECT_EQ(parse_ring("50 steps")->steps, 50);
  EXPECT_EQ(parse_ring("1step")->steps, 1);
  EXPECT_EQ(parse_ring("200MB")->bytes, 200'000'000U);
  EXPECT_EQ(parse_ring("1.5GiB")->bytes, size_t{3} << 29);
  EXPECT_EQ(parse_ring("60s")->bytes, kDefaultRingBytes);

  auto const all = parse_ring("60s, 50steps, 2GB");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ns, 60'000'000'000);
  EXPECT_EQ(all->steps, 50);
  EXPECT_EQ(all->bytes, 2'000'000'000U);
}

TEST(RingOption, IsRefusedWithWhatToWrite) {
  for (char const* const text : {"",          "60",     "s",        "-1s",
                                 "0s",        "0steps", "-5steps",  "1.5steps",
                                 "stepss",    "60s,",   "60s,70s",  "5steps,6steps",
                                 "20MB,30MB", "MB",     "-5MB",     "0MB",
                                 "nanMB",     "infs",   "60s;20MB", "99999999999999999999steps"}) {
    auto const ring = parse_ring(text);
    ASSERT_FALSE(ring) << text;
    EXPECT_THAT(ring.error().message, HasSubstr("--ring")) << text;
  }

  EXPECT_THAT(parse_ring("1MB").error().message, HasSubstr("give at least 8.00 MiB"));
  EXPECT_THAT(parse_ring("9e30GB").error().message, HasSubstr("--ring"));
}

TEST(RingOption, HasCauses) {
  EXPECT_EQ(*parse_slow_step("1.3x"), 1.3);
  EXPECT_EQ(*parse_slow_step("2"), 2);
  for (char const* const text : {"", "x", "1", "0.5x", "-2x", "infx", "nan", "1.3xx"})
    EXPECT_FALSE(parse_slow_step(text)) << text;

  EXPECT_EQ(*parse_ring_signal("USR1"), SIGUSR1);
  EXPECT_EQ(*parse_ring_signal("SIGUSR2"), SIGUSR2);
  for (char const* const text : {"", "KILL", "10", "usr1"})
    EXPECT_FALSE(parse_ring_signal(text)) << text;
}

TEST(RingOption, ReachesTheProgramAsItWas) {
  FlightOptions options = *parse_ring("60s,50steps,200MB");
  EXPECT_EQ(from_variable(to_variable(options)), options);
  options = {.slow_step = 1.3, .hang_ns = 120'000'000'000, .on_nan = true, .signal = SIGUSR2};
  EXPECT_EQ(from_variable(to_variable(options)), options);

  for (char const* const text :
       {"", "0", "0 0 1073741824 0 0 0", "0 0 1073741824 0 0 0 0 0", "-1 0 1073741824 0 0 0 0",
        "0 0 5 0 0 0 0", "0 0 1073741824 0 0 0 9", "x 0 1073741824 0 0 0 0",
        "0 0 1073741824 -1 0 0 0"})
    EXPECT_FALSE(from_variable(text)) << text;
}

TEST(RingOption, IsDescribed) {
  EXPECT_EQ(describe(*parse_ring("60s")), "the last 60.0 s");
  EXPECT_EQ(describe(*parse_ring("1step")), "the last 1 step");
  EXPECT_EQ(describe(*parse_ring("5s,50steps")), "the last 5.00 s or 50 steps");
  EXPECT_EQ(describe(*parse_ring("200MB")), "the last 191 MiB");
}

}  // namespace
}  // namespace stepscope::tracer
