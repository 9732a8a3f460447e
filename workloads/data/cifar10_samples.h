// CIFAR-10 images as training takes them: augmented (or the central crop), 24 × 24 × 3 floats and
// one int32 label.
#pragma once

#include "workloads/data/augment.h"
#include "workloads/data/samples.h"

namespace stepscope::workloads {

class CifarSamples final : public Samples {
 public:
  /// `images` must outlive the object.
  CifarSamples(CifarImages const& images, bool augment) : images_(images), augment_(augment) {}

  [[nodiscard]] size_t size() const override { return images_.size(); }
  [[nodiscard]] size_t input_bytes() const override { return kCropFloats * sizeof(float); }
  [[nodiscard]] size_t label_bytes() const override { return sizeof(int32_t); }
  void prepare(size_t i, Random random, std::byte* input, std::byte* label) const override;

 private:
  CifarImages const& images_;
  bool augment_;
};

}  // namespace stepscope::workloads
