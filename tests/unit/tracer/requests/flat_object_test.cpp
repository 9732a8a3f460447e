// Members are found as trees find them, and running out of memory while reading ends nothing.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tracer/requests/flat_object.h"
#include "tracer/requests/messages.h"

namespace stepscope::tracer {
namespace {

TEST(FlatObject, HasStringsAndIntegersOfItsMembers) {
  auto const object = FlatObject::parse(
      R"({"s": "a\u00e9", "i": -7, "most": 9223372036854775807, "list": [1, {"deep": 2}], "t": "x",
          "more": 9223372036854775808, "f": 1.0, "no": null, "yes": true, "of": {"i": 8}})");
  ASSERT_TRUE(object);
  ASSERT_NE(object->string("s"), nullptr);
  EXPECT_EQ(*object->string("s"), "aé");
  ASSERT_NE(object->integer("i"), nullptr);
  EXPECT_EQ(*object->integer("i"), -7) << "not the one in a member";
  ASSERT_NE(object->integer("most"), nullptr);
  EXPECT_EQ(*object->integer("most"), INT64_MAX);
  ASSERT_NE(object->string("t"), nullptr) << "behind a list";

  for (char const* const name : {"list", "deep", "more", "f", "no", "yes", "of", "absent", "s"})
    EXPECT_EQ(object->integer(name), nullptr) << name;
  for (char const* const name : {"list", "no", "of", "absent", "i"})
    EXPECT_EQ(object->string(name), nullptr) << name;
}

TEST(FlatObject, TakesTheLastMemberOfAName) {
  auto const object = FlatObject::parse(R"({"a": 1, "a": "text", "a": 3})");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->string("a"), nullptr);
  ASSERT_NE(object->integer("a"), nullptr);
  EXPECT_EQ(*object->integer("a"), 3);
}

TEST(FlatObject, IsNothingElse) {
  for (char const* const text : {"", " ", "1", "\"a\"", "null", "true", "[]", "[{\"a\": 1}]", "{",
                                 "{\"a\"}", "{\"a\": 1} x", "{\"a\": 1,}", "{\"a\": \xff}", "}"})
    EXPECT_FALSE(FlatObject::parse(text)) << text;
  EXPECT_TRUE(FlatObject::parse("{}"));

  std::string deep = "{\"a\": ";
  for (int i = 0; i < 1'000'000; ++i) deep += '[';
  EXPECT_FALSE(FlatObject::parse(deep)) << "and takes no stack";
}

/// Reads when all memory but for so many small blocks is taken. Exits with 0 when it could, with 1
/// when memory ran out.
[[noreturn]] void read_with_blocks_left(size_t left) {
  constexpr size_t kSmallBytes = 200, kMostLeft = 64;
  std::array<void*, kMostLeft> small{};
  for (void*& block : small) block = std::malloc(kSmallBytes);

  std::string const text = to_text(Request{.id = std::string(100, 'x'), .reason = "a slow step"});
  rlimit const limit{1 << 20, 1 << 20};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  for (size_t size = 1 << 20; size >= 8; size /= 2)
    while (std::malloc(size) != nullptr) continue;
  for (size_t i = 0; i < left; ++i) std::free(small[i]);

  try {
    bool const is_read = parse_request(text).has_value();
    std::_Exit(is_read ? 0 : 3);
  } catch (std::bad_alloc const&) {
    std::_Exit(1);
  }
}

/// A tree aborts with some of these numbers of blocks: it needs memory to be destroyed.
TEST(FlatObject, ThrowsWhereMemoryEnds) {
  if (support::kSanitized) GTEST_SKIP() << "the sanitizer needs more address space than that";

  for (size_t left = 0; left <= 64; ++left) {
    EXPECT_EXIT(
        read_with_blocks_left(left),
        [](int status) {
          return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 1);
        },
        "")
        << left;
  }
  EXPECT_EXIT(read_with_blocks_left(64), testing::ExitedWithCode(0), "") << "that is plenty";
}

}  // namespace
}  // namespace stepscope::tracer
