#include "trace/base/bytes.h"

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

TEST(Bytes, ReadsBackWhatWasWritten) {
  ByteWriter out;
  out.put(uint32_t{7});
  out.put_string("conv1");
  out.put(int64_t{-5});

  ByteReader in(out.span());
  EXPECT_EQ(in.get<uint32_t>(), 7U);
  EXPECT_EQ(in.get_string(), "conv1");
  EXPECT_EQ(in.get<int64_t>(), -5);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(Bytes, AReadPastTheEndGivesZeroAndStaysFailed) {
  ByteWriter out;
  out.put(uint16_t{1});
  ByteReader in(out.span());
  EXPECT_EQ(in.get<uint64_t>(), 0U);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.get<uint8_t>(), 0U);
  EXPECT_FALSE(in.ok());
}

TEST(Bytes, AStringLongerThanTheBytesLeftIsRefused) {
  ByteWriter out;
  out.put(uint32_t{1000});
  out.put(uint8_t{'x'});
  ByteReader in(out.span());
  EXPECT_EQ(in.get_string(), "");
  EXPECT_FALSE(in.ok());
}

TEST(Bytes, PatchOverwritesInPlace) {
  ByteWriter out;
  out.put(uint32_t{0});
  out.put(uint8_t{9});
  out.patch(0, uint32_t{0xDEADBEEF});
  ByteReader in(out.span());
  EXPECT_EQ(in.get<uint32_t>(), 0xDEADBEEFU);
  EXPECT_EQ(in.get<uint8_t>(), 9);
}

}  // namespace
}  // namespace stepscope::base
