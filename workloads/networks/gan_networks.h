// What the GAN's turns need of its two networks, whatever they are made of: fully connected layers
// (gan.cpp) or convolutions (gan_convolutional.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "workloads/data/mnist_file.h"
#include "workloads/networks/gan.h"
#include "workloads/training/data_parallel.h"
#include "workloads/training/replica_builder.h"

namespace stepscope::workloads {

/// Noise [batch][noise] → images [batch][28 × 28] in [−1, 1].
class Generator {
 public:
  virtual ~Generator() = default;
  virtual void forward(float const* noise, float* images) = 0;
  /// From the images' gradient, which is overwritten, to those of all the generator's parameters.
  virtual void backward(float const* noise, float const* images, float* d_images,
                        GradientReducer& reducer) = 0;
};

/// Images [rows][28 × 28] → one logit each: positive = taken for a real one.
class Discriminator {
 public:
  virtual ~Discriminator() = default;
  /// From images.value to the loss: binary cross entropy with the target "real" for the first
  /// `real` rows, as a sum over the rows divided by the batch.
  virtual void forward(int64_t real) = 0;
  /// To the gradients of all the discriminator's parameters; images.gradient stays as it is.
  virtual void backward_weights(GradientReducer& reducer) = 0;
  /// To images.gradient, past the discriminator's parameters.
  virtual void backward_images() = 0;

  Activation images;
};

/// A pair of networks, as a training is made with it.
struct GanModel {
  ParameterLayout layout;  ///< the discriminator's parameters first, as its turn is
  ParameterRange discriminator, generator;
  int64_t noise = 0;  ///< numbers from which an image is drawn
  std::function<std::unique_ptr<Generator>(ReplicaMemory const&, ReplicaBuilder&)> make_generator;
  std::function<std::unique_ptr<Discriminator>(ReplicaMemory const&, int64_t rows, ReplicaBuilder&)>
      make_discriminator;
};

// What both kinds of networks do.

constexpr float kGanSlope = 0.2F;

inline void leaky_relu(Device& device, char const* name, Activation const& a) {
  device.run(name, elementwise::LeakyRelu{a.value.floats(), kGanSlope},
             a.value.bytes() / sizeof(float));
}
inline void leaky_relu_gradient(Device& device, char const* name, Activation const& a) {
  device.run(name, elementwise::LeakyReluBackward{a.value.floats(), a.gradient.floats(), kGanSlope},
             a.value.bytes() / sizeof(float));
}

/// Discriminator::forward()'s loss, from one logit a row; `row_results`: loss and correct of each.
inline void judge_loss(ReplicaMemory const& m, Activation const& logits, Buffer const& row_results,
                       int64_t real) {
  auto const rows = static_cast<int64_t>(logits.value.bytes() / sizeof(float));
  float const scale = 1.0F / static_cast<float>(m.batch);
  m.device->run(
      "sigmoid.loss",
      elementwise::BinaryCrossEntropy{logits.value.floats(), logits.gradient.floats(),
                                      row_results.floats(), static_cast<size_t>(real), scale},
      static_cast<size_t>(rows));
  m.device->run_rows("sigmoid.loss.sum",
                     rowwise::SumOfPairs{rows, row_results.floats(), m.result, scale}, 1);
}

}  // namespace stepscope::workloads
