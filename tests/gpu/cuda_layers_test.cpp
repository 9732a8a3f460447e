// Layers and operations of the CUDA backend against the host backend, which is checked against
// naive twins. Results in float32 may differ by the rounding of another order of summation, in TF32
// and bfloat16 by the rounding of these types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <variant>

#include "tests/gpu/cuda_backend.h"

namespace stepscope::workloads {
namespace {

using testing::Array;
using testing::CudaTest;
using testing::download;
using testing::empty;
using testing::expect_near;
using testing::random_array;
using testing::upload;

class CudaLayers : public CudaTest {
 protected:
  static Results convolution(Device& device, Conv2dShape const& s) {
    auto const layer = device.conv2d("conv", s).value();
    auto const outputs =
        static_cast<size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels);

    Buffer const x = upload(
        device, random_array(static_cast<size_t>(s.batch * s.height * s.width * s.in_channels), 1));
    Buffer const w = upload(
        device,
        random_array(static_cast<size_t>(s.out_channels * s.kernel * s.kernel * s.in_channels), 2));
    Buffer const b = upload(device, random_array(static_cast<size_t>(s.out_channels), 3));
    Buffer const dy = upload(device, random_array(outputs, 4));
    Buffer const y = empty(device, outputs), dx = empty(device, x.bytes() / 4),
                 dw = empty(device, w.bytes() / 4);
    Buffer const db = empty(device, b.bytes() / 4);

    layer->forward(x.floats(), w.floats(), b.floats(), y.floats());
    layer->backward_data(dy.floats(), w.floats(), dx.floats());
    layer->backward_weights(x.floats(), dy.floats(), dw.floats(), db.floats());

    return {{"output", download(device, y)},
            {"data gradient", download(device, dx)},
            {"weight gradient", download(device, dw)},
            {"bias gradient", download(device, db)}};
  }

  /// `offset`: floats by which all arrays are moved off their alignment.
  static Results fully_connected(Device& device, DenseShape const& s, size_t offset = 0) {
    auto const layer = device.dense("fc", s).value();
    auto const inputs = static_cast<size_t>(s.batch * s.inputs),
               outputs = static_cast<size_t>(s.batch * s.outputs);
    auto const weights = static_cast<size_t>(s.inputs * s.outputs);

    Buffer const x = upload(device, random_array(inputs + offset, 1)),
                 w = upload(device, random_array(weights + offset, 2));
    Buffer const b = upload(device, random_array(static_cast<size_t>(s.outputs) + offset, 3));
    Buffer const dy = upload(device, random_array(outputs + offset, 4));
    Buffer const y = empty(device, outputs + offset), dx = empty(device, inputs + offset),
                 dw = empty(device, weights + offset);
    Buffer const db = empty(device, static_cast<size_t>(s.outputs) + offset);

    layer->forward(x.floats() + offset, w.floats() + offset, b.floats() + offset,
                   y.floats() + offset);
    layer->backward_data(dy.floats() + offset, w.floats() + offset, dx.floats() + offset);
    layer->backward_weights(x.floats() + offset, dy.floats() + offset, dw.floats() + offset,
                            db.floats() + offset);

    return {{"output", download(device, y)},
            {"data gradient", download(device, dx)},
            {"weight gradient", download(device, dw)},
            {"bias gradient", download(device, db)}};
  }

  static Results product(Device& device, MatMulShape const& s) {
    auto const layer = device.matmul("product", s).value();
    Buffer const a = upload(device, random_array(static_cast<size_t>(s.batch * s.m * s.k), 1));
    Buffer const b = upload(device, random_array(static_cast<size_t>(s.batch * s.k * s.n), 2));
    Buffer const c = upload(device, random_array(static_cast<size_t>(s.batch * s.m * s.n), 3));
    layer->run(a.floats(), b.floats(), c.floats());
    return {{"product", download(device, c)}};
  }
};

// The networks' own shapes, odd ones, many channels, no padding, strides.
std::vector<Conv2dShape> convolutions() {
  return {{16, 24, 24, 3, 64, 5, 2, true},    {16, 12, 12, 64, 64, 5, 2, true},
          {8, 28, 28, 1, 32, 3, 1, true},     {3, 7, 5, 5, 7, 3, 1, false},
          {2, 9, 8, 33, 65, 3, 0, false},     {4, 6, 6, 128, 256, 1, 0, false},
          {8, 28, 28, 1, 64, 4, 1, false, 2}, {8, 14, 14, 64, 128, 4, 1, false, 2},
          {2, 10, 11, 3, 5, 3, 0, false, 3}};
}

TEST_F(CudaLayers, ConvolutionsMatchTheHost) {
  for (Conv2dShape const& s : convolutions()) {
    SCOPED_TRACE(s.in_channels);
    expect_same([&](Device& device) { return convolution(device, s); });
  }
}

TEST_F(CudaLayers, FullyConnectedLayersMatchTheHost) {
  for (DenseShape const& s :
       {DenseShape{128, 2304, 384, true}, DenseShape{128, 384, 192, true},
        DenseShape{16, 192, 10, false}, DenseShape{3, 17, 5, false}, DenseShape{1, 1, 1, true},
        DenseShape{64, 128, 1, false}, DenseShape{512, 128, 384, false}}) {
    SCOPED_TRACE(s.inputs);
    expect_same([&](Device& device) { return fully_connected(device, s); });
  }
}

TEST_F(CudaLayers, ArraysNeedNoMoreThanAFloatsAlignment) {
  expect_same([](Device& device) { return fully_connected(device, {32, 64, 48, true}, 1); });
  expect_same([](Device& device) { return fully_connected(device, {32, 64, 48, false}, 2); });
}

TEST_F(CudaLayers, ProductsMatchTheHostInEveryOrientation) {
  for (bool const transpose_a : {false, true})
    for (bool const transpose_b : {false, true})
      for (float const beta : {0.0F, 0.5F})
        for (MatMulShape s : {MatMulShape{3, 5, 7, 11}, MatMulShape{32, 64, 64, 32},
                              MatMulShape{1, 256, 256, 256}}) {
          s.transpose_a = transpose_a;
          s.transpose_b = transpose_b;
          s.alpha = 0.25F;
          s.beta = beta;

          expect_same([&](Device& device) { return product(device, s); });
        }
}

TEST_F(CudaLayers, MaxPoolsMatchTheHost) {
  for (MaxPoolShape const& s :
       {MaxPoolShape{16, 24, 24, 64, 3, 2}, MaxPoolShape{4, 12, 12, 64, 3, 2},
        MaxPoolShape{1, 7, 5, 3, 3, 2}, MaxPoolShape{2, 28, 28, 32, 2, 2},
        MaxPoolShape{1, 9, 9, 2, 5, 3}}) {
    SCOPED_TRACE(s.height);
    expect_same([&](Device& device) -> Results {
      auto const layer = device.max_pool("pool", s).value();
      Buffer const x = upload(
          device, random_array(static_cast<size_t>(s.batch * s.height * s.width * s.channels), 1));
      auto const outputs =
          static_cast<size_t>(s.batch * s.out_height() * s.out_width() * s.channels);
      Buffer const dy = upload(device, random_array(outputs, 2)), y = empty(device, outputs),
                   dx = empty(device, x.bytes() / 4);

      layer->forward(x.floats(), y.floats());
      layer->backward(dy.floats(), dx.floats());
      return {{"output", download(device, y)}, {"data gradient", download(device, dx)}};
    });
  }
}

TEST_F(CudaLayers, LocalResponseNormalisationsMatchTheHost) {
  for (LrnShape const& s :
       {LrnShape{16, 12, 12, 64, 4, 1.0F, 0.001F / 9.0F, 0.75F},
        LrnShape{2, 3, 5, 64, 4, 1.0F, 0.3F, 0.75F}, LrnShape{1, 3, 3, 6, 4, 2.0F, 0.2F, 0.75F},
        LrnShape{1, 3, 3, 300, 2, 1.0F, 0.2F, 0.6F}, LrnShape{1, 3, 3, 17, 4, 1.0F, 0.2F, 0.75F},
        LrnShape{1, 2, 3, 32, 0, 1.0F, 0.2F, 0.75F}}) {
    SCOPED_TRACE(s.channels);
    expect_same([&](Device& device) -> Results {
      auto const count = static_cast<size_t>(s.batch * s.height * s.width * s.channels);
      auto const layer = device.lrn("norm", s).value();
      Buffer const x = upload(device, random_array(count, 1, 2.0F)),
                   dy = upload(device, random_array(count, 2));
      Buffer const y = empty(device, count), dx = empty(device, count);

      layer->forward(x.floats(), y.floats());
      layer->backward(x.floats(), dy.floats(), dx.floats());
      return {{"output", download(device, y)}, {"data gradient", download(device, dx)}};
    });
  }
}

// Precision.

class CudaPrecision : public CudaLayers,
                      public ::testing::WithParamInterface<std::pair<Precision, double>> {
 protected:
  void SetUp() override {
    CudaLayers::SetUp();
    if (!IsSkipped()) cuda_ = open_devices("cuda", {.precision = GetParam().first});
  }
};

TEST_P(CudaPrecision, LayersMatchTheHostWithinItsRounding) {
  ASSERT_TRUE(cuda_.has_value()) << cuda_.error().message;

  for (Conv2dShape const& s : convolutions()) {
    SCOPED_TRACE(s.in_channels);
    expect_same([&](Device& device) { return convolution(device, s); }, GetParam().second);
  }

  expect_same(
      [](Device& device) {
        return fully_connected(device, {128, 2304, 384, true});
      },
      GetParam().second);
  expect_same(
      [](Device& device) {
        return fully_connected(device, {33, 17, 5, false});
      },
      GetParam().second);
  expect_same(
      [](Device& device) {
        return product(device, {32, 64, 64, 32, false, true});
      },
      GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Reduced, CudaPrecision,
                         ::testing::Values(std::pair{Precision::kTf32, testing::kTf32Tolerance},
                                           std::pair{Precision::kBf16, testing::kBf16Tolerance}),
                         [](auto const& tested) {
                           return std::string(precision_name(tested.param.first));
                         });

// Element-wise and row-wise operations.

constexpr size_t kElements =
    100'003;  // more than a grid's threads of small blocks, no multiple of anything

/// Every operation of the list once, on arrays p[0] to p[3]; the last one is twice as long.
std::vector<elementwise::Op> all_elementwise(std::vector<float*> const& p) {
  using namespace elementwise;
  std::vector<Op> ops = {
      Fill{p[0], 0.5F},
      Copy{p[0], p[1]},
      Scale{p[0], 0.3F},
      Add{p[0], p[1], p[2]},
      AddScaled{p[0], p[1], 0.25F},
      ReluBackward{p[0], p[1]},
      LeakyRelu{p[0], 0.2F},
      LeakyReluBackward{p[0], p[1], 0.2F},
      GeluForward{p[0], p[1]},
      GeluBackward{p[0], p[1]},
      Tanh{p[0]},
      TanhBackward{p[0], p[1]},
      BinaryCrossEntropy{p[0], p[1], p[4], kElements / 3, 0.5F},
      SgdUpdate{p[0], p[1], 0.1F, 0.01F},
      AdamWUpdate{p[0], p[1], p[2], p[3], 0.01F, 0.1F, 0.9F, 0.99F, 1e-8F, 0.1F, 0.2F}};

  EXPECT_EQ(ops.size(), std::variant_size_v<Op>) << "a new operation needs its line here";
  return ops;
}

TEST_F(CudaLayers, EveryElementwiseOperationMatchesTheHost) {
  for (size_t op = 0; op < std::variant_size_v<elementwise::Op>; ++op) {
    SCOPED_TRACE(op);
    expect_same([&](Device& device) {
      std::vector<Buffer> buffers;
      std::vector<float*> arrays;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        Array values = random_array(kElements * (seed == 4 ? 2 : 1), seed, 2.0F);
        if (seed == 3)
          std::transform(values.begin(), values.end(), values.begin(),
                         [](float v) { return std::fabs(v); });  // squares
        buffers.push_back(upload(device, values));
        arrays.push_back(buffers.back().floats());
      }

      auto const ops = all_elementwise(arrays);
      EXPECT_EQ(ops[op].index(), op);
      device.run("op", ops[op], kElements);

      Results results;
      for (size_t i = 0; i < buffers.size(); ++i)
        results.emplace_back(fmt::format("array {}", i), download(device, buffers[i]));
      return results;
    });
  }
}

struct RowCase {
  rowwise::Op op;
  int64_t rows;
};
/// Every operation of the list once. `p`: float arrays of 256 Ki elements, `ints`: labels and
/// tokens.
std::vector<RowCase> all_rowwise(std::vector<float*> const& p, int32_t const* ints) {
  using namespace rowwise;
  constexpr int64_t kWidth = 96, kTime = 64, kBatch = 12, kRows = kTime * kBatch;
  HeadsShape const heads = {kBatch, kTime, 3, 4, 24};

  std::vector<RowCase> cases = {
      {CrossEntropy{10, p[0], ints, p[1], p[2], 0.1F}, 700},
      {SumOfPairs{700, p[0], p[1], 0.5F}, 1},
      {AddBias{kWidth, p[0], p[1], 0.5F, true}, kRows},
      {ChannelSum{kRows, kWidth, p[0], p[1]}, kWidth},
      {EmbeddingForward{kWidth, kTime, ints, p[0], p[1], p[2]}, kRows},
      {TokenGradient{kWidth, kRows, ints, p[0], p[1]}, 10},
      {PositionGradient{kWidth, kBatch, kTime, p[0], p[1]}, kTime},
      {LayerNormForward{kWidth, p[0], p[1], p[2], p[3], p[4], 1e-5F}, kRows},
      {LayerNormBackward{kWidth, p[0], p[1], p[2], p[3], p[4]}, kRows},
      {LayerNormParameterGradient{kRows, kWidth, p[0], p[1], p[2], p[3], p[4]}, kWidth},
      {CausalSoftmaxForward{kTime, p[0]}, kRows},
      {SoftmaxBackward{kTime, p[0], p[1]}, kRows},
      {SplitHeads{heads, p[0], p[1]}, heads.matrices()},
      {MergeHeads{heads, p[0], p[1]}, heads.matrices()}};

  EXPECT_EQ(cases.size(), std::variant_size_v<Op>) << "a new operation needs its line here";
  return cases;
}

TEST_F(CudaLayers, EveryRowwiseOperationMatchesTheHost) {
  for (size_t op = 0; op < std::variant_size_v<rowwise::Op>; ++op) {
    SCOPED_TRACE(op);
    expect_same([&](Device& device) {
      std::vector<Buffer> buffers;
      std::vector<float*> arrays;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        buffers.push_back(upload(device, random_array(256 * 1024, seed)));
        arrays.push_back(buffers.back().floats());
      }

      std::vector<int32_t> ints(1024);
      for (size_t i = 0; i < ints.size(); ++i)
        ints[i] = static_cast<int32_t>(i * 7 % 10) - (op == 0 && i % 50 == 0 ? 100 : 0);
      Buffer const numbers = upload(device, ints);

      auto const cases = all_rowwise(arrays, numbers.ints());
      EXPECT_EQ(cases[op].op.index(), op);
      device.run_rows("op", cases[op].op, cases[op].rows);

      Results results;
      for (size_t i = 0; i < buffers.size(); ++i)
        results.emplace_back(fmt::format("array {}", i), download(device, buffers[i]));
      return results;
    });
  }
}

TEST_F(CudaLayers, RowsOfAllWidthsMatchTheHost) {
  for (int64_t const width : {1, 31, 32, 33, 100, 1000, 1024, 1025, 5000}) {
    for (int64_t const rows : {1, 7, 300}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, width));
      expect_same([&](Device& device) -> Results {
        auto const count = static_cast<size_t>(rows * width);
        Buffer const y = upload(device, random_array(count, 1)),
                     dy = upload(device, random_array(count, 2));

        device.run_rows("softmax", rowwise::SoftmaxBackward{width, y.floats(), dy.floats()}, rows);
        return {{"gradient", download(device, dy)}};
      });
    }
  }
}

// The device.

TEST_F(CudaLayers, GradientsAreTheSameBitsInEveryRun) {
  Conv2dShape const s = {16, 12, 12, 64, 64, 5, 2, true};
  EXPECT_EQ(convolution(cuda(), s), convolution(cuda(), s));
  EXPECT_EQ(fully_connected(cuda(), {512, 384, 1536, false}),
            fully_connected(cuda(), {512, 384, 1536, false}));
}

TEST_F(CudaLayers, OutOfMemorySaysWhoAskedAndWhoHoldsTheRest) {
  auto const small = open_devices("cuda", {uint64_t{64} << 20U});
  ASSERT_TRUE(small.has_value()) << small.error().message;
  auto const refused = small->devices.front()->allocate(size_t{1} << 30U,
                                                        MemoryPurpose::kActivations, "conv9.value");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message,
              ::testing::AllOf(
                  ::testing::HasSubstr("cuda:0: out of memory: conv9.value asked for 1.00 GiB"),
                  ::testing::HasSubstr("held by scratch")));
}

// A device compares its clock with the host's when it is opened. A program that takes the core in
// that moment moves all times of the device by half of what the comparison took. So the times of
// one of several devices must be right, and the order of events always.
TEST_F(CudaLayers, EventsAreReachedInOrderAndWithinTheHostsTime) {
  auto const now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  constexpr int64_t kClocksApartNs = 100'000;
  constexpr int kDevices = 100;

  int64_t least_outside_ns = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kDevices && least_outside_ns > kClocksApartNs; ++i) {
    auto const group = open_devices("cuda", {});
    ASSERT_TRUE(group.has_value()) << group.error().message;
    Device& device = *group->devices.front();
    Buffer const x = empty(device, size_t{1} << 20U);

    int64_t const begin = now();
    Event const first = device.record(StreamKind::kCompute);
    for (int fill = 0; fill < 50; ++fill)
      device.run("fill", elementwise::Fill{x.floats(), 1.0F}, x.bytes() / 4);
    Event const second = device.record(StreamKind::kCompute);
    device.wait(StreamKind::kCopy, second);
    Event const third = device.record(StreamKind::kCopy);
    device.synchronize(third);
    int64_t const end = now();

    EXPECT_GT(second->reached_ns(), first->reached_ns());
    EXPECT_GE(third->reached_ns(), second->reached_ns());
    least_outside_ns = std::min(least_outside_ns,
                                std::max(begin - first->reached_ns(), third->reached_ns() - end));
  }
  EXPECT_LE(least_outside_ns, kClocksApartNs);
}

TEST_F(CudaLayers, AStreamWaitsForTheOthersEvent) {
  constexpr size_t kCount = size_t{1} << 24U;
  Buffer const from = empty(cuda(), kCount), to = empty(cuda(), kCount);
  for (int i = 0; i < 20; ++i)
    cuda().run("fill", elementwise::Fill{from.floats(), static_cast<float>(i)}, kCount);
  cuda().wait(StreamKind::kCopy, cuda().record(StreamKind::kCompute));
  cuda().copy(StreamKind::kCopy, "d2d", to.data(), from.data(), from.bytes(),
              CopyDirection::kDeviceToDevice);
  EXPECT_EQ(download(cuda(), to), Array(kCount, 19.0F));
}

TEST_F(CudaLayers, FaultsChangeNoResult) {
  Conv2dShape const s = {4, 12, 12, 64, 64, 5, 2, true};
  auto const expected = convolution(cuda(), s);

  for (DeviceFaults const& faults :
       {DeviceFaults{.synchronize_every_op = true}, DeviceFaults{.pageable_copies = true},
        DeviceFaults{.uncached_memory = true}, DeviceFaults{.launch_delay_us = 50},
        DeviceFaults{.largest_operation = 100}, DeviceFaults{.slow_device = 0}}) {
    auto const group = open_devices("cuda", {.faults = faults});
    ASSERT_TRUE(group.has_value()) << group.error().message;
    EXPECT_EQ(convolution(*group->devices.front(), s), expected);
  }
}

TEST_F(CudaLayers, CountsWhatItEnqueues) {
  OpCounts const before = cuda().counts();
  Buffer const x = upload(cuda(), Array(16, 1.0F));
  cuda().run("relu", elementwise::ReluBackward{x.floats(), x.floats()}, 16);
  static_cast<void>(download(cuda(), x));

  OpCounts const after = cuda().counts();
  EXPECT_EQ(after.launches - before.launches, 3U);
  EXPECT_EQ(after.kernels - before.kernels, 1U);
  EXPECT_EQ(after.copies - before.copies, 2U);
  EXPECT_EQ(after.host_to_device_bytes - before.host_to_device_bytes, 64U);
  EXPECT_EQ(after.device_to_host_bytes - before.device_to_host_bytes, 64U);
}

TEST_F(CudaLayers, WhatIsCapturedIsDoneAtEachReplayAndNotBefore) {
  Buffer const x = upload(cuda(), Array(1'000, 1.0F));
  auto const twice = [&] {
    cuda().run("twice", elementwise::Add{x.floats(), x.floats(), x.floats()}, 1'000);
  };
  twice();  // its kernel is loaded

  OpCounts const before = cuda().counts();
  cuda().begin_capture();
  twice();
  twice();
  auto const graph = cuda().end_capture("test");
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  EXPECT_EQ(download(cuda(), x), Array(1'000, 2.0F));

  for (int i = 0; i < 3; ++i) cuda().replay(**graph);
  EXPECT_EQ(download(cuda(), x), Array(1'000, 128.0F));
  OpCounts const after = cuda().counts();
  EXPECT_EQ(after.kernels - before.kernels, 6U);
  EXPECT_EQ(after.graphs - before.graphs, 3U);
  EXPECT_EQ(after.launches - before.launches, 3U + 2U);  // and the downloads

  cuda().begin_capture();
  auto const nothing = cuda().end_capture("nothing");
  ASSERT_TRUE(nothing.has_value()) << nothing.error().message;
  EXPECT_EQ(*nothing, nullptr);
}

TEST_F(CudaLayers, ACaptureOfMoreThanOperationsIsRefusedAndNothingOfItIsDone) {
  Array values(100, 1.0F);
  Buffer const x = upload(cuda(), values), y = upload(cuda(), values);
  auto const twice = [&] {
    cuda().run("twice", elementwise::Add{x.floats(), x.floats(), x.floats()}, 100);
  };
  twice();

  std::vector<std::pair<std::string, std::function<void()>>> const forbidden = {
      {"copied",
       [&] {
         cuda().copy(StreamKind::kCompute, "copied", y.data(), x.data(), x.bytes(),
                     CopyDirection::kDeviceToDevice);
       }},
      {"an event", [&] { cuda().synchronize(cuda().record(StreamKind::kCompute)); }},
      {"a wait of the host", [&] { cuda().synchronize(); }}};

  for (auto const& [name, ask] : forbidden) {
    cuda().begin_capture();
    twice();
    ask();
    twice();
    auto const graph = cuda().end_capture("test");
    ASSERT_FALSE(graph.has_value()) << name;
    EXPECT_THAT(graph.error().message, ::testing::HasSubstr(name));
    EXPECT_EQ(download(cuda(), x), Array(100, 2.0F)) << name;
    EXPECT_EQ(download(cuda(), y), Array(100, 1.0F)) << name;
  }
}

TEST_F(CudaLayers, AGpuThatIsNotThereIsNamedWithThoseThatAre) {
  auto const group = open_devices("cuda:999", {});
  ASSERT_FALSE(group.has_value());
  EXPECT_THAT(group.error().message,
              ::testing::HasSubstr("cuda:999: there is no such GPU, there "));
}

}  // namespace
}  // namespace stepscope::workloads
