// Words of command lines: a shell has to read back, byte by byte, what was written.
#include "trace/base/shell_word.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "trace/base/format.h"

namespace stepscope::base {
namespace {

/// What a shell makes of each word, in its order. A word holds no NUL.
std::vector<std::string> read_by(std::string const& shell, std::vector<std::string> const& words) {
  std::string script = (std::filesystem::temp_directory_path() / "stepscope-words-XXXXXX").string();
  int const made = ::mkstemp(script.data());
  EXPECT_GE(made, 0);
  ::close(made);

  std::ofstream out(script, std::ios::binary);
  for (std::string const& word : words) out << "printf '%s\\0' " << word << '\n';
  out.close();

  FILE* const pipe = ::popen((shell + " " + script + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string all;
  std::array<char, 4096> part{};
  for (size_t got = 1; got > 0;)
    all.append(part.data(), got = std::fread(part.data(), 1, part.size(), pipe));
  EXPECT_EQ(::pclose(pipe), 0);
  std::filesystem::remove(script);

  std::vector<std::string> read;
  for (size_t at = 0, end = 0; (end = all.find('\0', at)) != std::string::npos; at = end + 1)
    read.push_back(all.substr(at, end - at));
  return read;
}

TEST(ShellWord, LeavesWhatNeedsNoMarks) {
  EXPECT_EQ(shell_word("run_loading/rank-0.stepscope"), "run_loading/rank-0.stepscope");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word("größe"), "'größe'");
}

TEST(ShellWord, HoldsNothingThatATerminalObeys) {
  EXPECT_EQ(shell_word("a\x1b]0;b\x07"), "$'a\\033]0;b\\007'");
  EXPECT_EQ(shell_word("line\nrm"), "$'line\\012rm'");
  EXPECT_EQ(shell_word("\xff"), "$'\\377'");
  EXPECT_EQ(shell_word("it's\t\\"), "$'it\\047s\\011\\134'");
}

TEST(ShellWord, IsReadBackByAnyShellWherePrintable) {
  std::vector<std::string> const texts = {"",   "a b",    "it's $HOME", "`date`", "\"",
                                          "\\", "*",      "~",          "größe",  "-n",
                                          "''", "a'b\"c", "$(x)",       "!",      "#"};
  std::vector<std::string> words;
  for (std::string const& each : texts) words.push_back(shell_word(each));
  EXPECT_EQ(read_by("sh", words), texts);
  EXPECT_EQ(read_by("bash", words), texts);
}

TEST(ShellWord, IsReadBackByBashWhateverItHolds) {
  std::mt19937 random(7);
  std::vector<std::string> texts, words;
  for (int i = 0; i < 500; ++i) {
    std::string each;
    for (size_t length = random() % 12; length > 0; --length)
      each += random() % 2 == 0 ? static_cast<char>(1 + random() % 255) : "a'\\ $0"[random() % 6];
    texts.push_back(each);
    words.push_back(shell_word(each));
    EXPECT_EQ(printable(words.back()), words.back());
  }

  EXPECT_EQ(read_by("bash", words), texts);
}

}  // namespace
}  // namespace stepscope::base
