#include "trace/file/codec/compression.h"

#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trace/base/bytes.h"

namespace stepscope::file {
namespace {

/// What one that left alone as many bytes as it could makes of `size` zeros.
size_t compressed(Compressor& compressor, size_t size) {
  std::vector<std::byte> const zeros(size);
  base::ByteWriter out;
  size_t const stored = compressor.compress(zeros, out);
  EXPECT_EQ(out.size(), stored);

  std::vector<std::byte> back(size, std::byte{1});
  if (stored > 0) {
    EXPECT_TRUE(Decompressor().decompress(out.span(), back));
    EXPECT_EQ(back, zeros);
  }
  return stored;
}

TEST(Compressor, CompressesFromTheFirstByteOnUnlessItIsToLeaveSomeAlone) {
  Compressor compressor;
  EXPECT_GT(compressed(compressor, 100), 0U);
  EXPECT_LT(compressed(compressor, 100), 100U);
}

TEST(Compressor, LeavesFewBytesOfAFileAloneHoweverManyInputsTheyComeIn) {
  Compressor compressor(250);
  EXPECT_EQ(compressed(compressor, 100), 0U);
  EXPECT_EQ(compressed(compressor, 100), 0U);
  Compressor moved = std::move(compressor);
  EXPECT_GT(compressed(moved, 100), 0U) << "300 bytes";
  EXPECT_GT(compressed(moved, 50), 0U) << "has its context by now";
}

TEST(Compressor, LeavesNoLongInputAlone) {
  Compressor compressor(250);
  EXPECT_GT(compressed(compressor, 251), 0U);
}

}  // namespace
}  // namespace stepscope::file
