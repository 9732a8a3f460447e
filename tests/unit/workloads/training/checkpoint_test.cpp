// Checkpoints: what is saved is loaded; anything else is refused with what to do.
#include "workloads/training/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/temporary_folder.h"

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;

Checkpoint sample() { return {"model-a", 42, 256, 7, {1.0F, -2.5F, 3e-20F}}; }

TEST(Checkpoint, LoadsWhatWasSaved) {
  TemporaryFolder const folder;
  ASSERT_TRUE(save_checkpoint(folder.file("c"), sample()).has_value());
  auto const loaded = load_checkpoint(folder.file("c"), "model-a", 3);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->step, 42);
  EXPECT_EQ(loaded->global_batch, 256);
  EXPECT_EQ(loaded->seed, 7U);
  EXPECT_EQ(loaded->weights, sample().weights);
}

TEST(Checkpoint, OfAnotherModelIsRefused) {
  TemporaryFolder const folder;
  ASSERT_TRUE(save_checkpoint(folder.file("c"), sample()).has_value());
  EXPECT_THAT(load_checkpoint(folder.file("c"), "model-b", 3).error().message,
              ::testing::AllOf(HasSubstr("model-a"), HasSubstr("model-b")));
  EXPECT_FALSE(load_checkpoint(folder.file("c"), "model-a", 4).has_value());
}

TEST(Checkpoint, WithAnyByteChangedIsRefused) {
  TemporaryFolder const folder;
  ASSERT_TRUE(save_checkpoint(folder.file("c"), sample()).has_value());
  std::string const good = read_bytes(folder.file("c"));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    write_bytes(folder.file("bad"), bad);
    ASSERT_FALSE(load_checkpoint(folder.file("bad"), "model-a", 3).has_value()) << "byte " << i;
  }
}

TEST(Checkpoint, CutAnywhereIsRefused) {
  TemporaryFolder const folder;
  ASSERT_TRUE(save_checkpoint(folder.file("c"), sample()).has_value());
  std::string const good = read_bytes(folder.file("c"));
  for (size_t length = 0; length < good.size(); ++length) {
    write_bytes(folder.file("bad"), good.substr(0, length));
    ASSERT_FALSE(load_checkpoint(folder.file("bad"), "model-a", 3).has_value())
        << length << " bytes";
  }
}

TEST(Checkpoint, ThatDoesNotExistIsNamed) {
  EXPECT_THAT(load_checkpoint("/nonexistent/checkpoint", "model-a", 3).error().message,
              HasSubstr("/nonexistent/checkpoint"));
}

TEST(Checkpoint, ThatCannotBeWrittenIsAnError) {
  EXPECT_THAT(save_checkpoint("/nonexistent/folder/c", sample()).error().message,
              HasSubstr("/nonexistent/folder"));
}

}  // namespace
}  // namespace stepscope::workloads
