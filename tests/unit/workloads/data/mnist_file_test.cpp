// The MNIST reader's refusals and the generated set's round trip.
#include "workloads/data/mnist_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/unit/workloads/temporary_folder.h"
#include "workloads/data/mnist_generator.h"
#include "workloads/data/mnist_samples.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;

std::string error_of_images(std::string const& content) {
  TemporaryFolder const folder;
  write_bytes(folder.file("images"), content);
  auto const read = read_mnist_images(folder.file("images"));
  return read ? "" : read.error().message;
}
std::string error_of_labels(std::string const& content) {
  TemporaryFolder const folder;
  write_bytes(folder.file("labels"), content);
  auto const read = read_mnist_labels(folder.file("labels"));
  return read ? "" : read.error().message;
}
/// The generated folder, changed, and what the reader says to it.
template <class Change>
std::string error_of_folder(Change const& change) {
  TemporaryFolder const folder;
  EXPECT_TRUE(write_generated_mnist(folder.path(), {6, 3}).has_value());
  change(folder);
  auto const data = read_mnist_folder(folder.path());
  return data ? "" : data.error().message;
}

TEST(MnistFile, ThatIsEmptyOrEndsInItsHeaderIsRefused) {
  EXPECT_THAT(error_of_images(""), AllOf(HasSubstr("images"), HasSubstr("0 bytes")));
  EXPECT_THAT(error_of_images(std::string(15, '\0')), HasSubstr("header of 16 bytes"));
  EXPECT_THAT(error_of_labels(std::string(7, '\0')), HasSubstr("header of 8 bytes"));
}

TEST(MnistFile, OfAnotherKindIsRefusedWithBothMagicNumbers) {
  MnistImages const images = generate_mnist(9, 0);
  EXPECT_THAT(error_of_images(encode_mnist_labels(images)),
              AllOf(HasSubstr("2049"), HasSubstr("2051")));
  EXPECT_THAT(error_of_labels(encode_mnist_images(images)),
              AllOf(HasSubstr("2051"), HasSubstr("2049")));
}

TEST(MnistFile, WhoseCountDoesNotFitItsSizeIsRefusedWithBothSizes) {
  MnistImages const images = generate_mnist(2, 0);
  std::string content = encode_mnist_images(images);
  content.pop_back();
  EXPECT_THAT(error_of_images(content), AllOf(HasSubstr("1584 bytes"), HasSubstr("1583")));
  EXPECT_THAT(error_of_labels(encode_mnist_labels(images) + "x"),
              AllOf(HasSubstr("10 bytes"), HasSubstr("11")));
  content[4] = '\xFF';  // some four thousand million images
  EXPECT_THAT(error_of_images(content), HasSubstr("1583"));
}

TEST(MnistFile, WithoutASingleImageIsRefused) {
  EXPECT_THAT(error_of_images(encode_mnist_images({})), HasSubstr("holds no images"));
}

TEST(MnistFile, WithImagesOfAnotherSizeSaysWhich) {
  std::string content = encode_mnist_images(generate_mnist(1, 0));
  content[11] = 32;
  EXPECT_THAT(error_of_images(content), HasSubstr("32 x 28"));
}

TEST(MnistFile, WithALabelAboveNineSaysWhich) {
  MnistImages images = generate_mnist(3, 0);
  images.labels[2] = 10;
  EXPECT_THAT(error_of_labels(encode_mnist_labels(images)),
              AllOf(HasSubstr("label 2"), HasSubstr("10")));
}

TEST(MnistFile, ThatIsStillCompressedSaysWhatToDo) {
  EXPECT_THAT(error_of_images("\x1F\x8B\x08 and so on"), HasSubstr("gunzip"));
  EXPECT_THAT(error_of_folder([](TemporaryFolder const& folder) {
                std::filesystem::rename(folder.file(kMnistTrain.images),
                                        folder.file(kMnistTrain.images) + ".gz");
              }),
              AllOf(HasSubstr("train-images-idx3-ubyte.gz"), HasSubstr("gunzip")));
}

TEST(MnistFolder, WithoutAFileNamesIt) {
  for (char const* const name :
       {kMnistTrain.images, kMnistTrain.labels, kMnistTest.images, kMnistTest.labels}) {
    EXPECT_THAT(error_of_folder([&](TemporaryFolder const& folder) {
                  std::filesystem::remove(folder.file(name));
                }),
                AllOf(HasSubstr(name), HasSubstr("--data")));
  }
}

TEST(MnistFolder, WithMoreLabelsThanImagesIsRefused) {
  EXPECT_THAT(error_of_folder([](TemporaryFolder const& folder) {
                write_bytes(folder.file(kMnistTest.labels),
                            encode_mnist_labels(generate_mnist(5, 1)));
              }),
              AllOf(HasSubstr("5 labels"), HasSubstr("3 images")));
}

TEST(MnistFolder, IsAlsoFoundAsTorchvisionUnpacksAndWithDotsInTheNames) {
  TemporaryFolder const folder;
  ASSERT_TRUE(write_generated_mnist(folder.file("MNIST/raw"), {4, 2}).has_value());
  EXPECT_TRUE(read_mnist_folder(folder.path()).has_value());
  std::filesystem::rename(folder.file("MNIST/raw/t10k-images-idx3-ubyte"),
                          folder.file("MNIST/raw/t10k-images.idx3-ubyte"));
  EXPECT_TRUE(read_mnist_folder(folder.path()).has_value());
}

TEST(GeneratedMnist, ReadsBackAsItWasGenerated) {
  TemporaryFolder const folder;
  ASSERT_TRUE(write_generated_mnist(folder.path(), {50, 20}).has_value());
  auto const data = read_mnist_folder(folder.path());
  ASSERT_TRUE(data.has_value()) << data.error().message;
  EXPECT_EQ(data->train.pixels, generate_mnist(50, 0).pixels);
  EXPECT_EQ(data->train.labels, generate_mnist(50, 0).labels);
  EXPECT_EQ(data->test.pixels, generate_mnist(20, 1).pixels);
  EXPECT_EQ(read_bytes(folder.file(kMnistTrain.images)).substr(0, 8),
            std::string("\0\0\x08\x03\0\0\0\x32", 8));
}

TEST(GeneratedMnist, HasAllDigitsAboutEquallyOftenAndInkInTheMiddle) {
  MnistImages const images = generate_mnist(1000, 0);
  std::array<int, kMnistClasses> counts = {};
  double middle = 0, edge = 0;

  for (size_t i = 0; i < images.size(); ++i) {
    ++counts[static_cast<size_t>(images.label(i))];
    for (size_t x = 0; x < kMnistSide; ++x) {
      middle += images.image(i)[kMnistSide / 2 * kMnistSide + x];
      edge += images.image(i)[x];
    }
  }

  for (int const count : counts) EXPECT_NEAR(count, 100, 40);
  EXPECT_GT(middle, 4 * edge);
}

TEST(GeneratedMnist, TestImagesAreNotTrainingImages) {
  EXPECT_NE(generate_mnist(1, 0).pixels, generate_mnist(1, 1).pixels);
}

TEST(GeneratedMnist, InAFolderThatCannotBeMadeIsAnError) {
  EXPECT_THAT(write_generated_mnist("/proc/stepscope", {10, 5}).error().message,
              HasSubstr("/proc/stepscope"));
}

TEST(MnistSamples, AreTheImageInTheRangeFromZeroToOneAndItsLabel) {
  MnistImages const images = generate_mnist(3, 0);
  std::vector<float> pixels(kMnistPixels);
  int32_t label = -1;
  MnistSamples(images, false)
      .prepare(2, Random(1), reinterpret_cast<std::byte*>(pixels.data()),
               reinterpret_cast<std::byte*>(&label));
  EXPECT_EQ(label, images.label(2));
  for (size_t i = 0; i < kMnistPixels; ++i)
    EXPECT_FLOAT_EQ(pixels[i], static_cast<float>(images.image(2)[i]) / 255.0F);
}

TEST(MnistSamples, AreMovedByUpToTwoPixelsWhenAugmented) {
  MnistImages images = {std::vector<uint8_t>(kMnistPixels), {7}};
  images.pixels[14 * kMnistSide + 14] = 255;
  std::vector<float> pixels(kMnistPixels);
  int32_t label = -1;
  std::array<bool, 25> seen = {};

  for (uint64_t seed = 0; seed < 300; ++seed) {
    MnistSamples(images, true)
        .prepare(0, Random(seed), reinterpret_cast<std::byte*>(pixels.data()),
                 reinterpret_cast<std::byte*>(&label));

    auto const at =
        static_cast<size_t>(std::find(pixels.begin(), pixels.end(), 1.0F) - pixels.begin());
    ASSERT_LT(at, kMnistPixels);
    size_t const down = at / kMnistSide - 12, right = at % kMnistSide - 12;
    ASSERT_TRUE(down < 5 && right < 5);
    seen[down * 5 + right] = true;
  }

  EXPECT_THAT(seen, ::testing::Each(true));
}

}  // namespace
}  // namespace stepscope::workloads
