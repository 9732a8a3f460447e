#include "trace/base/names/near_names.h"

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

TEST(NearNames, AreThoseThatSomebodyMayHaveMeant) {
  std::vector<std::string_view> const known = {"dur_ns", "name", "start_ns", "device", "depth"};
  EXPECT_EQ(near_names("duration", known).at(0), "dur_ns");
  EXPECT_EQ(near_names("dur", known).at(0), "dur_ns");
  EXPECT_EQ(near_names("Naem", known).at(0), "name");
  EXPECT_EQ(near_names("start", known).at(0), "start_ns");
  EXPECT_TRUE(near_names("wholly_different", known).empty());
  EXPECT_TRUE(near_names(std::string(1'000'000, 'x'), known).empty());
}

TEST(DidYouMean, NamesThemOrNothing) {
  EXPECT_EQ(did_you_mean("--epocs", {"--epochs", "--seed"}), " (did you mean --epochs?)");
  EXPECT_EQ(did_you_mean("--wholly-different", {"--epochs"}), "");
}

TEST(OptionIn, IsTheFirstOneOfAMessage) {
  EXPECT_EQ(option_in("The following arguments were not expected: 3 --epochz"), "--epochz");
  EXPECT_EQ(option_in("The following argument was not expected: --a=b"), "--a");
  EXPECT_EQ(option_in("The following argument was not expected: word"), "");
}

}  // namespace
}  // namespace stepscope::base
