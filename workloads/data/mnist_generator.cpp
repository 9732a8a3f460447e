// The generated MNIST stand-in; see mnist_generator.h.
#include "workloads/data/mnist_generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "trace/base/check.h"
#include "trace/base/files/output_file.h"
#include "workloads/data/cache_folder.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kGeneratorSeed = 19'981'100;
constexpr int kVersion = 1;  // part of the cache's folder: raise it when the images change

struct Point {
  float x, y;
};
/// One line without lifting the pen, in a unit square, y downwards.
using Stroke = std::vector<Point>;

std::vector<Stroke> zero_to_four() {
  return {Stroke{{0.5F, 0.0F},
                 {0.2F, 0.12F},
                 {0.08F, 0.5F},
                 {0.2F, 0.88F},
                 {0.5F, 1.0F},
                 {0.8F, 0.88F},
                 {0.92F, 0.5F},
                 {0.8F, 0.12F},
                 {0.5F, 0.0F}},
          Stroke{{0.3F, 0.22F}, {0.55F, 0.0F}, {0.55F, 1.0F}},
          Stroke{{0.12F, 0.25F},
                 {0.3F, 0.04F},
                 {0.6F, 0.0F},
                 {0.85F, 0.2F},
                 {0.78F, 0.46F},
                 {0.12F, 1.0F},
                 {0.92F, 1.0F}},
          Stroke{{0.15F, 0.1F},
                 {0.5F, 0.0F},
                 {0.85F, 0.2F},
                 {0.75F, 0.42F},
                 {0.4F, 0.5F},
                 {0.8F, 0.6F},
                 {0.88F, 0.84F},
                 {0.5F, 1.0F},
                 {0.1F, 0.9F}},
          Stroke{{0.7F, 1.0F}, {0.7F, 0.0F}, {0.08F, 0.66F}, {0.95F, 0.66F}}};
}

std::vector<Stroke> five_to_nine() {
  return {Stroke{{0.88F, 0.0F},
                 {0.25F, 0.0F},
                 {0.2F, 0.45F},
                 {0.55F, 0.4F},
                 {0.86F, 0.6F},
                 {0.82F, 0.88F},
                 {0.5F, 1.0F},
                 {0.12F, 0.9F}},
          Stroke{{0.75F, 0.02F},
                 {0.35F, 0.25F},
                 {0.14F, 0.65F},
                 {0.3F, 0.95F},
                 {0.65F, 1.0F},
                 {0.86F, 0.75F},
                 {0.65F, 0.5F},
                 {0.3F, 0.55F},
                 {0.16F, 0.7F}},
          Stroke{{0.1F, 0.0F}, {0.9F, 0.0F}, {0.4F, 1.0F}},
          Stroke{{0.5F, 0.47F},
                 {0.22F, 0.3F},
                 {0.3F, 0.05F},
                 {0.7F, 0.05F},
                 {0.78F, 0.3F},
                 {0.5F, 0.47F},
                 {0.15F, 0.7F},
                 {0.25F, 0.97F},
                 {0.75F, 0.97F},
                 {0.85F, 0.7F},
                 {0.5F, 0.47F}},
          Stroke{{0.83F, 0.35F},
                 {0.6F, 0.5F},
                 {0.25F, 0.45F},
                 {0.14F, 0.2F},
                 {0.4F, 0.0F},
                 {0.75F, 0.05F},
                 {0.86F, 0.3F},
                 {0.75F, 0.7F},
                 {0.55F, 1.0F}}};
}

std::vector<Stroke> const& strokes() {
  static std::vector<Stroke> const all = [] {
    std::vector<Stroke> digits = zero_to_four();
    for (Stroke& stroke : five_to_nine()) digits.push_back(std::move(stroke));
    return digits;
  }();
  return all;
}

// How one writer differs from another. Lengths in pixels; the digits fill about 20 × 20, as MNIST's
// do.
constexpr float kHeight = 19.0F, kWidth = 14.0F;
constexpr float kSmallest = 0.75F, kLargest = 1.05F;
constexpr float kShift = 2.5F;
constexpr float kSlant = 0.35F;   // sideways a unit of height
constexpr float kWobble = 0.03F;  // deviation of a stroke's points, of the unit square
constexpr float kThinnest = 0.8F, kThickest = 1.6F;
constexpr float kEdge = 1.0F;    // over which the ink fades
constexpr float kNoise = 25.0F;  // grey levels, on the ink and beside it

/// The stroke as this image has it, in pixels.
Stroke deform(Stroke const& stroke, Random& random) {
  float const height = kHeight * random.uniform(kSmallest, kLargest);
  float const width = kWidth * random.uniform(kSmallest, kLargest);
  float const slant = random.uniform(-kSlant, kSlant);

  constexpr float kCentre = static_cast<float>(kMnistSide) / 2;
  float const x0 = kCentre + random.uniform(-kShift, kShift),
              y0 = kCentre + random.uniform(-kShift, kShift);

  Stroke result;
  for (Point const& p : stroke) {
    float const x = p.x - 0.5F + kWobble * random.normal(),
                y = p.y - 0.5F + kWobble * random.normal();
    result.push_back({x0 + width * x - slant * height * y, y0 + height * y});
  }

  return result;
}

float distance(Point const& from, Point const& a, Point const& b) {
  float const dx = b.x - a.x, dy = b.y - a.y;
  float const along =
      ((from.x - a.x) * dx + (from.y - a.y) * dy) / std::max(1e-6F, dx * dx + dy * dy);
  float const t = std::clamp(along, 0.0F, 1.0F);
  return std::hypot(from.x - a.x - t * dx, from.y - a.y - t * dy);
}

void generate_image(uint64_t split, size_t index, MnistImages& images) {
  Random random = Random::of(kGeneratorSeed, split, index);
  uint32_t const label = random.below(kMnistClasses);
  Stroke const stroke = deform(strokes()[label], random);
  float const thickness = random.uniform(kThinnest, kThickest);

  images.labels[index] = static_cast<uint8_t>(label);
  uint8_t* pixel = images.pixels.data() + index * kMnistPixels;

  for (size_t y = 0; y < kMnistSide; ++y) {
    for (size_t x = 0; x < kMnistSide; ++x) {
      Point const here = {static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F};
      float nearest = static_cast<float>(kMnistSide);
      for (size_t i = 1; i < stroke.size(); ++i)
        nearest = std::min(nearest, distance(here, stroke[i - 1], stroke[i]));

      float const ink = std::clamp((thickness + kEdge - nearest) / kEdge, 0.0F, 1.0F);
      *pixel++ = static_cast<uint8_t>(
          std::clamp(255.0F * ink + random.uniform(-kNoise, kNoise), 0.0F, 255.0F));
    }
  }
}

base::Expected<void> write_part(fs::path const& folder, MnistNames const& names,
                                MnistImages const& images) {
  if (auto written =
          base::write_file_atomically(folder / names.images, encode_mnist_images(images));
      !written)
    return written;
  return base::write_file_atomically(folder / names.labels, encode_mnist_labels(images));
}

}  // namespace

MnistImages generate_mnist(size_t count, uint64_t split) {
  MnistImages images;
  images.pixels.resize(count * kMnistPixels);
  images.labels.resize(count);
  for (size_t i = 0; i < count; ++i) generate_image(split, i, images);
  return images;
}

base::Expected<void> write_generated_mnist(std::string const& folder, MnistSize size) {
  STEPSCOPE_CHECK(size.train > 0 && size.test > 0);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return base::fail(
        "{}: cannot make the folder ({}), choose another with --data or XDG_CACHE_HOME", folder,
        error.message());

  if (auto written = write_part(folder, kMnistTrain, generate_mnist(size.train, 0)); !written)
    return written;
  // The test labels come last: a folder that has them is complete.
  return write_part(folder, kMnistTest, generate_mnist(size.test, 1));
}

base::Expected<std::string> generated_mnist_folder(MnistSize size) {
  fs::path const folder =
      cache_folder() / fmt::format("mnist-generated-v{}-{}-{}", kVersion, size.train, size.test);
  std::error_code ignored;
  if (fs::exists(folder / kMnistTest.labels, ignored)) return folder.string();

  CacheLock const lock(folder);
  if (!fs::exists(folder / kMnistTest.labels, ignored)) {
    if (auto written = write_generated_mnist(folder, size); !written)
      return base::fail_with(written);
  }

  return folder.string();
}

}  // namespace stepscope::workloads
