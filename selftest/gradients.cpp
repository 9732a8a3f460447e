// Compares the gradients of every layer of a backend with central differences of its forward pass.
// With L = Σ u · y for random u, dL/dx must be (L(x + h) − L(x − h)) / 2h for single elements of x.
#include <algorithm>
#include <cmath>
#include <random>

#include "selftest/selftest.h"
#include "workloads/backend/backend.h"

namespace stepscope::selftest {
namespace {

using namespace workloads;
using Values = std::vector<float>;

/// Elements of each gradient that are checked.
constexpr size_t kElements = 12;
/// Large, because outputs are float: their rounding divided by 2h stays below the tolerance.
constexpr float kStep = 1e-2F;
/// Tolerance, as a share of the largest gradient element: float rounding (TensorFloat-32 on GPUs),
/// and the curvature of normalization over h.
constexpr double kTolerance = 0.01;

/// One layer with its operands: forward from x and w to y; backward from dy to dx and dw.
struct Layer {
  char const* name;
  size_t inputs, weights, biases, outputs;
  bool picks_inputs;  ///< by their order, which a step must not change
  std::function<void(Buffer const& x, Buffer const& w, Buffer const& bias, Buffer const& y)>
      forward;
  /// dx, dw, d_bias; those that the layer has.
  std::function<void(Buffer const& x, Buffer const& w, Buffer const& y, Buffer const& dy,
                     Buffer const& dx, Buffer const& dw, Buffer const& d_bias)>
      backward;
};

class Laboratory {
 public:
  explicit Laboratory(Device& device) : device_(device) {}

  Values random(size_t count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    Values values(std::max<size_t>(1, count));
    for (float& value : values) value = uniform(random_);
    return values;
  }
  /// In random order, no two closer than four steps.
  Values apart(size_t count) {
    Values values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 4 * kStep;
    std::shuffle(values.begin(), values.end(), random_);
    return values;
  }
  Buffer upload(Values const& values) {
    Buffer buffer =
        device_.allocate(values.size() * sizeof(float), MemoryPurpose::kOther, "selftest").value();
    write(buffer, values);
    return buffer;
  }
  void write(Buffer const& to, Values const& values) {
    device_.copy(StreamKind::kCompute, "upload", to.data(), values.data(), to.bytes(),
                 CopyDirection::kHostToDevice);
    device_.synchronize();
  }
  Values download(Buffer const& buffer) {
    Values values(buffer.bytes() / sizeof(float));
    device_.copy(StreamKind::kCompute, "download", values.data(), buffer.data(), buffer.bytes(),
                 CopyDirection::kDeviceToHost);
    device_.synchronize();
    return values;
  }
  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }

 private:
  Device& device_;
  std::mt19937_64 random_{1};
};

/// The operands of a layer, and what it makes of them.
struct Experiment {
  Layer const& layer;
  Laboratory& laboratory;
  Values weighting;  ///< u
  Buffer x, w, bias, y;

  double loss() {
    layer.forward(x, w, bias, y);
    Values const out = laboratory.download(y);
    double sum = 0;
    for (size_t i = 0; i < out.size(); ++i)
      sum += static_cast<double>(out[i]) * static_cast<double>(weighting[i]);
    return sum;
  }
  /// The largest difference between `gradient` and the differences by elements of `at`, relative to
  /// the largest element.
  double error(Values const& gradient, Buffer const& at) {
    Values values = laboratory.download(at);
    double largest = 1e-6;
    for (float const g : gradient) largest = std::max(largest, static_cast<double>(std::fabs(g)));

    double worst = 0;
    for (size_t k = 0; k < kElements; ++k) {
      size_t const i = laboratory.below(values.size());
      float const here = values[i];

      values[i] = here + kStep;
      laboratory.write(at, values);
      double const above = loss();

      values[i] = here - kStep;
      laboratory.write(at, values);
      double const below = loss();

      values[i] = here;
      laboratory.write(at, values);

      double const expected = (above - below) / (2.0 * static_cast<double>(kStep));
      worst = std::max(worst, std::fabs(static_cast<double>(gradient[i]) - expected) / largest);
    }

    return worst;
  }
};

double worst_error(Layer const& layer, Laboratory& laboratory) {
  Experiment experiment{layer,
                        laboratory,
                        laboratory.random(layer.outputs),
                        laboratory.upload(layer.picks_inputs ? laboratory.apart(layer.inputs)
                                                             : laboratory.random(layer.inputs)),
                        laboratory.upload(laboratory.random(layer.weights)),
                        laboratory.upload(laboratory.random(layer.biases)),
                        laboratory.upload(laboratory.random(layer.outputs))};

  Buffer const dy = laboratory.upload(experiment.weighting);
  Buffer const dx = laboratory.upload(Values(layer.inputs, -77.0F));
  Buffer const dw = laboratory.upload(Values(std::max<size_t>(1, layer.weights), -77.0F));
  Buffer const d_bias = laboratory.upload(Values(std::max<size_t>(1, layer.biases), -77.0F));

  experiment.loss();  // pooling goes back to where the last forward pass was
  layer.backward(experiment.x, experiment.w, experiment.y, dy, dx, dw, d_bias);

  double worst = experiment.error(laboratory.download(dx), experiment.x);
  if (layer.weights > 0)
    worst = std::max(worst, experiment.error(laboratory.download(dw), experiment.w));
  if (layer.biases > 0)
    worst = std::max(worst, experiment.error(laboratory.download(d_bias), experiment.bias));

  return worst;
}

size_t size(int64_t count) { return static_cast<size_t>(count); }

base::Expected<Layer> convolution(Device& device) {
  Conv2dShape const s{2, 6, 6, 3, 4, 5, 2, false};
  auto made = device.conv2d("conv", s);
  if (!made) return base::fail_with(made);
  std::shared_ptr<Conv2d> const conv = std::move(*made);

  return Layer{"convolution",
               size(s.batch * s.height * s.width * s.in_channels),
               size(s.out_channels * s.kernel * s.kernel * s.in_channels),
               size(s.out_channels),
               size(s.batch * s.out_height() * s.out_width() * s.out_channels),
               false,
               [conv](auto& x, auto& w, auto& bias, auto& y) {
                 conv->forward(x.floats(), w.floats(), bias.floats(), y.floats());
               },
               [conv](auto& x, auto& w, auto&, auto& dy, auto& dx, auto& dw, auto& d_bias) {
                 conv->backward_data(dy.floats(), w.floats(), dx.floats());
                 conv->backward_weights(x.floats(), dy.floats(), dw.floats(), d_bias.floats());
               }};
}

base::Expected<Layer> dense(Device& device) {
  DenseShape const s{4, 20, 7, false};
  auto made = device.dense("fc", s);
  if (!made) return base::fail_with(made);
  std::shared_ptr<Dense> const fc = std::move(*made);

  return Layer{"fully connected",
               size(s.batch * s.inputs),
               size(s.inputs * s.outputs),
               size(s.outputs),
               size(s.batch * s.outputs),
               false,
               [fc](auto& x, auto& w, auto& bias, auto& y) {
                 fc->forward(x.floats(), w.floats(), bias.floats(), y.floats());
               },
               [fc](auto& x, auto& w, auto&, auto& dy, auto& dx, auto& dw, auto& d_bias) {
                 fc->backward_data(dy.floats(), w.floats(), dx.floats());
                 fc->backward_weights(x.floats(), dy.floats(), dw.floats(), d_bias.floats());
               }};
}

base::Expected<Layer> normalization(Device& device) {
  LrnShape const s{2, 4, 4, 16, 4, 1.0F, 0.05F, 0.75F};
  auto made = device.lrn("norm", s);
  if (!made) return base::fail_with(made);
  std::shared_ptr<Lrn> const norm = std::move(*made);

  size_t const count = size(s.batch * s.height * s.width * s.channels);
  return Layer{"local normalization",
               count,
               0,
               0,
               count,
               false,
               [norm](auto& x, auto&, auto&, auto& y) { norm->forward(x.floats(), y.floats()); },
               [norm](auto& x, auto&, auto&, auto& dy, auto& dx, auto&, auto&) {
                 norm->backward(x.floats(), dy.floats(), dx.floats());
               }};
}

base::Expected<Layer> pooling(Device& device) {
  MaxPoolShape const s{2, 6, 6, 4, 3, 2};
  auto made = device.max_pool("pool", s);
  if (!made) return base::fail_with(made);
  std::shared_ptr<MaxPool> const pool = std::move(*made);

  return Layer{"max pooling",
               size(s.batch * s.height * s.width * s.channels),
               0,
               0,
               size(s.batch * s.out_height() * s.out_width() * s.channels),
               true,
               [pool](auto& x, auto&, auto&, auto& y) { pool->forward(x.floats(), y.floats()); },
               [pool](auto&, auto&, auto&, auto& dy, auto& dx, auto&, auto&) {
                 pool->backward(dy.floats(), dx.floats());
               }};
}

}  // namespace

void check_gradients(std::string const& device, Report const& report) {
  auto const group = open_devices(device, {});
  if (!group) return report({"gradients", Verdict::kFailure, group.error().message, ""});

  Laboratory laboratory(*group->devices.front());
  std::string found;
  double worst = 0;

  for (auto const make : {convolution, dense, normalization, pooling}) {
    auto const layer = make(*group->devices.front());
    if (!layer) return report({"gradients", Verdict::kFailure, layer.error().message, ""});
    double const error = worst_error(*layer, laboratory);

    worst = std::max(worst, error);
    found += fmt::format("{}{} {:.2g}", found.empty() ? "" : ", ", layer->name, error);
  }

  report(
      {"gradients", worst <= kTolerance ? Verdict::kGood : Verdict::kFailure,
       fmt::format("largest difference from finite differences: {} (limit {})", found, kTolerance),
       worst <= kTolerance ? ""
                           : "the device or its libraries compute wrongly: run it again, then test "
                             "the device's memory"});
}

}  // namespace stepscope::selftest
