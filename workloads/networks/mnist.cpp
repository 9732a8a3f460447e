// MNIST: the network of TensorFlow's introduction to convolutional networks
// (tensorflow.org/tutorials/images/cnn) on MNIST's digits. It has 3 × 3 convolutions of 32, 64 and
// 64 channels, 2 × 2 max-pooling after the first two, 64 hidden units and Adam. Unlike there,
// convolutions are padded. From top to bottom: the parameters, one device's replica, forward,
// backward, the whole job. The loop around them: data_parallel.cpp.
#include "workloads/networks/mnist.h"

#include <cmath>

#include "workloads/data/mnist_samples.h"
#include "workloads/training/data_parallel.h"
#include "workloads/training/loss.h"
#include "workloads/training/replica_builder.h"

namespace stepscope::workloads {
namespace {

constexpr auto kSide = static_cast<int64_t>(kMnistSide);
constexpr int64_t kPooled1 = kSide / 2;  // after the first pooling
constexpr int64_t kPooled2 = kSide / 4;  // after the second
constexpr int64_t kKernel = 3, kPadding = 1;

// Parameters.

/// In the order of describe_parameters().
enum ParameterId : size_t {
  kFc2Weights,
  kFc2Bias,
  kFc1Weights,
  kFc1Bias,
  kConv3Weights,
  kConv3Bias,
  kConv2Weights,
  kConv2Bias,
  kConv1Weights,
  kConv1Bias,
  kParameters
};

ParameterLayout describe_parameters(MnistWidths const& w) {
  ParameterLayout layout;
  layout.model = fmt::format("mnist-conv{}-conv{}-conv{}-fc{}", w.conv1, w.conv2, w.conv3, w.fc1);

  // He initialisation (He et al., ICCV 2015): ReLU then keeps the activations' size from layer to
  // layer.
  auto const add = [&](char const* name, int64_t outputs, int64_t inputs) {
    layout.add({name, outputs, inputs, std::sqrt(2.0 / static_cast<double>(inputs)), 0.0F, 0.0F});
  };

  constexpr int64_t kWindow = kKernel * kKernel;
  add("fc2", kMnistClasses, w.fc1);
  add("fc1", w.fc1, kPooled2 * kPooled2 * w.conv3);
  add("conv3", w.conv3, kWindow * w.conv2);
  add("conv2", w.conv2, kWindow * w.conv1);
  add("conv1", w.conv1, kWindow);

  return layout;
}

// One device's replica.

class MnistReplica final : public Replica {
 public:
  MnistReplica(ReplicaMemory const& memory, MnistWidths const& widths)
      : m_(memory), widths_(widths) {}

  base::Expected<void> make();
  void forward(InputBuffers const& input) override;
  void backward(InputBuffers const& input, GradientReducer& reducer) override;

 private:
  void relu_gradient(char const* name, Activation const& a) {
    m_.device->run(name, elementwise::ReluBackward{a.value.floats(), a.gradient.floats()},
                   a.value.bytes() / sizeof(float));
  }

  ReplicaMemory m_;
  MnistWidths widths_;
  std::unique_ptr<Conv2d> conv1_, conv2_, conv3_;
  std::unique_ptr<MaxPool> pool1_, pool2_;
  std::unique_ptr<Dense> fc1_, fc2_;
  Activation a_conv1_, a_pool1_, a_conv2_, a_pool2_, a_conv3_, a_fc1_, a_fc2_;
  Buffer row_results_;  ///< loss and correct of each image
};

base::Expected<void> MnistReplica::make() {
  Device& d = *m_.device;
  int64_t const b = m_.batch;
  MnistWidths const& w = widths_;
  ReplicaBuilder builder(d);

  builder.activation(a_conv1_, b * kSide * kSide * w.conv1, "conv1");
  builder.activation(a_pool1_, b * kPooled1 * kPooled1 * w.conv1, "pool1");
  builder.activation(a_conv2_, b * kPooled1 * kPooled1 * w.conv2, "conv2");
  builder.activation(a_pool2_, b * kPooled2 * kPooled2 * w.conv2, "pool2");
  builder.activation(a_conv3_, b * kPooled2 * kPooled2 * w.conv3, "conv3");
  builder.activation(a_fc1_, b * w.fc1, "fc1");
  builder.activation(a_fc2_, b * kMnistClasses, "fc2");
  builder.buffer(row_results_, b * 2, "loss");
  if (auto made = builder.result(); !made) return made;

  builder.take(d.conv2d("conv1", {b, kSide, kSide, 1, w.conv1, kKernel, kPadding, true}), conv1_);
  builder.take(d.max_pool("pool1", {b, kSide, kSide, w.conv1, 2, 2}), pool1_);
  builder.take(
      d.conv2d("conv2", {b, kPooled1, kPooled1, w.conv1, w.conv2, kKernel, kPadding, true}),
      conv2_);
  builder.take(d.max_pool("pool2", {b, kPooled1, kPooled1, w.conv2, 2, 2}), pool2_);
  builder.take(
      d.conv2d("conv3", {b, kPooled2, kPooled2, w.conv2, w.conv3, kKernel, kPadding, true}),
      conv3_);
  builder.take(d.dense("fc1", {b, kPooled2 * kPooled2 * w.conv3, w.fc1, true}), fc1_);
  builder.take(d.dense("fc2", {b, w.fc1, kMnistClasses, false}), fc2_);
  return builder.result();
}

// Forward, backward.

void MnistReplica::forward(InputBuffers const& input) {
  conv1_->forward(input.inputs.floats(), m_.w(kConv1Weights), m_.w(kConv1Bias),
                  a_conv1_.value.floats());
  pool1_->forward(a_conv1_.value.floats(), a_pool1_.value.floats());

  conv2_->forward(a_pool1_.value.floats(), m_.w(kConv2Weights), m_.w(kConv2Bias),
                  a_conv2_.value.floats());
  pool2_->forward(a_conv2_.value.floats(), a_pool2_.value.floats());

  conv3_->forward(a_pool2_.value.floats(), m_.w(kConv3Weights), m_.w(kConv3Bias),
                  a_conv3_.value.floats());

  fc1_->forward(a_conv3_.value.floats(), m_.w(kFc1Weights), m_.w(kFc1Bias), a_fc1_.value.floats());
  fc2_->forward(a_fc1_.value.floats(), m_.w(kFc2Weights), m_.w(kFc2Bias), a_fc2_.value.floats());

  softmax_cross_entropy(*m_.device,
                        {m_.batch, kMnistClasses, a_fc2_.value.floats(), input.labels.ints(),
                         a_fc2_.gradient.floats(), row_results_.floats(), m_.result});
}

void MnistReplica::backward(InputBuffers const& input, GradientReducer& reducer) {
  fc2_->backward_weights(a_fc1_.value.floats(), a_fc2_.gradient.floats(), m_.g(kFc2Weights),
                         m_.g(kFc2Bias));
  reducer.ready(kFc2Bias);
  fc2_->backward_data(a_fc2_.gradient.floats(), m_.w(kFc2Weights), a_fc1_.gradient.floats());
  relu_gradient("fc1.backward.relu", a_fc1_);

  fc1_->backward_weights(a_conv3_.value.floats(), a_fc1_.gradient.floats(), m_.g(kFc1Weights),
                         m_.g(kFc1Bias));
  reducer.ready(kFc1Bias);
  fc1_->backward_data(a_fc1_.gradient.floats(), m_.w(kFc1Weights), a_conv3_.gradient.floats());
  relu_gradient("conv3.backward.relu", a_conv3_);

  conv3_->backward_weights(a_pool2_.value.floats(), a_conv3_.gradient.floats(), m_.g(kConv3Weights),
                           m_.g(kConv3Bias));
  reducer.ready(kConv3Bias);
  conv3_->backward_data(a_conv3_.gradient.floats(), m_.w(kConv3Weights),
                        a_pool2_.gradient.floats());

  // The ReLU gradients of conv1 and conv2 are taken after the pooling: a window's maximum is
  // positive exactly where the pooled value is, and only maxima have a gradient. A quarter of the
  // elements, the same result.
  relu_gradient("conv2.backward.relu", a_pool2_);
  pool2_->backward(a_pool2_.gradient.floats(), a_conv2_.gradient.floats());

  conv2_->backward_weights(a_pool1_.value.floats(), a_conv2_.gradient.floats(), m_.g(kConv2Weights),
                           m_.g(kConv2Bias));
  reducer.ready(kConv2Bias);
  conv2_->backward_data(a_conv2_.gradient.floats(), m_.w(kConv2Weights),
                        a_pool1_.gradient.floats());

  relu_gradient("conv1.backward.relu", a_pool1_);
  pool1_->backward(a_pool1_.gradient.floats(), a_conv1_.gradient.floats());
  conv1_->backward_weights(input.inputs.floats(), a_conv1_.gradient.floats(), m_.g(kConv1Weights),
                           m_.g(kConv1Bias));
  reducer.ready(kConv1Bias);
}

base::Expected<std::unique_ptr<Replica>> make_replica(ReplicaMemory const& memory,
                                                      MnistWidths const& widths) {
  auto replica = std::make_unique<MnistReplica>(memory, widths);
  if (auto made = replica->make(); !made) return base::fail_with(made);
  return replica;
}

}  // namespace

// The whole job.

TrainOptions mnist_defaults() {
  TrainOptions defaults;
  defaults.learning_rate = 0.001;  // Adam's usual one
  return defaults;
}

base::Expected<TrainingResult> train_mnist(TrainOptions const& o, MnistWidths const& widths,
                                           MnistDataSet const& data, std::FILE* log) {
  MnistSamples const train(data.train, o.augment), test(data.test, false);

  Network network;
  network.workload = "mnist";
  network.layout = describe_parameters(widths);
  network.make_replica = [&](ReplicaMemory const& memory) { return make_replica(memory, widths); };

  network.optimizer.kind = OptimizerSettings::Kind::kAdamW;
  network.learning_rate = [&](int64_t, int64_t samples) {
    return decayed_learning_rate(o, samples / static_cast<int64_t>(train.size()));
  };

  network.train = &train;
  network.test = &test;

  return train_data_parallel(o, network, log);
}

base::Expected<int> run_mnist(std::span<std::string const> arguments) {
  auto const options =
      parse_train_options("mnist", kMnistDescription, arguments, {mnist_defaults(), {}});
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  TrainOptions const& o = **options;

  auto const data = load_mnist(o.data);
  if (!data) return base::fail_with(data);

  auto const result = train_mnist(o, {}, *data, o.json ? stderr : stdout);
  if (!result) return base::fail_with(result);
  return finish_training("mnist", o, *result);
}

}  // namespace stepscope::workloads
