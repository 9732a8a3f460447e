// Collectives and messages of CUDA devices against plain sums and copies, and whole trainings. CUDA
// follows the host, logical devices equal one device with the whole batch, and replicas have the
// same bits. Two to four devices share the first GPU; where there are several GPUs, NCCL among them
// too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "tests/gpu/cuda_backend.h"
#include "tests/unit/workloads/weights.h"
#include "workloads/data/augment.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/micro/allreduce.h"
#include "workloads/micro/matpow.h"
#include "workloads/model_parallel/train.h"
#include "workloads/networks/cifar10.h"
#include "workloads/networks/gpt.h"

namespace stepscope::workloads {
namespace {

using testing::Array;
using testing::CudaTest;
using testing::download;
using testing::empty;
using testing::expect_near;
using testing::random_array;
using testing::relative_difference;
using testing::upload;

class CudaGroup : public ::testing::TestWithParam<char const*> {
 protected:
  void SetUp() override {
    group_ = open_devices(GetParam(), {});
    if (!group_) GTEST_SKIP() << group_.error().message;
    if (members() < 2) GTEST_SKIP() << GetParam() << ": there is one GPU";
  }
  [[nodiscard]] uint32_t members() const { return static_cast<uint32_t>(group_->devices.size()); }
  Device& device(uint32_t rank) { return *group_->devices[rank]; }
  void on_all(std::function<void(uint32_t)> const& work) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < members(); ++rank) threads.emplace_back(work, rank);
    for (std::thread& thread : threads) thread.join();
  }
  void run(uint32_t rank, Collective const& what) {
    device(rank).collective("test", *group_->communicator, what);
  }
  /// After uploads, which use the compute stream and are over.
  std::vector<Array> downloads(std::vector<Buffer> const& buffers) {
    std::vector<Array> arrays;
    for (uint32_t rank = 0; rank < members(); ++rank)
      arrays.push_back(download(device(rank), buffers[rank]));
    return arrays;
  }
  std::vector<Buffer> uploads(std::vector<Array> const& arrays) {
    std::vector<Buffer> buffers;
    for (uint32_t rank = 0; rank < members(); ++rank)
      buffers.push_back(upload(device(rank), arrays[rank]));
    return buffers;
  }
  std::vector<Array> random_arrays(size_t count) {
    std::vector<Array> arrays;
    for (uint32_t rank = 0; rank < members(); ++rank) arrays.push_back(random_array(count, rank));
    return arrays;
  }
  static Array mean(std::vector<Array> const& arrays) {
    Array result(arrays.front().size());
    for (size_t i = 0; i < result.size(); ++i) {
      double sum = 0;
      for (Array const& array : arrays) sum += static_cast<double>(array[i]);
      result[i] = static_cast<float>(sum / static_cast<double>(arrays.size()));
    }
    return result;
  }
  static std::vector<size_t> parts() { return {1, 3, 1'001, 70'001}; }

  Expected<DeviceGroup> group_;
};

TEST_P(CudaGroup, AllReduceGivesAllTheSameBitsOfTheMean) {
  for (size_t const count : parts()) {
    std::vector<Array> const start = random_arrays(count);
    std::vector<Buffer> const data = uploads(start);
    on_all([&](uint32_t rank) {
      run(rank, {CollectiveOp::kAllReduce, data[rank].floats(), data[rank].floats(), count});
    });

    std::vector<Array> const result = downloads(data);
    expect_near(result.front(), mean(start), 1e-6, "mean");
    EXPECT_THAT(result, ::testing::Each(result.front())) << count;
  }
}

TEST_P(CudaGroup, ReduceScatterAndAllGatherGiveTheMeanInPlace) {
  for (size_t const part : parts()) {
    size_t const count = part * members();
    std::vector<Array> const start = random_arrays(count);
    std::vector<Buffer> const data = uploads(start);
    on_all([&](uint32_t rank) {
      float* const own = data[rank].floats() + rank * part;
      run(rank, {CollectiveOp::kReduceScatter, data[rank].floats(), own, count});
      run(rank, {CollectiveOp::kAllGather, own, data[rank].floats(), count});
    });

    std::vector<Array> const result = downloads(data);
    expect_near(result.front(), mean(start), 1e-6, "mean");
    EXPECT_THAT(result, ::testing::Each(result.front())) << part;
  }
}

TEST_P(CudaGroup, BroadcastGivesTheRootsArrayToAll) {
  for (uint32_t root = 0; root < members(); ++root) {
    std::vector<Array> const start = random_arrays(1'001);
    std::vector<Buffer> const data = uploads(start);
    on_all([&](uint32_t rank) {
      run(rank, {CollectiveOp::kBroadcast, data[rank].floats(), data[rank].floats(), 1'001, root});
    });
    EXPECT_THAT(downloads(data), ::testing::Each(start[root]));
  }
}

TEST_P(CudaGroup, ManyMessagesArriveInOrderAndASendWaitsForNoReceive) {
  constexpr size_t kCount = 10'007, kMessages = 20;
  std::vector<std::vector<Array>> received(members());
  on_all([&](uint32_t rank) {
    uint32_t const next = (rank + 1) % members(), previous = (rank + members() - 1) % members();
    Device& d = device(rank);
    std::vector<Buffer> sent, arrived;
    for (size_t m = 0; m < kMessages; ++m) {
      sent.push_back(upload(d, random_array(kCount, rank * 100 + m)));
      arrived.push_back(empty(d, kCount));
    }

    // All send everything before any device receives.
    for (size_t m = 0; m < kMessages; ++m)
      run(rank, {CollectiveOp::kSend, sent[m].floats(), nullptr, kCount, next});
    for (size_t m = 0; m < kMessages; ++m)
      run(rank, {CollectiveOp::kReceive, nullptr, arrived[m].floats(), kCount, previous});
    for (Buffer const& buffer : arrived) received[rank].push_back(download(d, buffer));
  });

  for (uint32_t rank = 0; rank < members(); ++rank) {
    for (size_t m = 0; m < kMessages; ++m) {
      uint64_t const previous = (rank + members() - 1) % members();
      EXPECT_EQ(received[rank][m], random_array(kCount, previous * 100 + m));
    }
  }
}

TEST_P(CudaGroup, ManyCollectivesInARowDoNotDisturbEachOther) {
  constexpr size_t kCount = 5'000;
  std::vector<Array> const start = random_arrays(kCount);
  std::vector<Buffer> const data = uploads(start), reduced = uploads(start);
  on_all([&](uint32_t rank) {
    Device& d = device(rank);
    for (int round = 0; round < 100; ++round) {
      d.run("copy", elementwise::Copy{data[rank].floats(), reduced[rank].floats()}, kCount);
      d.wait(StreamKind::kCommunication, d.record(StreamKind::kCompute));
      run(rank, {CollectiveOp::kAllReduce, reduced[rank].floats(), reduced[rank].floats(), kCount});
      d.wait(StreamKind::kCompute, d.record(StreamKind::kCommunication));
    }
  });

  std::vector<Array> const result = downloads(reduced);
  expect_near(result.front(), mean(start), 1e-6, "mean");
  EXPECT_THAT(result, ::testing::Each(result.front()));
}

TEST_P(CudaGroup, TheBenchmarkFindsNoWrongElement) {
  for (char const* const op :
       {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "sendrecv"}) {
    AllReduceOptions o;
    o.device = GetParam();
    o.op = op;
    o.min_bytes = 1024;
    o.max_bytes = 1 << 20;
    o.factor = 32;
    o.iterations = 5;
    o.warmup = 2;

    auto const rows = measure_all_reduce(o, nullptr);
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    for (AllReduceRow const& row : *rows) EXPECT_EQ(row.wrong, 0U) << op << " " << row.bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CudaGroup,
                         ::testing::Values("cuda:0,cuda:0", "cuda:0,cuda:0,cuda:0",
                                           "cuda:0,cuda:0,cuda:0,cuda:0", "cuda:all"));

// Whole trainings.

class CudaTraining : public CudaTest {
 protected:
  static CifarDataSet const& images() {
    static CifarDataSet const set = {generate_cifar(512, 0), generate_cifar(100, 1)};
    return set;
  }
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o;
    o.device = device;
    o.batch = batch;
    o.steps = steps;
    o.decay_epochs = 350;
    o.learning_rate = 0.05;
    o.log_every = 0;
    o.augment = false;
    return o;
  }
  static TrainingResult cifar10(TrainOptions const& o) {
    auto result = train_cifar10(o, {}, images(), nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    if (!result) return {};
    EXPECT_EQ(result->failure.value_or(""), "");
    return std::move(*result);
  }
  static TrainingResult gpt(TrainOptions o) {
    static TokenizedText const text = tokenize(generated_text(50'000));
    o.learning_rate = 1e-3;
    auto result = train_gpt(o, {}, text, nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    if (!result) return {};
    EXPECT_EQ(result->failure.value_or(""), "");
    return std::move(*result);
  }
  /// Step by step, relative.
  static void expect_losses_near(TrainingResult const& a, TrainingResult const& b,
                                 double tolerance) {
    ASSERT_EQ(a.loss.size(), b.loss.size());
    for (size_t step = 0; step < a.loss.size(); ++step)
      EXPECT_NEAR(a.loss[step], b.loss[step], tolerance * a.loss[step]) << step;
  }
};

TEST_F(CudaTraining, Cifar10FollowsTheHost) {
  TrainingResult const expected = cifar10(options("host", 32, 5)),
                       actual = cifar10(options("cuda", 32, 5));
  expect_losses_near(expected, actual, 1e-3);
  EXPECT_LT(relative_difference(expected.weights.at(0), actual.weights.at(0)), 1e-3);
}

TEST_F(CudaTraining, GptFollowsTheHost) {
  TrainingResult const expected = gpt(options("host", 4, 5)), actual = gpt(options("cuda", 4, 5));
  expect_losses_near(expected, actual, 1e-3);
  EXPECT_LT(relative_difference(expected.weights.at(0), actual.weights.at(0)),
            1e-2);  // Adam divides by small squares
}

TEST_F(CudaTraining, TheSameTrainingTwiceGivesTheSameBits) {
  EXPECT_EQ(cifar10(options("cuda", 64, 10)).weights, cifar10(options("cuda", 64, 10)).weights);
  EXPECT_EQ(gpt(options("cuda", 8, 10)).weights, gpt(options("cuda", 8, 10)).weights);
}

TEST_F(CudaTraining, LogicalDevicesEqualOneWithTheWholeBatchAndHaveTheSameBits) {
  TrainingResult const one = cifar10(options("cuda", 64, 10)),
                       two = cifar10(options("cuda:0,cuda:0", 32, 10));
  ASSERT_EQ(two.weights.size(), 2U);
  EXPECT_EQ(two.weights[0], two.weights[1]);
  EXPECT_LT(relative_difference(one.weights.at(0), two.weights[0]), 1e-3);

  TrainingResult const gpt_one = gpt(options("cuda", 8, 10)),
                       gpt_two = gpt(options("cuda:0,cuda:0", 4, 10));
  ASSERT_EQ(gpt_two.weights.size(), 2U);
  EXPECT_EQ(gpt_two.weights[0], gpt_two.weights[1]);
  EXPECT_LT(relative_difference(gpt_one.weights.at(0), gpt_two.weights[0]), 1e-2);
}

TEST_F(CudaTraining, LearnsInEveryPrecision) {
  for (Precision const precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    TrainOptions o = options("cuda", 64, 100);
    o.precision = precision;
    TrainingResult const result = cifar10(o);
    ASSERT_EQ(result.loss.size(), 100U);
    EXPECT_LT(std::accumulate(result.loss.end() - 10, result.loss.end(), 0.0) / 10, 1.2)
        << precision_name(precision);
  }
}

TEST_F(CudaTraining, GraphsGiveTheSameBitsWithFewerLaunches) {
  auto const expect_same = [](std::function<TrainingResult(TrainOptions const&)> const& train,
                              TrainOptions o) {
    TrainingResult const plain = train(o);
    o.graphs = true;
    TrainingResult const graphed = train(o);

    EXPECT_EQ(plain.weights, graphed.weights);
    EXPECT_EQ(plain.loss, graphed.loss);
    EXPECT_EQ(plain.counts.graphs, 0U);
    EXPECT_GT(graphed.counts.graphs, 0U);
    EXPECT_EQ(plain.counts.kernels, graphed.counts.kernels);
    EXPECT_LT(graphed.counts.launches, plain.counts.launches);
  };

  expect_same(cifar10, options("cuda", 32, 12));
  expect_same(gpt, options("cuda", 4, 12));

  // With exchanges between the graphs of a pass, gradients of several batches, in every precision.
  expect_same(cifar10, options("cuda:0,cuda:0", 16, 12));
  TrainOptions sharded = options("cuda:0,cuda:0", 4, 12);
  sharded.update = UpdateKind::kSharded;
  expect_same(gpt, sharded);
  TrainOptions accumulated = options("cuda", 8, 12);
  accumulated.accumulate = 3;
  expect_same(cifar10, accumulated);
  for (Precision const precision : {Precision::kTf32, Precision::kBf16}) {
    TrainOptions o = options("cuda", 16, 10);
    o.precision = precision;
    expect_same(cifar10, o);
  }
}

TEST_F(CudaTraining, WhatCannotBeAGraphIsLaunchedAsWithout) {
  TrainOptions o = options("cuda", 16, 8);
  o.device_faults.synchronize_every_op = true;
  TrainingResult const plain = cifar10(o);
  o.graphs = true;
  TrainingResult const graphed = cifar10(o);
  EXPECT_EQ(plain.weights, graphed.weights);
  EXPECT_EQ(graphed.counts.graphs, 0U);
}

TEST_F(CudaTraining, PipelinesAndLayersCutOverDevicesGiveTheWeightsOfOneDevice) {
  auto const train = [](std::string const& device, int64_t micro_batches, bool tensor) {
    SplitOptions o;
    o.device = device;
    o.micro_batches = micro_batches;
    o.tensor = tensor;
    o.batch = 32;
    o.steps = 3;
    o.log_every = 0;
    return train_split(o, describe_cnn(static_cast<int64_t>(kCropSide), 3, kCifarClasses, {}),
                       images(), nullptr);
  };

  auto const one = train("cuda:0", 1, false), two = train("cuda:0,cuda:0", 4, false),
             cut = train("cuda:0,cuda:0", 1, true);
  ASSERT_TRUE(one.has_value()) << one.error().message;
  ASSERT_TRUE(two.has_value()) << two.error().message;
  EXPECT_LT(relative_difference(one->weights, two->weights), 1e-3);
  ASSERT_TRUE(cut.has_value()) << cut.error().message;
  EXPECT_LT(relative_difference(one->weights, cut->weights), 1e-3);
}

TEST_F(CudaTraining, AsynchronousUpdatesOfSharedWeightsLearnToo) {
  TrainOptions o = options("cuda:0,cuda:0", 32, 100);
  ASSERT_TRUE(make_asynchronous(o).has_value());
  TrainingResult const result = cifar10(o);
  ASSERT_EQ(result.loss.size(), 100U);
  EXPECT_LT(std::accumulate(result.loss.end() - 10, result.loss.end(), 0.0) / 10, 1.5);
}

TEST_F(CudaTraining, MatrixPowersAreTheSameOnOneAndTwoDevices) {
  MatpowOptions o;
  o.device = "cuda:0,cuda:0";
  o.size = 200;
  o.power = 4;
  o.repeat = 1;
  auto const result = compute_matpow(o);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  expect_near(result->two_devices, result->one_device, 1e-5, "sum of the powers");
}

}  // namespace
}  // namespace stepscope::workloads
