#include "tracer/cupti/known_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

using testing::Contains;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::StrEq;

TEST(KnownFaults, end_with_the_version_that_mends_them) {
  EXPECT_TRUE(workarounds_of(26).never_refuse_buffers);
  EXPECT_FALSE(workarounds_of(27).never_refuse_buffers);
  EXPECT_TRUE(workarounds_of(23).never_finalize);
  EXPECT_FALSE(workarounds_of(24).never_finalize);
  EXPECT_TRUE(workarounds_of(21).wrong_overhead_threads);
  EXPECT_FALSE(workarounds_of(22).wrong_overhead_threads);
}

TEST(KnownFaults, begin_with_the_version_that_made_them) {
  EXPECT_FALSE(workarounds_of(23).no_timestamp_callback);
  EXPECT_TRUE(workarounds_of(24).no_timestamp_callback);
  EXPECT_TRUE(workarounds_of(130'001).no_timestamp_callback);
  EXPECT_FALSE(workarounds_of(130'100).no_timestamp_callback);
  EXPECT_FALSE(workarounds_of(24).ask_for_thread_buffers);
  EXPECT_TRUE(workarounds_of(26).ask_for_thread_buffers);
  EXPECT_FALSE(workarounds_of(130'000).ask_for_thread_buffers);
}

TEST(KnownFaults, are_none_in_versions_to_come) {
  EXPECT_THAT(known_faults(140'000), IsEmpty());
  EXPECT_THAT(known_faults(130'000),
              Contains(Field(&KnownFault::fixed_in, StrEq("13.0 Update 1"))));
  EXPECT_THAT(known_faults(130'001),
              Not(Contains(Field(&KnownFault::fixed_in, StrEq("13.0 Update 1")))));
}

TEST(KnownFaults, of_several_subscribers_are_those_of_the_first_release_that_has_them) {
  auto const concerns_other_tools =
      Contains(Field(&KnownFault::what, testing::HasSubstr("another tool records them")));
  EXPECT_THAT(known_faults(130'200), Not(concerns_other_tools));
  EXPECT_THAT(known_faults(130'300), concerns_other_tools);
  EXPECT_THAT(known_faults(130'301), Not(concerns_other_tools));
}

TEST(KnownFaults, of_cuda_graphs_end_one_by_one) {
  auto const fixed_in = [](uint32_t version, char const* what) {
    for (KnownFault const& fault : known_faults(version))
      if (std::string_view(fault.what).find(what) != std::string_view::npos)
        return std::string(fault.fixed_in);
    return std::string();
  };

  EXPECT_EQ(fixed_in(28, "conditional nodes"), "13.0");
  EXPECT_EQ(fixed_in(130'000, "conditional nodes"), "");
  EXPECT_EQ(fixed_in(130'100, "wrong launches"), "13.1 Update 1");
  EXPECT_EQ(fixed_in(130'101, "wrong launches"), "");
  EXPECT_EQ(fixed_in(130'400, "old names"), "13.4 Update 1");
}

TEST(CuptiRelease, is_the_one_of_cuda) {
  EXPECT_EQ(cupti_release(19), "12.0");
  EXPECT_EQ(cupti_release(26), "12.8");
  EXPECT_EQ(cupti_release(28), "12.9 Update 1");
  EXPECT_EQ(cupti_release(25), "CUPTI 25");
  EXPECT_EQ(cupti_release(3), "CUPTI 3");
  EXPECT_EQ(cupti_release(29), "CUPTI 29");
  EXPECT_EQ(cupti_release(130'000), "13.0");
  EXPECT_EQ(cupti_release(130'001), "13.0 Update 1");
  EXPECT_EQ(cupti_release(130'400), "13.4");
}

}  // namespace
}  // namespace stepscope::tracer
