// The GAN's networks of convolutions, after DCGAN (Radford, Metz, Chintala, ICLR 2016): the
// generator doubles the image's side with transposed convolutions, the discriminator halves it with
// strided ones; no pooling. Without batch normalisation, which would make N devices differ from one
// device with the whole batch; its place is taken by initial weights that keep a signal's size.
// From top to bottom: the parameters, generator, discriminator.
#include <cmath>

#include "workloads/networks/gan_networks.h"
#include "workloads/networks/transposed_conv2d.h"

namespace stepscope::workloads {
namespace {

constexpr auto kSide = static_cast<int64_t>(kMnistSide);
constexpr int64_t kHalf = kSide / 2, kQuarter = kSide / 4;
constexpr int64_t kPixels = kSide * kSide;
constexpr int64_t kKernel = 4, kStride = 2,
                  kPadding =
                      1;  // each output pixel of a transposed one has as many inputs: no grid
constexpr int64_t kTaps = kKernel * kKernel;

// Parameters.

/// In the order of describe_parameters().
enum ParameterId : size_t {
  kJudgeFcWeights,
  kJudgeFcBias,
  kJudge2Weights,
  kJudge2Bias,
  kJudge1Weights,
  kJudge1Bias,
  kDraw2Weights,
  kDraw2Bias,
  kDraw1Weights,
  kDraw1Bias,
  kDrawFcWeights,
  kDrawFcBias
};

ParameterLayout describe_parameters(ConvGanWidths const& w) {
  ParameterLayout layout;
  layout.model = fmt::format("gan-conv-{}-{}-{}", w.noise, w.narrow, w.wide);
  // `terms`: of the sum that makes an output, where they are not all inputs of the matrix.
  auto const add = [&](char const* name, int64_t outputs, int64_t inputs, int64_t terms) {
    layout.add({name, outputs, inputs, std::sqrt(1.0 / static_cast<double>(terms)), 0.0F, 0.0F});
  };
  int64_t const flat = kQuarter * kQuarter * w.wide;
  add("discriminator.fc", 1, flat, flat);
  add("discriminator.conv2", w.wide, kTaps * w.narrow, kTaps * w.narrow);
  add("discriminator.conv1", w.narrow, kTaps, kTaps);
  // A stride of 2 leaves a quarter of the kernel for each output pixel.
  constexpr int64_t kShare = kStride * kStride;
  add("generator.conv2", 1, kTaps * w.narrow, kTaps * w.narrow / kShare);
  add("generator.conv1", w.narrow, kTaps * w.wide, kTaps * w.wide / kShare);
  add("generator.fc", flat, w.noise, w.noise);
  return layout;
}

/// Of the convolutions, and of those whose transposes the generator has.
Conv2dShape outer_shape(int64_t batch, ConvGanWidths const& w) {
  return {batch, kSide, kSide, 1, w.narrow, kKernel, kPadding, false, kStride};
}
Conv2dShape inner_shape(int64_t batch, ConvGanWidths const& w) {
  return {batch, kHalf, kHalf, w.narrow, w.wide, kKernel, kPadding, false, kStride};
}

// Generator: noise → 7 × 7 → 14 × 14 → 28 × 28.

class ConvGenerator final : public Generator {
 public:
  ConvGenerator(ReplicaMemory const& memory, ConvGanWidths const& w, ReplicaBuilder& builder)
      : m_(memory) {
    Device& d = *m_.device;
    int64_t const flat = kQuarter * kQuarter * w.wide;
    builder.activation(a_fc_, m_.batch * flat, "generator.fc");
    builder.activation(a_conv1_, m_.batch * kHalf * kHalf * w.narrow, "generator.conv1");
    builder.take(d.dense("generator.fc", {m_.batch, w.noise, flat, false}), fc_);
    builder.take(TransposedConv2d::create(d, "generator.conv1", inner_shape(m_.batch, w)), conv1_);
    builder.take(TransposedConv2d::create(d, "generator.conv2", outer_shape(m_.batch, w)), conv2_);
  }

  void forward(float const* noise, float* images) override {
    Device& d = *m_.device;
    fc_->forward(noise, m_.w(kDrawFcWeights), m_.w(kDrawFcBias), a_fc_.value.floats());
    leaky_relu(d, "generator.fc.leaky_relu", a_fc_);
    conv1_->forward(a_fc_.value.floats(), m_.w(kDraw1Weights), m_.w(kDraw1Bias),
                    a_conv1_.value.floats());
    leaky_relu(d, "generator.conv1.leaky_relu", a_conv1_);
    conv2_->forward(a_conv1_.value.floats(), m_.w(kDraw2Weights), m_.w(kDraw2Bias), images);
    d.run("generator.tanh", elementwise::Tanh{images}, image_floats());
  }

  void backward(float const* noise, float const* images, float* d_images,
                GradientReducer& reducer) override {
    Device& d = *m_.device;
    d.run("generator.backward.tanh", elementwise::TanhBackward{images, d_images}, image_floats());
    conv2_->backward_weights(a_conv1_.value.floats(), d_images, m_.g(kDraw2Weights),
                             m_.g(kDraw2Bias));
    reducer.ready(kDraw2Bias);
    conv2_->backward_data(d_images, m_.w(kDraw2Weights), a_conv1_.gradient.floats());
    leaky_relu_gradient(d, "generator.conv1.backward.leaky_relu", a_conv1_);
    conv1_->backward_weights(a_fc_.value.floats(), a_conv1_.gradient.floats(), m_.g(kDraw1Weights),
                             m_.g(kDraw1Bias));
    reducer.ready(kDraw1Bias);
    conv1_->backward_data(a_conv1_.gradient.floats(), m_.w(kDraw1Weights), a_fc_.gradient.floats());
    leaky_relu_gradient(d, "generator.fc.backward.leaky_relu", a_fc_);
    fc_->backward_weights(noise, a_fc_.gradient.floats(), m_.g(kDrawFcWeights), m_.g(kDrawFcBias));
    reducer.ready(kDrawFcBias);
  }

 private:
  [[nodiscard]] size_t image_floats() const { return static_cast<size_t>(m_.batch * kPixels); }

  ReplicaMemory m_;
  std::unique_ptr<Dense> fc_;
  std::unique_ptr<TransposedConv2d> conv1_, conv2_;
  Activation a_fc_, a_conv1_;
};

// Discriminator: 28 × 28 → 14 × 14 → 7 × 7 → logit.

class ConvDiscriminator final : public Discriminator {
 public:
  ConvDiscriminator(ReplicaMemory const& memory, ConvGanWidths const& w, int64_t rows,
                    ReplicaBuilder& builder)
      : m_(memory) {
    Device& d = *m_.device;
    int64_t const flat = kQuarter * kQuarter * w.wide;
    builder.activation(images, rows * kPixels, "images");
    builder.activation(a_conv1_, rows * kHalf * kHalf * w.narrow, "discriminator.conv1");
    builder.activation(a_conv2_, rows * flat, "discriminator.conv2");
    builder.activation(logits_, rows, "discriminator.fc");
    builder.buffer(row_results_, rows * 2, "loss");
    builder.take(d.conv2d("discriminator.conv1", outer_shape(rows, w)), conv1_);
    builder.take(d.conv2d("discriminator.conv2", inner_shape(rows, w)), conv2_);
    builder.take(d.dense("discriminator.fc", {rows, flat, 1, false}), fc_);
  }

  void forward(int64_t real) override {
    Device& d = *m_.device;
    conv1_->forward(images.value.floats(), m_.w(kJudge1Weights), m_.w(kJudge1Bias),
                    a_conv1_.value.floats());
    leaky_relu(d, "discriminator.conv1.leaky_relu", a_conv1_);
    conv2_->forward(a_conv1_.value.floats(), m_.w(kJudge2Weights), m_.w(kJudge2Bias),
                    a_conv2_.value.floats());
    leaky_relu(d, "discriminator.conv2.leaky_relu", a_conv2_);
    fc_->forward(a_conv2_.value.floats(), m_.w(kJudgeFcWeights), m_.w(kJudgeFcBias),
                 logits_.value.floats());
    judge_loss(m_, logits_, row_results_, real);
  }

  void backward_weights(GradientReducer& reducer) override {
    fc_->backward_weights(a_conv2_.value.floats(), logits_.gradient.floats(), m_.g(kJudgeFcWeights),
                          m_.g(kJudgeFcBias));
    reducer.ready(kJudgeFcBias);
    backward_to_conv2();
    conv2_->backward_weights(a_conv1_.value.floats(), a_conv2_.gradient.floats(),
                             m_.g(kJudge2Weights), m_.g(kJudge2Bias));
    reducer.ready(kJudge2Bias);
    backward_to_conv1();
    conv1_->backward_weights(images.value.floats(), a_conv1_.gradient.floats(),
                             m_.g(kJudge1Weights), m_.g(kJudge1Bias));
    reducer.ready(kJudge1Bias);
  }

  void backward_images() override {
    backward_to_conv2();
    backward_to_conv1();
    conv1_->backward_data(a_conv1_.gradient.floats(), m_.w(kJudge1Weights),
                          images.gradient.floats());
  }

 private:
  void backward_to_conv2() {
    fc_->backward_data(logits_.gradient.floats(), m_.w(kJudgeFcWeights),
                       a_conv2_.gradient.floats());
    leaky_relu_gradient(*m_.device, "discriminator.conv2.backward.leaky_relu", a_conv2_);
  }
  void backward_to_conv1() {
    conv2_->backward_data(a_conv2_.gradient.floats(), m_.w(kJudge2Weights),
                          a_conv1_.gradient.floats());
    leaky_relu_gradient(*m_.device, "discriminator.conv1.backward.leaky_relu", a_conv1_);
  }

  ReplicaMemory m_;
  std::unique_ptr<Conv2d> conv1_, conv2_;
  std::unique_ptr<Dense> fc_;
  Activation a_conv1_, a_conv2_, logits_;
  Buffer row_results_;  ///< loss and correct of each image
};

}  // namespace

GanModel convolutional_gan(ConvGanWidths const& widths) {
  GanModel model;
  model.layout = describe_parameters(widths);
  model.discriminator = {kJudgeFcWeights, kJudge1Bias, "discriminator"};
  model.generator = {kDraw2Weights, kDrawFcBias, "generator"};
  model.noise = widths.noise;
  model.make_generator = [widths](ReplicaMemory const& memory, ReplicaBuilder& builder) {
    return std::make_unique<ConvGenerator>(memory, widths, builder);
  };
  model.make_discriminator = [widths](ReplicaMemory const& memory, int64_t rows,
                                      ReplicaBuilder& builder) {
    return std::make_unique<ConvDiscriminator>(memory, widths, rows, builder);
  };
  return model;
}

}  // namespace stepscope::workloads
