// Every layer of the host backend: its output against a naive twin in double, its gradients against
// finite differences of that twin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/unit/workloads/backend/host/host_device_test.h"
#include "tests/unit/workloads/reference.h"
#include "workloads/backend/backend.h"
#include "workloads/backend/host/plain_lrn.h"
#include "workloads/networks/transposed_conv2d.h"
#include "workloads/training/loss.h"

namespace stepscope::workloads {
namespace {

using reference::Values;
using testing::HostDeviceTest;

class Layers : public HostDeviceTest {
 protected:
  void check_conv2d(Conv2dShape s);
  void check_transposed_conv2d(Conv2dShape const& s);
  void check_dense(DenseShape s);
};

void Layers::check_conv2d(Conv2dShape s) {
  s.relu = false;
  auto const layer = device_.conv2d("conv", s).value();
  Values const x = random(static_cast<size_t>(s.batch * s.height * s.width * s.in_channels));
  Values const w =
      random(static_cast<size_t>(s.out_channels * s.kernel * s.kernel * s.in_channels), 0.2F);
  Values const b = random(static_cast<size_t>(s.out_channels));
  Values const expected = reference::conv2d(s, x, w, b);
  Values const dy = random(expected.size());
  Buffer const dev_x = upload(x), dev_w = upload(w), dev_b = upload(b), dev_dy = upload(dy);
  Buffer const y = empty(expected.size()), dx = empty(x.size()), dw = empty(w.size()),
               db = empty(b.size());

  layer->forward(dev_x.floats(), dev_w.floats(), dev_b.floats(), y.floats());
  layer->backward_data(dev_dy.floats(), dev_w.floats(), dx.floats());
  layer->backward_weights(dev_x.floats(), dev_dy.floats(), dw.floats(), db.floats());

  expect_near(download(y), expected, "output");
  expect_gradient(
      download(dx), x, [&](Values const& v) { return dot(reference::conv2d(s, v, w, b), dy); },
      "data");
  expect_gradient(
      download(dw), w, [&](Values const& v) { return dot(reference::conv2d(s, x, v, b), dy); },
      "weights");
  expect_gradient(
      download(db), b, [&](Values const& v) { return dot(reference::conv2d(s, x, w, v), dy); },
      "bias");

  s.relu = true;
  auto const with_relu = device_.conv2d("conv", s).value();
  with_relu->forward(dev_x.floats(), dev_w.floats(), dev_b.floats(), y.floats());
  expect_near(download(y), reference::conv2d(s, x, w, b), "output after ReLU");
}

TEST_F(Layers, ConvolutionOfColourImagesMatchesItsTwinAndItsFiniteDifferences) {
  check_conv2d({2, 8, 8, 3, 16, 5, 2, false});
}
TEST_F(Layers, ConvolutionOfWideChannelsMatchesItsTwinAndItsFiniteDifferences) {
  int const channels = support::kSanitized ? 32 : 64;
  check_conv2d({2, 5, 6, channels, channels, 5, 2, false});
}
TEST_F(Layers, ConvolutionOfOddSizesMatchesItsTwinAndItsFiniteDifferences) {
  check_conv2d({3, 7, 5, 5, 7, 3, 1, false});
}

TEST_F(Layers, ConvolutionWithStrideMatchesItsTwinAndItsFiniteDifferences) {
  check_conv2d({2, 8, 8, 1, 6, 4, 1, false, 2});
  check_conv2d({2, 6, 8, 16, 32, 4, 1, false, 2});
  check_conv2d({1, 9, 7, 3, 5, 3, 1, false, 2});
  check_conv2d({1, 10, 11, 2, 4, 3, 0, false, 3});
}

void Layers::check_transposed_conv2d(Conv2dShape const& s) {
  auto const layer = TransposedConv2d::create(device_, "conv", s).value();
  Values const x =
      random(static_cast<size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels));
  Values const w =
      random(static_cast<size_t>(s.out_channels * s.kernel * s.kernel * s.in_channels), 0.2F);
  Values const b = random(static_cast<size_t>(s.in_channels));
  Values const expected = reference::transposed_conv2d(s, x, w, b);
  Values const dy = random(expected.size());
  Buffer const dev_x = upload(x), dev_w = upload(w), dev_b = upload(b), dev_dy = upload(dy);
  Buffer const y = empty(expected.size()), dx = empty(x.size()), dw = empty(w.size()),
               db = empty(b.size());

  layer->forward(dev_x.floats(), dev_w.floats(), dev_b.floats(), y.floats());
  layer->backward_data(dev_dy.floats(), dev_w.floats(), dx.floats());
  layer->backward_weights(dev_x.floats(), dev_dy.floats(), dw.floats(), db.floats());

  expect_near(download(y), expected, "output");
  expect_gradient(
      download(dx), x,
      [&](Values const& v) { return dot(reference::transposed_conv2d(s, v, w, b), dy); }, "data");
  expect_gradient(
      download(dw), w,
      [&](Values const& v) { return dot(reference::transposed_conv2d(s, x, v, b), dy); },
      "weights");
  expect_gradient(
      download(db), b,
      [&](Values const& v) { return dot(reference::transposed_conv2d(s, x, w, v), dy); }, "bias");
}

TEST_F(Layers, TransposedConvolutionMatchesItsTwinAndItsFiniteDifferences) {
  check_transposed_conv2d({2, 8, 8, 1, 6, 4, 1, false, 2});  // 4 × 4 to 8 × 8, one channel
  check_transposed_conv2d({2, 6, 8, 16, 32, 4, 1, false, 2});
  check_transposed_conv2d({1, 7, 5, 3, 4, 3, 1, false, 1});
}

TEST_F(Layers, MaxPoolMatchesItsTwinAndItsFiniteDifferences) {
  for (MaxPoolShape const s : {MaxPoolShape{2, 8, 8, 64, 3, 2}, MaxPoolShape{1, 7, 5, 3, 3, 2},
                               MaxPoolShape{1, 6, 6, 16, 2, 2}}) {
    auto const layer = device_.max_pool("pool", s).value();
    Values const x = random(static_cast<size_t>(s.batch * s.height * s.width * s.channels));
    Values const expected = reference::max_pool(s, x);
    Values const dy = random(expected.size());
    Buffer const dev_x = upload(x), dev_dy = upload(dy), y = empty(expected.size()),
                 dx = empty(x.size());

    layer->forward(dev_x.floats(), y.floats());
    layer->backward(dev_dy.floats(), dx.floats());
    expect_near(download(y), expected, "output");
    expect_gradient(
        download(dx), x, [&](Values const& v) { return dot(reference::max_pool(s, v), dy); },
        "data");
  }
}

TEST_F(Layers, LocalResponseNormalisationMatchesItsTwinAndItsFiniteDifferences) {
  // The large alpha makes the normalisation matter; the last shapes have fewer channels than the
  // window and another exponent.
  for (LrnShape const s :
       {LrnShape{2, 4, 4, 64, 4, 1.0F, 0.001F / 9.0F, 0.75F},
        LrnShape{2, 3, 5, 64, 4, 1.0F, 0.3F, 0.75F}, LrnShape{1, 3, 3, 6, 4, 2.0F, 0.2F, 0.75F},
        LrnShape{1, 3, 3, 10, 2, 1.0F, 0.2F, 0.6F}, LrnShape{1, 3, 3, 17, 4, 1.0F, 0.2F, 0.75F},
        LrnShape{1, 2, 3, 40, 4, 1.0F, 0.2F, 0.75F}, LrnShape{1, 2, 3, 32, 0, 1.0F, 0.2F, 0.75F}}) {
    for (bool const plain : {false, true}) {
      auto const layer =
          plain ? host::make_plain_lrn(dynamic_cast<host::HostDevice&>(device_), "norm", s)
                : device_.lrn("norm", s).value();
      Values const x = random(static_cast<size_t>(s.batch * s.height * s.width * s.channels), 2.0F);
      Values const expected = reference::lrn(s, x);
      Values const dy = random(expected.size());
      Buffer const dev_x = upload(x), dev_dy = upload(dy), y = empty(expected.size()),
                   dx = empty(x.size());

      layer->forward(dev_x.floats(), y.floats());
      layer->backward(dev_x.floats(), dev_dy.floats(), dx.floats());
      expect_near(download(y), expected, "output");
      expect_gradient(
          download(dx), x, [&](Values const& v) { return dot(reference::lrn(s, v), dy); }, "data");
    }
  }
}

void Layers::check_dense(DenseShape s) {
  s.relu = false;
  auto const layer = device_.dense("fc", s).value();
  Values const x = random(static_cast<size_t>(s.batch * s.inputs));
  Values const w = random(static_cast<size_t>(s.outputs * s.inputs), 0.3F);
  Values const b = random(static_cast<size_t>(s.outputs));
  Values const expected = reference::dense(s, x, w, b);
  Values const dy = random(expected.size());
  Buffer const dev_x = upload(x), dev_w = upload(w), dev_b = upload(b), dev_dy = upload(dy);
  Buffer const y = empty(expected.size()), dx = empty(x.size()), dw = empty(w.size()),
               db = empty(b.size());

  layer->forward(dev_x.floats(), dev_w.floats(), dev_b.floats(), y.floats());
  layer->backward_data(dev_dy.floats(), dev_w.floats(), dx.floats());
  layer->backward_weights(dev_x.floats(), dev_dy.floats(), dw.floats(), db.floats());

  expect_near(download(y), expected, "output");
  expect_gradient(
      download(dx), x, [&](Values const& v) { return dot(reference::dense(s, v, w, b), dy); },
      "data");
  expect_gradient(
      download(dw), w, [&](Values const& v) { return dot(reference::dense(s, x, v, b), dy); },
      "weights");
  expect_gradient(
      download(db), b, [&](Values const& v) { return dot(reference::dense(s, x, w, v), dy); },
      "bias");

  s.relu = true;
  auto const with_relu = device_.dense("fc", s).value();
  with_relu->forward(dev_x.floats(), dev_w.floats(), dev_b.floats(), y.floats());
  expect_near(download(y), reference::dense(s, x, w, b), "output after ReLU");
}

TEST_F(Layers, FullyConnectedLayerMatchesItsTwinAndItsFiniteDifferences) {
  check_dense({4, 96, 48, false});
  check_dense({3, 17, 5, false});
  check_dense({8, 192, 10, false});
}

TEST_F(Layers, MatrixProductMatchesItsTwinInEveryOrientation) {
  for (bool const transpose_a : {false, true})
    for (bool const transpose_b : {false, true})
      for (float const beta : {0.0F, 1.0F, 0.5F}) {
        MatMulShape const s = {3, 5, 7, 11, transpose_a, transpose_b, 0.25F, beta};
        auto const layer = device_.matmul("product", s).value();
        Values const a = random(3 * 5 * 11), b = random(3 * 11 * 7), c = random(3 * 5 * 7);
        Buffer const dev_a = upload(a), dev_b = upload(b), dev_c = upload(c);

        layer->run(dev_a.floats(), dev_b.floats(), dev_c.floats());
        expect_near(download(dev_c), reference::matmul(s, a, b, c), "product");
      }
}

TEST_F(Layers, AdamWFollowsItsDefinition) {
  Values const weights = random(100), gradients = random(100), mean = random(100), square(100, 0.3);
  Buffer const w = upload(weights), g = upload(gradients), m = upload(mean), v = upload(square);
  double const rate = 0.01, decay = 0.1, beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
  int const step = 3;
  double const correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);

  device_.run("update",
              elementwise::AdamWUpdate{w.floats(), g.floats(), m.floats(), v.floats(), 0.01F, 0.1F,
                                       0.9F, 0.99F, 1e-8F, static_cast<float>(correction1),
                                       static_cast<float>(correction2)},
              100);

  Values expected(100);
  for (size_t i = 0; i < 100; ++i) {
    double const new_mean = beta1 * mean[i] + (1 - beta1) * gradients[i];
    double const new_square = beta2 * square[i] + (1 - beta2) * gradients[i] * gradients[i];
    double const direction =
        new_mean / correction1 / (std::sqrt(new_square / correction2) + epsilon);
    expected[i] = weights[i] - rate * (direction + decay * weights[i]);
  }

  expect_near(download(w), expected, "weights");
}

TEST_F(Layers, BiasIsAddedToEachRowAfterScaling) {
  Values const x = random(12), bias = random(4);
  for (bool const relu : {false, true}) {
    Buffer const y = upload(x), b = upload(bias);
    device_.run_rows("bias", rowwise::AddBias{4, b.floats(), y.floats(), 3.0F, relu}, 3);
    Values expected;
    for (size_t i = 0; i < 12; ++i)
      expected.push_back(std::max(3 * x[i] + bias[i % 4], relu ? 0.0 : -1e9));
    expect_near(download(y), expected, "rows");
  }
}

TEST_F(Layers, ChannelsAreSummedOverAllRows) {
  Values const x = random(15);
  Buffer const dev_x = upload(x), sum = empty(3);
  device_.run_rows("sum", rowwise::ChannelSum{5, 3, dev_x.floats(), sum.floats()}, 3);
  Values expected(3);
  for (size_t i = 0; i < 15; ++i) expected[i % 3] += x[i];
  expect_near(download(sum), expected, "channels");
}

TEST_F(Layers, ScaleMultiplies) {
  Buffer const y = upload({1.0, -2.0, 4.0});
  device_.run("scale", elementwise::Scale{y.floats(), 0.5F}, 3);
  EXPECT_EQ(download(y), (Values{0.5, -1.0, 2.0}));
}

TEST_F(Layers, ReluGradientPassesOnlyWhereTheOutputIsPositive) {
  Buffer const y = upload({0.0, 1.0, 0.0, 2.0, 1e-30});
  Buffer const dy = upload({5.0, 6.0, -7.0, -8.0, 9.0});
  device_.run("relu", elementwise::ReluBackward{y.floats(), dy.floats()}, 5);
  EXPECT_EQ(download(dy), (Values{0.0, 6.0, 0.0, -8.0, 9.0}));
}

TEST_F(Layers, LeakyReluMatchesItsTwinAndItsFiniteDifferences) {
  Values const x = random(40), dy = random(40);
  Buffer const y = upload(x), dx = upload(dy);
  device_.run("leaky", elementwise::LeakyRelu{y.floats(), 0.25F}, 40);
  device_.run("leaky.backward", elementwise::LeakyReluBackward{y.floats(), dx.floats(), 0.25F}, 40);
  expect_near(download(y), reference::leaky_relu(x, 0.25), "output");
  expect_gradient(
      download(dx), x, [&](Values const& v) { return dot(reference::leaky_relu(v, 0.25), dy); },
      "data");
}

TEST_F(Layers, HyperbolicTangentMatchesItsTwinAndItsFiniteDifferences) {
  Values const x = random(40, 3.0F), dy = random(40);
  Buffer const y = upload(x), dx = upload(dy);
  device_.run("tanh", elementwise::Tanh{y.floats()}, 40);
  device_.run("tanh.backward", elementwise::TanhBackward{y.floats(), dx.floats()}, 40);
  expect_near(download(y), reference::tanh(x), "output");
  expect_gradient(
      download(dx), x, [&](Values const& v) { return dot(reference::tanh(v), dy); }, "data");
}

TEST_F(Layers, BinaryCrossEntropyMatchesItsTwinAndItsFiniteDifferences) {
  Values const logits = random(20, 4.0F);
  Buffer const dev_logits = upload(logits), d_logits = empty(20), rows = empty(40),
               result = empty(2);

  device_.run("loss",
              elementwise::BinaryCrossEntropy{dev_logits.floats(), d_logits.floats(), rows.floats(),
                                              7, 0.1F},
              20);
  device_.run_rows("loss.sum", rowwise::SumOfPairs{20, rows.floats(), result.floats(), 0.1F}, 1);

  EXPECT_NEAR(download(result)[0], 0.1 * reference::binary_cross_entropy(logits, 7), 1e-5);
  double correct = 0;
  for (size_t i = 0; i < 20; ++i) correct += (logits[i] > 0) == (i < 7) ? 1 : 0;
  EXPECT_EQ(download(result)[1], correct);

  expect_gradient(
      download(d_logits), logits,
      [&](Values const& v) { return 0.1 * reference::binary_cross_entropy(v, 7); }, "logits");
}

TEST_F(Layers, BinaryCrossEntropyOfHugeLogitsIsFinite) {
  Buffer const logits = upload({1000.0, -1000.0, 1000.0, -1000.0}), d_logits = empty(4),
               rows = empty(8);
  device_.run(
      "loss",
      elementwise::BinaryCrossEntropy{logits.floats(), d_logits.floats(), rows.floats(), 2, 1.0F},
      4);
  EXPECT_EQ(download(rows), (Values{0, 1, 1000, 0, 1000, 0, 0, 1}));
  EXPECT_EQ(download(d_logits), (Values{0, -1, 1, 0}));
}

TEST_F(Layers, CrossEntropyMatchesItsTwinAndItsFiniteDifferences) {
  std::vector<int32_t> const labels = {3, 0, 9, 5};
  Values const logits = random(40, 3.0F);
  Buffer const dev_logits = upload(logits), d_logits = empty(40), rows = empty(8),
               result = empty(2);

  softmax_cross_entropy(device_, {4, 10, dev_logits.floats(), labels.data(), d_logits.floats(),
                                  rows.floats(), result.floats()});

  EXPECT_NEAR(download(result)[0], reference::cross_entropy(10, logits, labels), 1e-6);
  expect_gradient(
      download(d_logits), logits,
      [&](Values const& v) { return reference::cross_entropy(10, v, labels); }, "logits");
}

TEST_F(Layers, CrossEntropyCountsTheRowsWhoseLargestLogitIsTheLabelAndSkipsNegativeLabels) {
  std::vector<int32_t> const labels = {1, 0, -1};
  Buffer const logits = upload({0.0, 2.0, /**/ 0.0, 3.0, /**/ 9.0, 0.0});
  Buffer const d_logits = empty(6), rows = empty(6), result = empty(2);
  softmax_cross_entropy(device_, {3, 2, logits.floats(), labels.data(), d_logits.floats(),
                                  rows.floats(), result.floats()});
  EXPECT_EQ(download(result)[1], 1.0);
  EXPECT_EQ(download(d_logits)[4], 0.0);
  EXPECT_EQ(download(d_logits)[5], 0.0);
}

TEST_F(Layers, CrossEntropyOfHugeLogitsIsFinite) {
  std::vector<int32_t> const labels = {0};
  Buffer const logits = upload({1000.0, -1000.0});
  Buffer const d_logits = empty(2), rows = empty(2), result = empty(2);
  softmax_cross_entropy(device_, {1, 2, logits.floats(), labels.data(), d_logits.floats(),
                                  rows.floats(), result.floats()});
  EXPECT_EQ(download(result)[0], 0.0);
}

TEST_F(Layers, SgdStepsAgainstTheGradientAndTheDecayedWeight) {
  Buffer const weights = upload({1.0, -2.0, 4.0});
  Buffer const gradients = upload({0.5, 0.25, -1.0});
  device_.run("update", elementwise::SgdUpdate{weights.floats(), gradients.floats(), 0.5F, 0.25F},
              3);
  EXPECT_THAT(download(weights),
              ::testing::Pointwise(::testing::DoubleNear(1e-6), {0.625, -1.875, 4.0}));
}

TEST_F(Layers, WorkspaceOfALayerIsPartOfTheDeviceMemory) {
  DeviceGroup const small = open_devices("host", {uint64_t{4} << 20U}).value();
  auto const layer = small.devices.front()->conv2d("conv9", {128, 24, 24, 64, 1024, 5, 2, true});
  ASSERT_FALSE(layer.has_value());
  EXPECT_THAT(layer.error().message, ::testing::AllOf(::testing::HasSubstr("host:0"),
                                                      ::testing::HasSubstr("conv9.workspace")));
}

}  // namespace
}  // namespace stepscope::workloads
