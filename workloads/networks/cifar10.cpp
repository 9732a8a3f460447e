// CIFAR-10: the network of TensorFlow's convolutional tutorial, trained data-parallel,
// synchronously or not. Source of the network and of its constants: "Convolutional Neural Networks"
// (tensorflow.org tutorials, models/tutorials/image/cifar10). From top to bottom: the parameters,
// one device's replica, forward, backward, the whole job. The loop around them: data_parallel.cpp.
#include "workloads/networks/cifar10.h"

#include <CLI/CLI.hpp>

#include "mpi/launch.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/data/cifar10_samples.h"
#include "workloads/training/data_parallel.h"
#include "workloads/training/loss.h"
#include "workloads/training/replica_builder.h"

namespace stepscope::workloads {
namespace {

constexpr int64_t kSide = kCropSide;     // 24 × 24 images
constexpr int64_t kPooled1 = kSide / 2;  // after the first pooling
constexpr int64_t kPooled2 = kSide / 4;  // after the second
constexpr float kFcDecay =
    0.004F;  // weight decay of the two hidden fully connected layers, as in the tutorial
constexpr int64_t kLrnRadius = 4;
constexpr float kLrnBias = 1.0F, kLrnAlpha = 0.001F / 9.0F, kLrnBeta = 0.75F;

// Parameters.

/// In the order of describe_parameters().
enum ParameterId : size_t {
  kFc3Weights,
  kFc3Bias,
  kFc2Weights,
  kFc2Bias,
  kFc1Weights,
  kFc1Bias,
  kConv2Weights,
  kConv2Bias,
  kConv1Weights,
  kConv1Bias,
  kParameters
};

ParameterLayout describe_parameters(Cifar10Widths const& w) {
  ParameterLayout layout;
  layout.model = fmt::format("cifar10-conv{}-fc{}-fc{}", w.conv, w.fc1, w.fc2);
  // Deviations and initial biases are the tutorial's.
  layout.add({"fc3", kCifarClasses, w.fc2, 1.0 / static_cast<double>(w.fc2), 0.0F, 0.0F});
  layout.add({"fc2", w.fc2, w.fc1, 0.04, 0.1F, kFcDecay});
  layout.add({"fc1", w.fc1, kPooled2 * kPooled2 * w.conv, 0.04, 0.1F, kFcDecay});
  layout.add({"conv2", w.conv, 25 * w.conv, 0.05, 0.1F, 0.0F});
  layout.add({"conv1", w.conv, 25 * 3, 0.05, 0.0F, 0.0F});
  return layout;
}

// One device's replica.

class CifarReplica final : public Replica {
 public:
  CifarReplica(ReplicaMemory const& memory, Cifar10Widths const& widths)
      : m_(memory), widths_(widths) {}

  base::Expected<void> make_memory();
  base::Expected<void> make_layers();
  void forward(InputBuffers const& input) override;
  void backward(InputBuffers const& input, GradientReducer& reducer) override;

 private:
  void relu_gradient(char const* name, Activation const& a) {
    m_.device->run(name, elementwise::ReluBackward{a.value.floats(), a.gradient.floats()},
                   a.value.bytes() / sizeof(float));
  }

  ReplicaMemory m_;
  Cifar10Widths widths_;
  std::unique_ptr<Conv2d> conv1_, conv2_;
  std::unique_ptr<MaxPool> pool1_, pool2_;
  std::unique_ptr<Lrn> norm1_, norm2_;
  std::unique_ptr<Dense> fc1_, fc2_, fc3_;
  Activation a_conv1_, a_pool1_, a_norm1_, a_conv2_, a_norm2_, a_pool2_, a_fc1_, a_fc2_, a_fc3_;
  Buffer row_results_;  ///< loss and correct of each image
};

base::Expected<void> CifarReplica::make_layers() {
  Device& d = *m_.device;
  int64_t const b = m_.batch;
  int64_t const c = widths_.conv;
  ReplicaBuilder builder(d);

  builder.take(d.conv2d("conv1", {b, kSide, kSide, 3, c, 5, 2, true}), conv1_);
  builder.take(d.max_pool("pool1", {b, kSide, kSide, c, 3, 2}), pool1_);
  builder.take(
      d.lrn("norm1", {b, kPooled1, kPooled1, c, kLrnRadius, kLrnBias, kLrnAlpha, kLrnBeta}),
      norm1_);

  builder.take(d.conv2d("conv2", {b, kPooled1, kPooled1, c, c, 5, 2, true}), conv2_);
  builder.take(
      d.lrn("norm2", {b, kPooled1, kPooled1, c, kLrnRadius, kLrnBias, kLrnAlpha, kLrnBeta}),
      norm2_);
  builder.take(d.max_pool("pool2", {b, kPooled1, kPooled1, c, 3, 2}), pool2_);

  builder.take(d.dense("fc1", {b, kPooled2 * kPooled2 * c, widths_.fc1, true}), fc1_);
  builder.take(d.dense("fc2", {b, widths_.fc1, widths_.fc2, true}), fc2_);
  builder.take(d.dense("fc3", {b, widths_.fc2, kCifarClasses, false}), fc3_);

  return builder.result();
}

base::Expected<void> CifarReplica::make_memory() {
  ReplicaBuilder builder(*m_.device);
  int64_t const channels = m_.batch * widths_.conv;

  builder.activation(a_conv1_, channels * kSide * kSide, "conv1");
  builder.activation(a_pool1_, channels * kPooled1 * kPooled1, "pool1");
  builder.activation(a_norm1_, channels * kPooled1 * kPooled1, "norm1");
  builder.activation(a_conv2_, channels * kPooled1 * kPooled1, "conv2");
  builder.activation(a_norm2_, channels * kPooled1 * kPooled1, "norm2");
  builder.activation(a_pool2_, channels * kPooled2 * kPooled2, "pool2");
  builder.activation(a_fc1_, m_.batch * widths_.fc1, "fc1");
  builder.activation(a_fc2_, m_.batch * widths_.fc2, "fc2");
  builder.activation(a_fc3_, m_.batch * kCifarClasses, "fc3");
  builder.buffer(row_results_, m_.batch * 2, "loss");

  return builder.result();
}

// Forward, backward.

void CifarReplica::forward(InputBuffers const& input) {
  conv1_->forward(input.inputs.floats(), m_.w(kConv1Weights), m_.w(kConv1Bias),
                  a_conv1_.value.floats());
  pool1_->forward(a_conv1_.value.floats(), a_pool1_.value.floats());
  norm1_->forward(a_pool1_.value.floats(), a_norm1_.value.floats());

  conv2_->forward(a_norm1_.value.floats(), m_.w(kConv2Weights), m_.w(kConv2Bias),
                  a_conv2_.value.floats());
  norm2_->forward(a_conv2_.value.floats(), a_norm2_.value.floats());
  pool2_->forward(a_norm2_.value.floats(), a_pool2_.value.floats());

  fc1_->forward(a_pool2_.value.floats(), m_.w(kFc1Weights), m_.w(kFc1Bias), a_fc1_.value.floats());
  fc2_->forward(a_fc1_.value.floats(), m_.w(kFc2Weights), m_.w(kFc2Bias), a_fc2_.value.floats());
  fc3_->forward(a_fc2_.value.floats(), m_.w(kFc3Weights), m_.w(kFc3Bias), a_fc3_.value.floats());

  softmax_cross_entropy(*m_.device,
                        {m_.batch, kCifarClasses, a_fc3_.value.floats(), input.labels.ints(),
                         a_fc3_.gradient.floats(), row_results_.floats(), m_.result});
}

void CifarReplica::backward(InputBuffers const& input, GradientReducer& reducer) {
  fc3_->backward_weights(a_fc2_.value.floats(), a_fc3_.gradient.floats(), m_.g(kFc3Weights),
                         m_.g(kFc3Bias));
  reducer.ready(kFc3Bias);
  fc3_->backward_data(a_fc3_.gradient.floats(), m_.w(kFc3Weights), a_fc2_.gradient.floats());
  relu_gradient("fc2.backward.relu", a_fc2_);

  fc2_->backward_weights(a_fc1_.value.floats(), a_fc2_.gradient.floats(), m_.g(kFc2Weights),
                         m_.g(kFc2Bias));
  reducer.ready(kFc2Bias);
  fc2_->backward_data(a_fc2_.gradient.floats(), m_.w(kFc2Weights), a_fc1_.gradient.floats());
  relu_gradient("fc1.backward.relu", a_fc1_);

  fc1_->backward_weights(a_pool2_.value.floats(), a_fc1_.gradient.floats(), m_.g(kFc1Weights),
                         m_.g(kFc1Bias));
  reducer.ready(kFc1Bias);
  fc1_->backward_data(a_fc1_.gradient.floats(), m_.w(kFc1Weights), a_pool2_.gradient.floats());

  pool2_->backward(a_pool2_.gradient.floats(), a_norm2_.gradient.floats());
  norm2_->backward(a_conv2_.value.floats(), a_norm2_.gradient.floats(), a_conv2_.gradient.floats());
  relu_gradient("conv2.backward.relu", a_conv2_);

  conv2_->backward_weights(a_norm1_.value.floats(), a_conv2_.gradient.floats(), m_.g(kConv2Weights),
                           m_.g(kConv2Bias));
  reducer.ready(kConv2Bias);
  conv2_->backward_data(a_conv2_.gradient.floats(), m_.w(kConv2Weights),
                        a_norm1_.gradient.floats());

  norm1_->backward(a_pool1_.value.floats(), a_norm1_.gradient.floats(), a_pool1_.gradient.floats());
  // conv1's ReLU gradient is taken after the pooling: a window's maximum is positive exactly where
  // the pooled value is, and only maxima have a gradient. A quarter of the elements, the same
  // result.
  relu_gradient("conv1.backward.relu", a_pool1_);
  pool1_->backward(a_pool1_.gradient.floats(), a_conv1_.gradient.floats());
  conv1_->backward_weights(input.inputs.floats(), a_conv1_.gradient.floats(), m_.g(kConv1Weights),
                           m_.g(kConv1Bias));

  reducer.ready(kConv1Bias);
}

// The whole job.

base::Expected<std::unique_ptr<Replica>> make_replica(ReplicaMemory const& memory,
                                                      Cifar10Widths const& widths) {
  auto replica = std::make_unique<CifarReplica>(memory, widths);
  if (auto made = replica->make_memory(); !made) return base::fail_with(made);
  if (auto made = replica->make_layers(); !made) return base::fail_with(made);
  return replica;
}

}  // namespace

base::Expected<TrainingResult> train_cifar10(TrainOptions const& o, Cifar10Widths const& widths,
                                             CifarDataSet const& data, std::FILE* log) {
  CifarSamples const train(data.train, o.augment), test(data.test, false);

  Network network;
  network.workload = "cifar10";
  network.layout = describe_parameters(widths);
  network.make_replica = [&](ReplicaMemory const& memory) { return make_replica(memory, widths); };

  network.learning_rate = [&](int64_t, int64_t samples) {
    return decayed_learning_rate(o, samples / static_cast<int64_t>(train.size()));
  };

  network.train = &train;
  network.test = &test;

  return train_data_parallel(o, network, log);
}

base::Expected<void> make_asynchronous(TrainOptions& o) {
  if (mpi::launch_from_environment()) {
    return base::fail(
        "run cifar10: --mode async: the shared weights are in one process, start it without mpirun "
        "or srun");
  }

  if (o.checkpoint_every > 0) {
    return base::fail(
        "run cifar10: --mode async: devices are at different steps until the end, there is no "
        "common state to save every {} steps: leave out --checkpoint-every, --checkpoint saves at "
        "the end",
        o.checkpoint_every);
  }

  o.update = UpdateKind::kShared;
  o.check_replicas = 0;  // each device has the weights of its own last update
  return {};
}

base::Expected<int> run_cifar10(std::span<std::string const> arguments) {
  std::string mode = "sync";
  OwnOptions own;
  own.change = [&mode](CLI::App& app) {
    app.add_option(
           "--mode", mode,
           "sync: one update a step with the mean of all devices' gradients; async: shared "
           "weights on the first device, which each device updates with its own gradients alone")
        ->check(CLI::IsMember({"sync", "async"}));
  };

  auto const options = parse_train_options("cifar10", kCifar10Description, arguments, own);
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  TrainOptions o = **options;

  if (mode == "async") {
    if (auto possible = make_asynchronous(o); !possible) return base::fail_with(possible);
  }

  // The tutorial trains for hundreds of epochs; the generated set is learned in three.
  if (o.decay_epochs == 0) o.decay_epochs = o.data.empty() ? 1 : 350;
  std::string folder = o.data;
  if (folder.empty()) {
    auto generated = generated_cifar_folder({});
    if (!generated) return base::fail_with(generated);
    folder = *generated;
  }

  auto const data = read_cifar_folder(folder);
  if (!data) return base::fail_with(data);

  auto const result = train_cifar10(o, {}, *data, o.json ? stderr : stdout);
  if (!result) return base::fail_with(result);
  return finish_training("cifar10", o, *result);
}

}  // namespace stepscope::workloads
