// MNIST images as training takes them: 28 × 28 floats in [0, 1], moved by up to two pixels when
// augmented, and one int32 label.
#pragma once

#include "workloads/data/mnist_file.h"
#include "workloads/data/samples.h"

namespace stepscope::workloads {

class MnistSamples final : public Samples {
 public:
  /// `images` must outlive the object.
  MnistSamples(MnistImages const& images, bool augment) : images_(images), augment_(augment) {}

  [[nodiscard]] size_t size() const override { return images_.size(); }
  [[nodiscard]] size_t input_bytes() const override { return kMnistPixels * sizeof(float); }
  [[nodiscard]] size_t label_bytes() const override { return sizeof(int32_t); }
  void prepare(size_t i, Random random, std::byte* input, std::byte* label) const override;

 private:
  MnistImages const& images_;
  bool augment_;
};

/// Where MNIST comes from: `folder`, or the generated set where that is empty.
base::Expected<MnistDataSet> load_mnist(std::string const& folder);

}  // namespace stepscope::workloads
