// Texts as numbers and their windows.
#include "workloads/data/text_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <sstream>

#include "tests/unit/workloads/temporary_folder.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::write_bytes;

struct Window {
  std::vector<int32_t> input, label;
};
Window window_of(TextSamples const& samples, size_t i, Random random) {
  Window w{std::vector<int32_t>(samples.input_bytes() / 4),
           std::vector<int32_t>(samples.label_bytes() / 4)};
  samples.prepare(i, random, reinterpret_cast<std::byte*>(w.input.data()),
                  reinterpret_cast<std::byte*>(w.label.data()));
  return w;
}
std::vector<uint8_t> ascending(size_t count) {
  std::vector<uint8_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), uint8_t{0});
  return tokens;
}

TEST(TextSamples, VocabularyIsTheBytesThatOccur) {
  TokenizedText const text = tokenize(
      "b\xFF"
      "a\n\xFF");
  EXPECT_EQ(text.vocabulary, "\nab\xFF");
  EXPECT_EQ(text.tokens, (std::vector<uint8_t>{2, 3, 1, 0, 3}));
}

TEST(TextSamples, LastTenthIsTheTestSet) {
  TokenizedText text;
  text.tokens = ascending(57);
  EXPECT_EQ(text.train().size(), 52U);
  EXPECT_EQ(text.test().size(), 5U);
  EXPECT_EQ(text.test().front(), 52);
}

TEST(TextSamples, LabelIsTheNextToken) {
  std::vector<uint8_t> const tokens = ascending(10);
  TextSamples const samples(tokens, 4, false);
  ASSERT_EQ(samples.size(), 2U);
  Window const w = window_of(samples, 1, Random(0));
  EXPECT_EQ(w.input, (std::vector<int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(w.label, (std::vector<int32_t>{5, 6, 7, 8}));
}

TEST(TextSamples, ShiftedWindowsBeginEverywhereAndEndInTheText) {
  std::vector<uint8_t> const tokens = ascending(10);
  TextSamples const samples(tokens, 4, true);
  std::set<int32_t> begins;

  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (size_t const i : {0U, 1U}) {
      Window const w = window_of(samples, i, Random(seed));
      begins.insert(w.input.front());
      EXPECT_EQ(w.label.back(), w.input.front() + 4);
    }
  }

  EXPECT_THAT(begins, ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TextSamples, GeneratedTextIsTheSameEveryTimeAndItsVerbsAgree) {
  std::string const text = generated_text(50'000);
  EXPECT_GE(text.size(), 50'000U);
  EXPECT_EQ(text, generated_text(50'000));
  EXPECT_EQ(generated_text(90'000).substr(0, text.size()), text);

  std::istringstream words(text);
  bool plural = false;
  size_t actions = 0;
  for (std::string word; words >> word;) {
    if (word == "dog" || word == "child") plural = false;
    if (word == "dogs" || word == "children") plural = true;
    if (word != "dog" && word != "child" && word != "dogs" && word != "children") continue;

    std::string verb;
    words >> verb;
    if (verb.rfind("sleep", 0) != 0 && verb.rfind("sing", 0) != 0) continue;
    EXPECT_EQ(verb.find('s', 1) == std::string::npos, plural) << word << " " << verb;
    ++actions;
  }

  EXPECT_GT(actions, 10U);
}

TEST(TextSamples, FileIsTakenAsItsBytes) {
  TemporaryFolder const folder;
  write_bytes(folder.file("t"), "caba" + std::string(20, 'c'));
  auto const text = read_text(folder.file("t"), 1);
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(text->vocabulary, "abc");
  EXPECT_EQ(text->tokens.size(), 24U);
}

TEST(TextSamples, MissingOrShortFileIsRefusedWithWhatIsNeeded) {
  TemporaryFolder const folder;
  EXPECT_THAT(read_text(folder.file("nosuch"), 4).error().message, HasSubstr("nosuch"));
  EXPECT_THAT(read_text(folder.path(), 4).error().message, HasSubstr("is a folder"));
  write_bytes(folder.file("short"), std::string(49, 'x'));
  EXPECT_THAT(read_text(folder.file("short"), 4).error().message,
              AllOf(HasSubstr("short: has 49 bytes"), HasSubstr("--context 4 takes 50 bytes")));
  write_bytes(folder.file("empty"), "");
  EXPECT_THAT(read_text(folder.file("empty"), 4).error().message, HasSubstr("0 bytes"));
}

}  // namespace
}  // namespace stepscope::workloads
