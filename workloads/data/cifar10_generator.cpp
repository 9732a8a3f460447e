// The generated CIFAR-10 stand-in; see cifar10_generator.h.
#include "workloads/data/cifar10_generator.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "trace/base/check.h"
#include "trace/base/files/output_file.h"
#include "workloads/data/cache_folder.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kGeneratorSeed = 20'090'408;
constexpr int kVersion = 1;  // part of the cache's folder: raise it when the images change
constexpr float kPi = 3.14159265F;

// Chosen so that the network passes 60 % within some 50 steps of 256 images: five pairs of tints
// are told apart first, the texture then splits the pairs. Amplitudes in grey levels.
constexpr float kTint = 36.0F;
constexpr float kTintJitter = 6.0F;
constexpr float kTexture = 36.0F;
constexpr float kNoise = 40.0F;
constexpr std::array kPeriods = {14.0F, 4.0F};  // pixels; both survive a 24 × 24 crop

void generate_image(uint64_t split, size_t index, uint8_t* record) {
  Random random = Random::of(kGeneratorSeed, split, index);
  int const label = static_cast<int>(random.below(kCifarClasses));

  float const wave =
      2.0F * kPi / (kPeriods[static_cast<size_t>(label % 2)] * random.uniform(0.85F, 1.15F));
  float const direction = random.uniform(0.0F, kPi);
  float const phase = random.uniform(0.0F, 2.0F * kPi);
  float const base = random.uniform(100.0F, 156.0F);
  float const dx = wave * std::cos(direction);
  float const dy = wave * std::sin(direction);

  *record++ = static_cast<uint8_t>(label);
  for (int channel = 0; channel < 3; ++channel) {
    float const angle =
        2.0F * kPi * (static_cast<float>(label) / 10.0F - static_cast<float>(channel) / 3.0F);
    float const level = base + kTint * std::cos(angle) + kTintJitter * random.normal();

    for (size_t y = 0; y < kCifarSide; ++y) {
      for (size_t x = 0; x < kCifarSide; ++x) {
        float const texture =
            kTexture * std::sin(dx * static_cast<float>(x) + dy * static_cast<float>(y) + phase);
        float const value = level + texture + random.uniform(-kNoise, kNoise);
        *record++ = static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
      }
    }
  }
}

base::Expected<void> write_records(std::string const& path, std::span<uint8_t const> records) {
  return base::write_file_atomically(
      path, std::string_view(reinterpret_cast<char const*>(records.data()), records.size()));
}

}  // namespace

CifarImages generate_cifar(size_t count, uint64_t split) {
  CifarImages images;
  images.records.resize(count * kCifarRecord);
  for (size_t i = 0; i < count; ++i)
    generate_image(split, i, images.records.data() + i * kCifarRecord);
  return images;
}

base::Expected<void> write_generated_cifar(std::string const& folder, GeneratorSize size) {
  STEPSCOPE_CHECK(size.train % 5 == 0 && size.train > 0 && size.test > 0);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return base::fail(
        "{}: cannot make the folder ({}), choose another with --data or XDG_CACHE_HOME", folder,
        error.message());

  CifarImages const train = generate_cifar(size.train, 0);
  size_t const bytes = train.records.size() / 5;
  size_t file = 0;
  for (std::string const& name : cifar_train_files()) {
    auto const part = std::span(train.records).subspan(file++ * bytes, bytes);
    if (auto written = write_records(fs::path(folder) / name, part); !written) return written;
  }

  // The test file comes last: a folder that has it is complete.
  return write_records(fs::path(folder) / kCifarTestFile, generate_cifar(size.test, 1).records);
}

base::Expected<std::string> generated_cifar_folder(GeneratorSize size) {
  fs::path const folder =
      cache_folder() / fmt::format("cifar10-generated-v{}-{}-{}", kVersion, size.train, size.test);
  std::error_code ignored;
  if (fs::exists(folder / kCifarTestFile, ignored)) return folder.string();

  CacheLock const lock(folder);
  if (!fs::exists(folder / kCifarTestFile, ignored)) {
    if (auto written = write_generated_cifar(folder, size); !written)
      return base::fail_with(written);
  }

  return folder.string();
}

}  // namespace stepscope::workloads
