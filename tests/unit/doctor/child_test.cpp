// Work that may crash or hang: the result says how it ended, and nothing of it is left.
#include "doctor/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string_view>

#include <unistd.h>

namespace stepscope::doctor {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr seconds kPlenty{60};

void say(int to, std::string_view text) {
  ASSERT_EQ(::write(to, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Child, TellsWhatItWrote) {
  auto const result = run_in_child([](int output) { say(output, "an answer"); }, kPlenty);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->succeeded());
  EXPECT_EQ(result->output, "an answer");
}

TEST(Child, ThatCrashesIsTold) {
  auto const result = run_in_child(
      [](int output) {
        say(output, "half of");
        std::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler
        std::raise(SIGSEGV);
      },
      kPlenty);

  ASSERT_TRUE(result);
  EXPECT_FALSE(result->succeeded());
  EXPECT_EQ(result->signal, SIGSEGV);
  EXPECT_THAT(how_it_ended(*result), HasSubstr("signal 11"));
}

TEST(Child, ThatHangsIsKilledWithWhatItStarted) {
  auto const result = run_program({"sh", "-c", "sleep 1000 & sleep 1000"}, seconds(1));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_THAT(how_it_ended(*result), HasSubstr("time limit"));
}

TEST(Child, ProgramTellsItsOutputAndStatus) {
  auto const result = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"}, kPlenty);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "out\nerr\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(Child, ProgramThatIsNotThereIs127) {
  auto const result = run_program({"/nonexistent/program"}, kPlenty);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 127);
}

}  // namespace
}  // namespace stepscope::doctor
