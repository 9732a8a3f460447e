// How close the cifar10 workload comes to the limits of its libraries, as ratios to be read within
// one run:
//   step        one training step of batch 128 on one host device, over the sum of its oneDNN
//   primitives run alone in a loop all-reduce  16 MiB over two host devices, over memcpy of as many
//   bytes (algorithm bandwidth)
// OMP_NUM_THREADS bounds the threads of the device and of the primitives alike.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "workloads/backend/host/collectives/ring.h"
#include "workloads/backend/host/collectives/thread_transport.h"
#include "workloads/backend/host/onednn_versions.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/networks/cifar10.h"

namespace {

using namespace stepscope::workloads;
using dnnl::memory;
using Tag = memory::format_tag;

constexpr int64_t kBatch = 128;
constexpr size_t kReducedFloats = (size_t{16} << 20U) / sizeof(float);

/// Primitives with memory of their own, run one after the other.
class Primitives {
 public:
  template <class Primitive, class PrimitiveDesc>
  void add(PrimitiveDesc const& desc, std::vector<std::pair<int, memory::desc>> const& tensors) {
    Work work{Primitive(desc), {}};
    for (auto const& [argument, tensor] : tensors) {
      memory const data(tensor, engine_);
      if (argument != DNNL_ARG_WORKSPACE) fill(data, tensor.get_size() / sizeof(float));
      work.arguments.emplace(argument, data);
    }
    work_.push_back(work);
  }
  void convolution(int64_t side, int64_t in, int64_t out, bool data);
  void pooling(int64_t side, int64_t channels);
  void normalisation(int64_t side, int64_t channels);
  void inner_product(int64_t inputs, int64_t outputs);
  void run() {
    for (Work const& work : work_) work.primitive.execute(stream_, work.arguments);
    stream_.wait();
  }

 private:
  struct Work {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };
  static memory::desc floats(memory::dims const& dims, Tag tag) {
    return {dims, memory::data_type::f32, tag};
  }
  static void fill(memory const& data, size_t count) {
    auto* const values = static_cast<float*>(data.get_data_handle());
    for (size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(i * 7919 % 1000) * 1e-3F - 0.4F;
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Work> work_;
};

void Primitives::convolution(int64_t side, int64_t in, int64_t out, bool data) {
  using namespace dnnl;
  auto const x = floats({kBatch, in, side, side}, Tag::nhwc),
             y = floats({kBatch, out, side, side}, Tag::nhwc);
  auto const w = floats({out, in, 5, 5}, Tag::any), b = floats({out}, Tag::a);
  memory::dims const one = {1, 1}, two = {2, 2};

  auto const how = algorithm::convolution_auto;
  auto const f = host::describe<convolution_forward>(engine_, {}, prop_kind::forward_training, how,
                                                     x, w, b, y, one, two, two);

  add<convolution_forward>(f, {{DNNL_ARG_SRC, x},
                               {DNNL_ARG_WEIGHTS, f.weights_desc()},
                               {DNNL_ARG_BIAS, b},
                               {DNNL_ARG_DST, y}});

  auto const g = host::describe_backward<convolution_backward_weights>(engine_, {}, f, how, x, w, b,
                                                                       y, one, two, two);
  add<convolution_backward_weights>(g, {{DNNL_ARG_SRC, x},
                                        {DNNL_ARG_DIFF_DST, y},
                                        {DNNL_ARG_DIFF_WEIGHTS, g.diff_weights_desc()},
                                        {DNNL_ARG_DIFF_BIAS, b}});

  if (!data) return;
  auto const d = host::describe_backward<convolution_backward_data>(engine_, {}, f, how, x, w, y,
                                                                    one, two, two);
  add<convolution_backward_data>(
      d, {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DIFF_SRC, x}});
}

void Primitives::pooling(int64_t side, int64_t channels) {
  using namespace dnnl;
  auto const x = floats({kBatch, channels, side, side}, Tag::nhwc),
             y = floats({kBatch, channels, side / 2, side / 2}, Tag::nhwc);
  host::MaxPoolWindows const windows{x, y, {2, 2}, {3, 3}, {0, 0}, {1, 1}};

  auto const f = host::describe_max_pool(engine_, {}, windows);
  auto const positions = f.workspace_desc();
  add<pooling_forward>(f, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, positions}});

  auto const d = host::describe_max_pool_backward(engine_, {}, f, windows);
  // Reads the positions that its forward left, like the training does.
  Work work{pooling_backward(d),
            {{DNNL_ARG_WORKSPACE, work_.back().arguments.at(DNNL_ARG_WORKSPACE)}}};
  work.arguments.emplace(DNNL_ARG_DIFF_SRC, memory(x, engine_));
  work.arguments.emplace(DNNL_ARG_DIFF_DST, memory(y, engine_));
  fill(work.arguments.at(DNNL_ARG_DIFF_DST), y.get_size() / sizeof(float));

  work_.push_back(work);
}

void Primitives::normalisation(int64_t side, int64_t channels) {
  using namespace dnnl;
  auto const x = floats({kBatch, channels, side, side}, Tag::nhwc);
  host::LrnWindow const window{x, 9, 0.001F, 0.75F, 1.0F};

  auto const f = host::describe_lrn(engine_, {}, window);
  add<lrn_forward>(
      f, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, x}, {DNNL_ARG_WORKSPACE, f.workspace_desc()}});

  auto const d = host::describe_lrn_backward(engine_, {}, f, window);
  add<lrn_backward>(d, {{DNNL_ARG_SRC, x},
                        {DNNL_ARG_DIFF_DST, x},
                        {DNNL_ARG_DIFF_SRC, x},
                        {DNNL_ARG_WORKSPACE, f.workspace_desc()}});
}

void Primitives::inner_product(int64_t inputs, int64_t outputs) {
  using namespace dnnl;
  auto const x = floats({kBatch, inputs}, Tag::nc), y = floats({kBatch, outputs}, Tag::nc);
  auto const w = floats({outputs, inputs}, Tag::any), b = floats({outputs}, Tag::a);

  auto const f =
      host::describe<inner_product_forward>(engine_, {}, prop_kind::forward_training, x, w, b, y);
  add<inner_product_forward>(f, {{DNNL_ARG_SRC, x},
                                 {DNNL_ARG_WEIGHTS, f.weights_desc()},
                                 {DNNL_ARG_BIAS, b},
                                 {DNNL_ARG_DST, y}});

  auto const g =
      host::describe_backward<inner_product_backward_weights>(engine_, {}, f, x, w, b, y);
  add<inner_product_backward_weights>(g, {{DNNL_ARG_SRC, x},
                                          {DNNL_ARG_DIFF_DST, y},
                                          {DNNL_ARG_DIFF_WEIGHTS, g.diff_weights_desc()},
                                          {DNNL_ARG_DIFF_BIAS, b}});

  auto const d = host::describe_backward<inner_product_backward_data>(engine_, {}, f, x, w, y);
  add<inner_product_backward_data>(
      d, {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DIFF_SRC, x}});
}

void primitives_alone(benchmark::State& state) {
  Primitives primitives;
  primitives.convolution(24, 3, 64, false);
  primitives.pooling(24, 64);
  primitives.normalisation(12, 64);
  primitives.convolution(12, 64, 64, true);
  primitives.normalisation(12, 64);
  primitives.pooling(12, 64);
  primitives.inner_product(2304, 384);
  primitives.inner_product(384, 192);
  primitives.inner_product(192, 10);

  primitives.run();
  for (auto _ : state) primitives.run();
}
BENCHMARK(primitives_alone)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Iterations are steps; the first ones are warm-up.
void training_step(benchmark::State& state) {
  constexpr int64_t kWarmUp = 3;

  CifarDataSet const data = {generate_cifar(2000, 0), generate_cifar(10, 1)};
  TrainOptions options;
  options.decay_epochs = 350;
  options.evaluate = false;
  options.learning_rate = 0.01;
  options.steps = static_cast<int64_t>(state.max_iterations) + kWarmUp;

  auto const result = train_cifar10(options, {}, data, nullptr);
  if (!result) return state.SkipWithError(result.error().message.c_str());

  size_t step = kWarmUp;
  for (auto _ : state)
    state.SetIterationTime(static_cast<double>(result->step_ns[0][step++]) * 1e-9);
}
BENCHMARK(training_step)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(40);

void copy_16_mib(benchmark::State& state) {
  std::vector<float> const from(kReducedFloats, 1.0F);
  std::vector<float> to(kReducedFloats);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kReducedFloats * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<int64_t>(state.iterations() * kReducedFloats * sizeof(float)));
}
BENCHMARK(copy_16_mib)->Unit(benchmark::kMillisecond)->UseRealTime();

void all_reduce_16_mib(benchmark::State& state) {
  constexpr int kInner = 20;  // collectives per iteration: starting the other thread must not count
  host::Ring ring(std::make_unique<host::ThreadTransport>(2));
  std::vector<float> a(kReducedFloats, 1.0F);
  std::vector<float> b(kReducedFloats, 2.0F);

  for (auto _ : state) {
    std::thread other([&] {
      for (int i = 0; i < kInner; ++i) ring.all_reduce_mean(1, b.data(), kReducedFloats);
    });
    for (int i = 0; i < kInner; ++i) ring.all_reduce_mean(0, a.data(), kReducedFloats);
    other.join();
  }

  state.SetBytesProcessed(
      static_cast<int64_t>(state.iterations() * kInner * kReducedFloats * sizeof(float)));
}
BENCHMARK(all_reduce_16_mib)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
