// Augmented MNIST images; see mnist_samples.h.
#include "workloads/data/mnist_samples.h"

#include <cstring>

#include "workloads/data/mnist_generator.h"

namespace stepscope::workloads {

void MnistSamples::prepare(size_t i, Random random, std::byte* input, std::byte* label) const {
  constexpr auto kSide = static_cast<int>(kMnistSide);
  constexpr int kLargestMove = 2;
  auto const move = [&] {
    return augment_ ? static_cast<int>(random.below(2 * kLargestMove + 1)) - kLargestMove : 0;
  };
  int const down = move(), right = move();
  auto const from = images_.image(i);
  auto* out = reinterpret_cast<float*>(input);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      int const from_y = y - down, from_x = x - right;
      bool const inside = from_y >= 0 && from_y < kSide && from_x >= 0 && from_x < kSide;
      *out++ =
          inside
              ? static_cast<float>(
                    from[static_cast<size_t>(from_y) * kMnistSide + static_cast<size_t>(from_x)]) /
                    255.0F
              : 0.0F;
    }
  }
  int32_t const number = images_.label(i);
  std::memcpy(label, &number, sizeof number);
}

base::Expected<MnistDataSet> load_mnist(std::string const& folder) {
  if (!folder.empty()) return read_mnist_folder(folder);
  auto const generated = generated_mnist_folder({});
  if (!generated) return base::fail_with(generated);
  return read_mnist_folder(*generated);
}

}  // namespace stepscope::workloads
