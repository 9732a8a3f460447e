// A generative adversarial network (Goodfellow et al., NIPS 2014) on MNIST's digits, of fully
// connected layers with leaky ReLU or of convolutions (gan_convolutional.cpp). Slope, tanh and Adam
// with 0.0002 and beta1 0.5 are DCGAN's (Radford, Metz, Chintala, ICLR 2016). From top to bottom:
// the parameters, the samples, the two networks, the discriminator's turn, the generator's turn,
// one device's replica, the whole job. The loop around them: data_parallel.cpp.
#include "workloads/networks/gan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "tracer/api/annotate.h"
#include "workloads/data/mnist_samples.h"
#include "workloads/data/picture_grid.h"
#include "workloads/networks/gan_networks.h"

namespace stepscope::workloads {
namespace {

constexpr auto kPixels = static_cast<int64_t>(kMnistPixels);

// Parameters.

/// In the order of describe_parameters(). The discriminator's come first, as its turn does.
enum ParameterId : size_t {
  kJudge3Weights,
  kJudge3Bias,
  kJudge2Weights,
  kJudge2Bias,
  kJudge1Weights,
  kJudge1Bias,
  kDraw4Weights,
  kDraw4Bias,
  kDraw3Weights,
  kDraw3Bias,
  kDraw2Weights,
  kDraw2Bias,
  kDraw1Weights,
  kDraw1Bias,
  kParameters
};

ParameterLayout describe_parameters(GanWidths const& w) {
  ParameterLayout layout;
  layout.model = fmt::format("gan-{}-{}-{}-{}-against-{}-{}", w.noise, w.generator1, w.generator2,
                             w.generator3, w.discriminator1, w.discriminator2);
  // Of the size that keeps a signal's size through a leaky ReLU (He et al., ICCV 2015, with the
  // slope's share left out).
  auto const add = [&](char const* name, int64_t outputs, int64_t inputs) {
    layout.add({name, outputs, inputs, std::sqrt(1.0 / static_cast<double>(inputs)), 0.0F, 0.0F});
  };
  add("discriminator.fc3", 1, w.discriminator2);
  add("discriminator.fc2", w.discriminator2, w.discriminator1);
  add("discriminator.fc1", w.discriminator1, kPixels);
  add("generator.fc4", kPixels, w.generator3);
  add("generator.fc3", w.generator3, w.generator2);
  add("generator.fc2", w.generator2, w.generator1);
  add("generator.fc1", w.generator1, w.noise);
  return layout;
}

// Samples: a digit and the noise from which another one is drawn.

class GanSamples final : public Samples {
 public:
  GanSamples(MnistImages const& images, int64_t noise)
      : images_(images), noise_(static_cast<size_t>(noise)) {}

  [[nodiscard]] size_t size() const override { return images_.size(); }
  [[nodiscard]] size_t input_bytes() const override { return kMnistPixels * sizeof(float); }
  [[nodiscard]] size_t label_bytes() const override { return noise_ * sizeof(float); }
  void prepare(size_t i, Random random, std::byte* input, std::byte* label) const override {
    auto* const pixels = reinterpret_cast<float*>(input);
    auto const image = images_.image(i);
    std::transform(image.begin(), image.end(), pixels,
                   [](uint8_t grey) { return static_cast<float>(grey) / 127.5F - 1.0F; });
    // Of the seed, the epoch and the image alone: the same whichever device draws from it.
    std::generate_n(reinterpret_cast<float*>(label), noise_, [&] { return random.normal(); });
  }

 private:
  MnistImages const& images_;
  size_t noise_;
};

// The two networks.

class DenseGenerator final : public Generator {
 public:
  DenseGenerator(ReplicaMemory const& memory, GanWidths const& w, ReplicaBuilder& builder)
      : m_(memory) {
    Device& d = *m_.device;
    int64_t const b = m_.batch;
    builder.activation(a_fc1_, b * w.generator1, "generator.fc1");
    builder.activation(a_fc2_, b * w.generator2, "generator.fc2");
    builder.activation(a_fc3_, b * w.generator3, "generator.fc3");
    builder.take(d.dense("generator.fc1", {b, w.noise, w.generator1, false}), fc1_);
    builder.take(d.dense("generator.fc2", {b, w.generator1, w.generator2, false}), fc2_);
    builder.take(d.dense("generator.fc3", {b, w.generator2, w.generator3, false}), fc3_);
    builder.take(d.dense("generator.fc4", {b, w.generator3, kPixels, false}), fc4_);
  }

  void forward(float const* noise, float* images) override {
    Device& d = *m_.device;
    fc1_->forward(noise, m_.w(kDraw1Weights), m_.w(kDraw1Bias), a_fc1_.value.floats());
    leaky_relu(d, "generator.fc1.leaky_relu", a_fc1_);
    fc2_->forward(a_fc1_.value.floats(), m_.w(kDraw2Weights), m_.w(kDraw2Bias),
                  a_fc2_.value.floats());
    leaky_relu(d, "generator.fc2.leaky_relu", a_fc2_);
    fc3_->forward(a_fc2_.value.floats(), m_.w(kDraw3Weights), m_.w(kDraw3Bias),
                  a_fc3_.value.floats());
    leaky_relu(d, "generator.fc3.leaky_relu", a_fc3_);
    fc4_->forward(a_fc3_.value.floats(), m_.w(kDraw4Weights), m_.w(kDraw4Bias), images);
    d.run("generator.tanh", elementwise::Tanh{images}, image_floats());
  }

  void backward(float const* noise, float const* images, float* d_images,
                GradientReducer& reducer) override {
    Device& d = *m_.device;
    d.run("generator.backward.tanh", elementwise::TanhBackward{images, d_images}, image_floats());
    fc4_->backward_weights(a_fc3_.value.floats(), d_images, m_.g(kDraw4Weights), m_.g(kDraw4Bias));
    reducer.ready(kDraw4Bias);
    fc4_->backward_data(d_images, m_.w(kDraw4Weights), a_fc3_.gradient.floats());
    leaky_relu_gradient(d, "generator.fc3.backward.leaky_relu", a_fc3_);
    fc3_->backward_weights(a_fc2_.value.floats(), a_fc3_.gradient.floats(), m_.g(kDraw3Weights),
                           m_.g(kDraw3Bias));
    reducer.ready(kDraw3Bias);
    fc3_->backward_data(a_fc3_.gradient.floats(), m_.w(kDraw3Weights), a_fc2_.gradient.floats());
    leaky_relu_gradient(d, "generator.fc2.backward.leaky_relu", a_fc2_);
    fc2_->backward_weights(a_fc1_.value.floats(), a_fc2_.gradient.floats(), m_.g(kDraw2Weights),
                           m_.g(kDraw2Bias));
    reducer.ready(kDraw2Bias);
    fc2_->backward_data(a_fc2_.gradient.floats(), m_.w(kDraw2Weights), a_fc1_.gradient.floats());
    leaky_relu_gradient(d, "generator.fc1.backward.leaky_relu", a_fc1_);
    fc1_->backward_weights(noise, a_fc1_.gradient.floats(), m_.g(kDraw1Weights), m_.g(kDraw1Bias));
    reducer.ready(kDraw1Bias);
  }

 private:
  [[nodiscard]] size_t image_floats() const { return static_cast<size_t>(m_.batch * kPixels); }

  ReplicaMemory m_;
  std::unique_ptr<Dense> fc1_, fc2_, fc3_, fc4_;
  Activation a_fc1_, a_fc2_, a_fc3_;
};

class DenseDiscriminator final : public Discriminator {
 public:
  DenseDiscriminator(ReplicaMemory const& memory, GanWidths const& w, int64_t rows,
                     ReplicaBuilder& builder)
      : m_(memory) {
    Device& d = *m_.device;
    builder.activation(images, rows * kPixels, "images");
    builder.activation(a_fc1_, rows * w.discriminator1, "discriminator.fc1");
    builder.activation(a_fc2_, rows * w.discriminator2, "discriminator.fc2");
    builder.activation(a_fc3_, rows, "discriminator.fc3");
    builder.buffer(row_results_, rows * 2, "loss");
    builder.take(d.dense("discriminator.fc1", {rows, kPixels, w.discriminator1, false}), fc1_);
    builder.take(d.dense("discriminator.fc2", {rows, w.discriminator1, w.discriminator2, false}),
                 fc2_);
    builder.take(d.dense("discriminator.fc3", {rows, w.discriminator2, 1, false}), fc3_);
  }

  void forward(int64_t real) override {
    Device& d = *m_.device;
    fc1_->forward(images.value.floats(), m_.w(kJudge1Weights), m_.w(kJudge1Bias),
                  a_fc1_.value.floats());
    leaky_relu(d, "discriminator.fc1.leaky_relu", a_fc1_);
    fc2_->forward(a_fc1_.value.floats(), m_.w(kJudge2Weights), m_.w(kJudge2Bias),
                  a_fc2_.value.floats());
    leaky_relu(d, "discriminator.fc2.leaky_relu", a_fc2_);
    fc3_->forward(a_fc2_.value.floats(), m_.w(kJudge3Weights), m_.w(kJudge3Bias),
                  a_fc3_.value.floats());
    judge_loss(m_, a_fc3_, row_results_, real);
  }

  void backward_weights(GradientReducer& reducer) override {
    fc3_->backward_weights(a_fc2_.value.floats(), a_fc3_.gradient.floats(), m_.g(kJudge3Weights),
                           m_.g(kJudge3Bias));
    reducer.ready(kJudge3Bias);
    backward_to_fc2();
    fc2_->backward_weights(a_fc1_.value.floats(), a_fc2_.gradient.floats(), m_.g(kJudge2Weights),
                           m_.g(kJudge2Bias));
    reducer.ready(kJudge2Bias);
    backward_to_fc1();
    fc1_->backward_weights(images.value.floats(), a_fc1_.gradient.floats(), m_.g(kJudge1Weights),
                           m_.g(kJudge1Bias));
    reducer.ready(kJudge1Bias);
  }

  void backward_images() override {
    backward_to_fc2();
    backward_to_fc1();
    fc1_->backward_data(a_fc1_.gradient.floats(), m_.w(kJudge1Weights), images.gradient.floats());
  }

 private:
  void backward_to_fc2() {
    fc3_->backward_data(a_fc3_.gradient.floats(), m_.w(kJudge3Weights), a_fc2_.gradient.floats());
    leaky_relu_gradient(*m_.device, "discriminator.fc2.backward.leaky_relu", a_fc2_);
  }
  void backward_to_fc1() {
    fc2_->backward_data(a_fc2_.gradient.floats(), m_.w(kJudge2Weights), a_fc1_.gradient.floats());
    leaky_relu_gradient(*m_.device, "discriminator.fc1.backward.leaky_relu", a_fc1_);
  }

  ReplicaMemory m_;
  std::unique_ptr<Dense> fc1_, fc2_, fc3_;
  Activation a_fc1_, a_fc2_, a_fc3_;
  Buffer row_results_;  ///< loss and correct of each image
};

// The discriminator's turn: real images and drawn ones in one batch of twice the size.

class DiscriminatorTurn final : public Replica {
 public:
  DiscriminatorTurn(ReplicaMemory const& memory, GanModel const& model, Generator& generator,
                    ReplicaBuilder& builder)
      : m_(memory),
        generator_(generator),
        discriminator_(model.make_discriminator(memory, 2 * memory.batch, builder)) {}

  void forward(InputBuffers const& input) override {
    auto const floats = static_cast<size_t>(m_.batch * kPixels);
    float* const images = discriminator_->images.value.floats();
    m_.device->run("images.real", elementwise::Copy{input.inputs.floats(), images}, floats);
    generator_.forward(input.labels.floats(), images + floats);
    discriminator_->forward(m_.batch);
  }
  void backward(InputBuffers const& /*input*/, GradientReducer& reducer) override {
    discriminator_->backward_weights(reducer);
  }

 private:
  ReplicaMemory m_;
  Generator& generator_;
  std::unique_ptr<Discriminator> discriminator_;
};

// The generator's turn: drawn images that should be taken for real, from the same noise.

class GeneratorTurn final : public Replica {
 public:
  GeneratorTurn(ReplicaMemory const& memory, GanModel const& model, Generator& generator,
                ReplicaBuilder& builder)
      : m_(memory),
        generator_(generator),
        discriminator_(model.make_discriminator(memory, memory.batch, builder)) {}

  void forward(InputBuffers const& input) override {
    generator_.forward(input.labels.floats(), discriminator_->images.value.floats());
    discriminator_->forward(m_.batch);
  }
  void backward(InputBuffers const& input, GradientReducer& reducer) override {
    discriminator_->backward_images();
    generator_.backward(input.labels.floats(), discriminator_->images.value.floats(),
                        discriminator_->images.gradient.floats(), reducer);
  }

 private:
  ReplicaMemory m_;
  Generator& generator_;
  std::unique_ptr<Discriminator> discriminator_;
};

// One device's replica.

class GanReplica final : public Replica {
 public:
  GanReplica(ReplicaMemory const& memory, GanModel const& model, ReplicaBuilder& builder)
      : m_(memory),
        numbers_(model.noise),
        generator_(model.make_generator(memory, builder)),
        discriminator_turn_(memory, model, *generator_, builder),
        generator_turn_(memory, model, *generator_, builder) {
    builder.buffer(noise_, m_.batch * numbers_, "samples.noise");
    builder.buffer(drawn_, m_.batch * kPixels, "samples");
  }
  Replica& in_turn(size_t turn) override {
    if (turn == 0) return discriminator_turn_;
    return generator_turn_;
  }
  void forward(InputBuffers const& input) override { discriminator_turn_.forward(input); }
  void backward(InputBuffers const& input, GradientReducer& reducer) override {
    discriminator_turn_.backward(input, reducer);
  }

  /// `count` images, the same noise for the same seed in every training.
  std::vector<float> draw(size_t count, uint64_t seed);

 private:
  ReplicaMemory m_;
  int64_t numbers_;  ///< of noise, for an image
  std::unique_ptr<Generator> generator_;
  DiscriminatorTurn discriminator_turn_;
  GeneratorTurn generator_turn_;
  Buffer noise_, drawn_;  ///< of draw()
};

std::vector<float> GanReplica::draw(size_t count, uint64_t seed) {
  api::Phase const phase("samples");
  constexpr uint64_t kSampleStream = 0x73'616D;  // apart from the noise of the training
  auto const batch = static_cast<size_t>(m_.batch);
  Device& d = *m_.device;
  std::vector<float> images;
  std::vector<float> noise(noise_.bytes() / sizeof(float)), drawn(drawn_.bytes() / sizeof(float));
  for (size_t first = 0; first < count; first += batch) {
    for (size_t i = 0; i < batch; ++i) {
      Random random = Random::of(seed, kSampleStream, first + i);
      std::generate_n(noise.begin() + static_cast<ptrdiff_t>(i) * numbers_, numbers_,
                      [&] { return random.normal(); });
    }
    d.copy(StreamKind::kCompute, "h2d.noise", noise_.data(), noise.data(), noise_.bytes(),
           CopyDirection::kHostToDevice);
    generator_->forward(noise_.floats(), drawn_.floats());
    d.copy(StreamKind::kCompute, "d2h.samples", drawn.data(), drawn_.data(), drawn_.bytes(),
           CopyDirection::kDeviceToHost);
    d.synchronize(d.record(StreamKind::kCompute));
    size_t const wanted = std::min(batch, count - first) * kMnistPixels;
    images.insert(images.end(), drawn.begin(), drawn.begin() + static_cast<ptrdiff_t>(wanted));
  }
  return images;
}

base::Expected<std::unique_ptr<Replica>> make_replica(ReplicaMemory const& memory,
                                                      GanModel const& model) {
  ReplicaBuilder builder(*memory.device);
  auto replica = std::make_unique<GanReplica>(memory, model, builder);
  if (auto made = builder.result(); !made) return base::fail_with(made);
  return replica;
}

/// Said before the training, not after it.
base::Expected<void> check_samples_path(std::string const& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return {};
  std::error_code ignored;
  fs::path const folder = fs::absolute(path, ignored).parent_path();
  if (fs::is_directory(folder, ignored) && !fs::is_directory(path, ignored)) return {};
  return base::fail("{}: --samples takes a file in a folder that exists", path);
}

}  // namespace

// The whole job.

TrainOptions gan_defaults() {
  TrainOptions defaults;
  defaults.batch = 64;
  defaults.steps = 1000;  // digits can be made out; clean ones need some thousands
  defaults.log_every = 50;
  defaults.learning_rate = 0.0002;
  return defaults;
}

GanModel dense_gan(GanWidths const& widths) {
  GanModel model;
  model.layout = describe_parameters(widths);
  model.discriminator = {kJudge3Weights, kJudge1Bias, "discriminator"};
  model.generator = {kDraw4Weights, kDraw1Bias, "generator"};
  model.noise = widths.noise;
  model.make_generator = [widths](ReplicaMemory const& memory, ReplicaBuilder& builder) {
    return std::make_unique<DenseGenerator>(memory, widths, builder);
  };
  model.make_discriminator = [widths](ReplicaMemory const& memory, int64_t rows,
                                      ReplicaBuilder& builder) {
    return std::make_unique<DenseDiscriminator>(memory, widths, rows, builder);
  };
  return model;
}

base::Expected<GanResult> train_gan(TrainOptions const& o, GanModel const& model,
                                    MnistImages const& images, size_t samples, std::FILE* log) {
  GanSamples const train(images, model.noise);
  GanResult result;
  Network network;
  network.workload = "gan";
  network.label = "noise";
  network.layout = model.layout;
  network.turns = {model.discriminator, model.generator};
  network.make_replica = [&](ReplicaMemory const& memory) { return make_replica(memory, model); };
  network.optimizer.kind = OptimizerSettings::Kind::kAdamW;
  network.optimizer.beta1 = 0.5F;
  network.learning_rate = [&](int64_t, int64_t count) {
    return decayed_learning_rate(o, count / static_cast<int64_t>(train.size()));
  };
  network.train = &train;
  if (samples > 0) {
    network.at_end = [&](Replica& replica) {
      result.samples = dynamic_cast<GanReplica&>(replica).draw(samples, o.seed);
    };
  }
  auto trained = train_data_parallel(o, network, log);
  if (!trained) return base::fail_with(trained);
  result.training = std::move(*trained);
  return result;
}

base::Expected<int> run_gan(std::span<std::string const> arguments) {
  constexpr size_t kSamples = 64, kColumns = 8;
  std::string samples;
  bool convolutional = false;
  OwnOptions own;
  own.defaults = gan_defaults();
  own.change = [&](CLI::App& app) {
    for (char const* const other : {"--no-augment", "--no-evaluate"})
      app.remove_option(app.get_option(other));
    app.add_flag("--conv", convolutional,
                 "networks of convolutions (DCGAN): generator fc, transposed conv 64, 1; "
                 "discriminator conv 64, 128, fc");
    app.add_option("--samples", samples,
                   fmt::format("PNG file for {} digits drawn after the last step", kSamples));
  };
  auto const options = parse_train_options("gan", kGanDescription, arguments, own);
  if (!options) return base::fail_with(options);
  if (!*options) return 0;  // --help
  TrainOptions const& o = **options;
  if (auto possible = check_samples_path(samples); !possible) return base::fail_with(possible);
  auto const data = load_mnist(o.data);
  if (!data) return base::fail_with(data);
  GanModel const model = convolutional ? convolutional_gan({}) : dense_gan({});
  auto const result =
      train_gan(o, model, data->train, samples.empty() ? 0 : kSamples, o.json ? stderr : stdout);
  if (!result) return base::fail_with(result);
  if (!samples.empty() && !result->samples.empty()) {
    if (auto written = write_picture_grid(samples, result->samples, kMnistSide, kColumns); !written)
      return base::fail_with(written);
    fmt::print(o.json ? stderr : stdout, "{} digits drawn: {}\n", kSamples, samples);
  }
  return finish_training("gan", o, result->training);
}

}  // namespace stepscope::workloads
