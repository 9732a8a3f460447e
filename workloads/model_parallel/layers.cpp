// The layers of a network that is cut into stages; see layers.h.
#include "workloads/model_parallel/layers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stepscope::workloads {
namespace {

// Layers.

/// Fully connected or convolution, with a ReLU or without: both have the same interface.
template <class Layer>
class WeightedLayer final : public SplitLayer {
 public:
  WeightedLayer(LayerMemory const& memory, std::string const& name, std::unique_ptr<Layer> layer,
                bool relu, int64_t outputs)
      : m_(memory),
        relu_name_(name + ".backward.relu"),
        layer_(std::move(layer)),
        relu_(relu),
        elements_(static_cast<size_t>(memory.samples * outputs)) {}

  void forward(size_t /*slot*/, float const* x, float* y) override {
    layer_->forward(x, m_.weights, m_.bias, y);
  }
  void backward(size_t /*slot*/, float const* x, float const* y, float* dy, float* dx) override {
    if (relu_) m_.device->run(relu_name_.c_str(), elementwise::ReluBackward{y, dy}, elements_);
    layer_->backward_weights(x, dy, m_.d_weights, m_.d_bias);
    if (dx != nullptr) layer_->backward_data(dy, m_.weights, dx);
  }

 private:
  LayerMemory m_;
  std::string relu_name_;
  std::unique_ptr<Layer> layer_;
  bool relu_;
  size_t elements_;
};

/// Each micro-batch has a pooling, or a normalisation, of its own: they keep what their last
/// forward pass found.
class PoolLayer final : public SplitLayer {
 public:
  explicit PoolLayer(std::vector<std::unique_ptr<MaxPool>> pools) : pools_(std::move(pools)) {}
  void forward(size_t slot, float const* x, float* y) override { pools_[slot]->forward(x, y); }
  void backward(size_t slot, float const* /*x*/, float const* /*y*/, float* dy,
                float* dx) override {
    if (dx != nullptr) pools_[slot]->backward(dy, dx);
  }

 private:
  std::vector<std::unique_ptr<MaxPool>> pools_;
};

class NormLayer final : public SplitLayer {
 public:
  explicit NormLayer(std::vector<std::unique_ptr<Lrn>> norms) : norms_(std::move(norms)) {}
  void forward(size_t slot, float const* x, float* y) override { norms_[slot]->forward(x, y); }
  void backward(size_t slot, float const* x, float const* /*y*/, float* dy, float* dx) override {
    if (dx != nullptr) norms_[slot]->backward(x, dy, dx);
  }

 private:
  std::vector<std::unique_ptr<Lrn>> norms_;
};

// Their descriptions.

class NetworkBuilder {
 public:
  NetworkBuilder(std::string name, float learning_rate, bool input_gradient) {
    network_ = {std::move(name), {}, learning_rate, input_gradient};
  }

  void dense(std::string const& name, int64_t inputs, int64_t outputs, bool relu, double deviation,
             float bias, float decay) {
    LayerDescription layer =
        described(name, inputs, outputs, 2.0 * static_cast<double>(inputs * outputs));

    layer.parameters = {"", outputs, inputs, deviation, bias, decay};
    layer.fully_connected = true;
    layer.relu = relu;

    layer.make = [=](LayerMemory const& m) -> Expected<std::unique_ptr<SplitLayer>> {
      auto made = m.device->dense(name, {m.samples, inputs, outputs, relu});
      if (!made) return base::fail_with(made);
      return std::make_unique<WeightedLayer<Dense>>(m, name, std::move(*made), relu, outputs);
    };

    network_.layers.push_back(std::move(layer));
  }
  /// 5 × 5, "same" padding, ReLU.
  void conv(std::string const& name, int64_t side, int64_t in, int64_t out, double deviation,
            float bias) {
    constexpr int64_t kKernel = 5;
    constexpr int64_t kPadding = 2;
    int64_t const outputs = side * side * out;
    int64_t const weights_of_output = kKernel * kKernel * in;

    // Fewer input channels leave vector units empty: 3 take as long as 9 would (measured on host
    // devices).
    constexpr int64_t kFullChannels = 9;
    int64_t const operations = 2 * outputs * kKernel * kKernel * std::max(in, kFullChannels);

    LayerDescription layer =
        described(name, side * side * in, outputs, static_cast<double>(operations));
    layer.parameters = {"", out, weights_of_output, deviation, bias, 0.0F};

    layer.make = [=](LayerMemory const& m) -> Expected<std::unique_ptr<SplitLayer>> {
      auto made = m.device->conv2d(name, {m.samples, side, side, in, out, kKernel, kPadding, true});
      if (!made) return base::fail_with(made);
      return std::make_unique<WeightedLayer<Conv2d>>(m, name, std::move(*made), true, outputs);
    };

    network_.layers.push_back(std::move(layer));
  }
  /// 3 × 3, stride 2.
  void pool(std::string const& name, int64_t side, int64_t channels) {
    constexpr double kPerInput =
        45;  // as long as so many operations of a convolution, measured on host devices
    int64_t const inputs = side * side * channels;
    LayerDescription layer = {.name = name,
                              .inputs = inputs,
                              .outputs = inputs / 4,
                              .cost = kPerInput * static_cast<double>(inputs)};

    layer.make = [=](LayerMemory const& m) -> Expected<std::unique_ptr<SplitLayer>> {
      std::vector<std::unique_ptr<MaxPool>> pools;
      for (size_t slot = 0; slot < m.slots; ++slot) {
        auto made = m.device->max_pool(name, {m.samples, side, side, channels, 3, 2});
        if (!made) return base::fail_with(made);
        pools.push_back(std::move(*made));
      }
      return std::make_unique<PoolLayer>(std::move(pools));
    };

    network_.layers.push_back(std::move(layer));
  }
  void norm(std::string const& name, int64_t side, int64_t channels) {
    constexpr double kPerInput = 135;  // likewise
    int64_t const inputs = side * side * channels;
    LayerDescription layer = {.name = name,
                              .inputs = inputs,
                              .outputs = inputs,
                              .cost = kPerInput * static_cast<double>(inputs)};

    layer.make = [=](LayerMemory const& m) -> Expected<std::unique_ptr<SplitLayer>> {
      std::vector<std::unique_ptr<Lrn>> norms;
      for (size_t slot = 0; slot < m.slots; ++slot) {
        auto made =
            m.device->lrn(name, {m.samples, side, side, channels, 4, 1.0F, 0.001F / 9.0F, 0.75F});
        if (!made) return base::fail_with(made);
        norms.push_back(std::move(*made));
      }
      return std::make_unique<NormLayer>(std::move(norms));
    };

    network_.layers.push_back(std::move(layer));
  }
  LayeredNetwork build() { return std::move(network_); }

 private:
  /// Backward costs as much as forward for the weights, and again for the input's gradient.
  [[nodiscard]] LayerDescription described(std::string const& name, int64_t inputs, int64_t outputs,
                                           double forward_flops) const {
    bool const is_input = network_.layers.empty() && !network_.input_gradient;
    return {.name = name,
            .inputs = inputs,
            .outputs = outputs,
            .cost = forward_flops * (is_input ? 2.0 : 3.0)};
  }

  LayeredNetwork network_;
};

/// Keeps the size of activations and gradients through layers of ReLUs (He et al., ICCV 2015).
double he_deviation(int64_t inputs) { return std::sqrt(2.0 / static_cast<double>(inputs)); }

}  // namespace

LayeredNetwork describe_mlp(int64_t inputs, int64_t classes, MlpShape const& shape) {
  constexpr float kLearningRate = 0.02F;
  NetworkBuilder network(fmt::format("mlp-{}x{}", shape.layers, shape.width), kLearningRate, true);

  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    int64_t const from = layer == 0 ? inputs : shape.width;
    network.dense(fmt::format("fc{}", layer + 1), from, shape.width, true, he_deviation(from), 0.0F,
                  0.0F);
  }

  network.dense("classes", shape.width, classes, false, 1.0 / static_cast<double>(shape.width),
                0.0F, 0.0F);
  return network.build();
}

LayeredNetwork describe_cnn(int64_t side, int64_t channels, int64_t classes,
                            CnnShape const& shape) {
  constexpr float kLearningRate = 0.1F;
  constexpr float kFcDecay = 0.004F;
  NetworkBuilder network(fmt::format("cnn-conv{}-fc{}-fc{}", shape.conv, shape.fc1, shape.fc2),
                         kLearningRate, false);
  int64_t const flat = side / 4 * (side / 4) * shape.conv;

  network.conv("conv1", side, channels, shape.conv, 0.05, 0.0F);
  network.pool("pool1", side, shape.conv);
  network.norm("norm1", side / 2, shape.conv);
  network.conv("conv2", side / 2, shape.conv, shape.conv, 0.05, 0.1F);
  network.norm("norm2", side / 2, shape.conv);
  network.pool("pool2", side / 2, shape.conv);

  network.dense("fc1", flat, shape.fc1, true, 0.04, 0.1F, kFcDecay);
  network.dense("fc2", shape.fc1, shape.fc2, true, 0.04, 0.1F, kFcDecay);
  network.dense("fc3", shape.fc2, classes, false, 1.0 / static_cast<double>(shape.fc2), 0.0F, 0.0F);

  return network.build();
}

}  // namespace stepscope::workloads
