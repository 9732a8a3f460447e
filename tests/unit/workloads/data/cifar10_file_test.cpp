// The CIFAR-10 reader's refusals and the generated set's round trip.
#include "workloads/data/cifar10_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/workloads/temporary_folder.h"
#include "workloads/data/cifar10_generator.h"

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;

std::string error_of_file(std::string const& content) {
  TemporaryFolder const folder;
  write_bytes(folder.file("batch.bin"), content);
  CifarImages images;
  auto const read = read_cifar_file(folder.file("batch.bin"), images);
  return read ? "" : read.error().message;
}

TEST(CifarFile, WithAnIncompleteRecordSaysHowManyBytesAreLeftOver) {
  EXPECT_THAT(error_of_file(std::string(2 * kCifarRecord + 10, '\1')),
              ::testing::AllOf(HasSubstr("batch.bin"), HasSubstr("3073"), HasSubstr("10 bytes")));
  EXPECT_THAT(error_of_file(std::string(kCifarRecord - 1, '\1')), HasSubstr("3072 bytes"));
}

TEST(CifarFile, ThatIsEmptyIsRefused) { EXPECT_THAT(error_of_file(""), HasSubstr("0 bytes")); }

TEST(CifarFile, WithALabelAboveNineSaysWhichRecord) {
  std::string content(3 * kCifarRecord, '\1');
  content[2 * kCifarRecord] = 10;
  EXPECT_THAT(error_of_file(content),
              ::testing::AllOf(HasSubstr("record 2"), HasSubstr("label 10")));
}

TEST(CifarFile, KeepsLabelsAndPlanesOfEachRecord) {
  TemporaryFolder const folder;
  std::string content(2 * kCifarRecord, '\0');
  content[kCifarRecord] = 7;
  content[kCifarRecord + 1 + kCifarPlane] = 99;  // first pixel's green
  write_bytes(folder.file("b"), content);

  CifarImages images;
  ASSERT_TRUE(read_cifar_file(folder.file("b"), images).has_value());
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images.label(1), 7);
  EXPECT_EQ(images.pixels(1)[kCifarPlane], 99);
}

TEST(CifarFolder, WithoutAFileNamesIt) {
  TemporaryFolder const folder;
  ASSERT_TRUE(write_generated_cifar(folder.path(), {10, 3}).has_value());
  std::filesystem::remove(folder.file("data_batch_4.bin"));
  auto const data = read_cifar_folder(folder.path());
  ASSERT_FALSE(data.has_value());
  EXPECT_THAT(data.error().message,
              ::testing::AllOf(HasSubstr("data_batch_4.bin"), HasSubstr("--data")));
}

TEST(CifarFolder, IsAlsoFoundAsTheOfficialArchiveUnpacks) {
  TemporaryFolder const folder;
  ASSERT_TRUE(write_generated_cifar(folder.file("cifar-10-batches-bin"), {10, 3}).has_value());
  EXPECT_TRUE(read_cifar_folder(folder.path()).has_value());
}

TEST(GeneratedCifar, ReadsBackAsItWasGenerated) {
  TemporaryFolder const folder;
  ASSERT_TRUE(write_generated_cifar(folder.path(), {50, 20}).has_value());
  auto const data = read_cifar_folder(folder.path());
  ASSERT_TRUE(data.has_value()) << data.error().message;
  EXPECT_EQ(data->train.records, generate_cifar(50, 0).records);
  EXPECT_EQ(data->test.records, generate_cifar(20, 1).records);
  EXPECT_EQ(read_bytes(folder.file("data_batch_2.bin")).size(), 10 * kCifarRecord);
}

TEST(GeneratedCifar, HasAllClassesAboutEquallyOften) {
  CifarImages const images = generate_cifar(2000, 0);
  std::array<int, kCifarClasses> counts = {};
  for (size_t i = 0; i < images.size(); ++i) ++counts[static_cast<size_t>(images.label(i))];
  for (int const count : counts) EXPECT_NEAR(count, 200, 60);
}

TEST(GeneratedCifar, TestImagesAreNotTrainingImages) {
  EXPECT_NE(generate_cifar(1, 0).records, generate_cifar(1, 1).records);
}

TEST(GeneratedCifar, IsMadeOnceInTheCacheFolder) {
  TemporaryFolder const folder;
  setenv("STEPSCOPE_CACHE", folder.path().c_str(), 1);
  auto const first = generated_cifar_folder({20, 5});
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_THAT(*first, ::testing::StartsWith(folder.path()));
  auto const written = std::filesystem::last_write_time(*first + "/test_batch.bin");
  EXPECT_EQ(generated_cifar_folder({20, 5}).value(), *first);
  EXPECT_EQ(std::filesystem::last_write_time(*first + "/test_batch.bin"), written);
  unsetenv("STEPSCOPE_CACHE");
}

TEST(GeneratedCifar, InAFolderThatCannotBeMadeIsAnError) {
  EXPECT_THAT(write_generated_cifar("/proc/stepscope", {10, 5}).error().message,
              HasSubstr("/proc/stepscope"));
}

}  // namespace
}  // namespace stepscope::workloads
