// The transformer's operations on the host backend: output against a naive twin in double,
// gradients against finite differences of that twin; then the gradient of a whole small GPT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/workloads/backend/host/host_device_test.h"
#include "tests/unit/workloads/transformer_reference.h"
#include "workloads/backend/backend.h"
#include "workloads/networks/gpt.h"

namespace stepscope::workloads {
namespace {

class TransformerOps : public testing::HostDeviceTest {
 protected:
  Buffer upload_ints(std::vector<int32_t> const& values) {
    Buffer buffer =
        device_.allocate(values.size() * sizeof(int32_t), MemoryPurpose::kOther, "test").value();
    device_.copy(StreamKind::kCompute, "upload", buffer.data(), values.data(), buffer.bytes(),
                 CopyDirection::kHostToDevice);
    device_.synchronize();
    return buffer;
  }
  std::vector<int32_t> random_tokens(size_t count, int64_t vocabulary) {
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens)
      token = static_cast<int32_t>(random_.below(static_cast<uint32_t>(vocabulary)));
    return tokens;
  }

  void check_layer_norm(int64_t rows, int64_t width);
  void check_gpt_gradient(GptShape const& shape, int64_t batch);
};

TEST_F(TransformerOps, EmbeddingMatchesItsTwinAndItsFiniteDifferences) {
  int64_t const batch = 3, time = 5, width = 7, vocabulary = 6;
  std::vector<int32_t> tokens = random_tokens(15, vocabulary - 1);  // the last entry does not occur
  Values const table = random(42), positions = random(35), dy = random(105);
  Buffer const dev_tokens = upload_ints(tokens), dev_table = upload(table),
               dev_positions = upload(positions), dev_dy = upload(dy);
  Buffer const y = empty(105), d_table = empty(42), d_positions = empty(35);

  device_.run_rows("embedding",
                   rowwise::EmbeddingForward{width, time, dev_tokens.ints(), dev_table.floats(),
                                             dev_positions.floats(), y.floats()},
                   batch * time);
  device_.run_rows("tokens",
                   rowwise::TokenGradient{width, batch * time, dev_tokens.ints(), dev_dy.floats(),
                                          d_table.floats()},
                   vocabulary);
  device_.run_rows(
      "positions",
      rowwise::PositionGradient{width, batch, time, dev_dy.floats(), d_positions.floats()}, time);

  expect_near(download(y), reference::embedding(7, 5, tokens, table, positions), "output");
  expect_gradient(
      download(d_table), table,
      [&](Values const& v) { return dot(reference::embedding(7, 5, tokens, v, positions), dy); },
      "table");
  expect_gradient(
      download(d_positions), positions,
      [&](Values const& v) { return dot(reference::embedding(7, 5, tokens, table, v), dy); },
      "positions");
}

void TransformerOps::check_layer_norm(int64_t rows, int64_t width) {
  auto const w = static_cast<size_t>(width), count = static_cast<size_t>(rows) * w;
  Values x = random(count, 2.0F);
  for (double& v : x) v += 3;  // a mean that has to go
  Values const scale = random(w), shift = random(w), dy = random(count), past = random(count);
  Buffer const dev_x = upload(x), dev_scale = upload(scale), dev_shift = upload(shift),
               dev_dy = upload(dy), dx = upload(past);
  Buffer const y = empty(count), statistics = empty(2 * static_cast<size_t>(rows)),
               d_scale = empty(w), d_shift = empty(w);

  device_.run_rows(
      "norm",
      rowwise::LayerNormForward{width, dev_x.floats(), dev_scale.floats(), dev_shift.floats(),
                                y.floats(), statistics.floats(), 1e-5F},
      rows);
  device_.run_rows("norm.data",
                   rowwise::LayerNormBackward{width, dev_x.floats(), dev_scale.floats(),
                                              statistics.floats(), dev_dy.floats(), dx.floats()},
                   rows);
  device_.run_rows(
      "norm.weights",
      rowwise::LayerNormParameterGradient{rows, width, dev_x.floats(), statistics.floats(),
                                          dev_dy.floats(), d_scale.floats(), d_shift.floats()},
      width);

  expect_near(download(y), reference::layer_norm(w, x, scale, shift), "output");
  // What was in dx is added to: as if x had also gone around the norm.
  expect_gradient(
      download(dx), x,
      [&](Values const& v) {
        return dot(reference::layer_norm(w, v, scale, shift), dy) + dot(v, past);
      },
      "data");
  expect_gradient(
      download(d_scale), scale,
      [&](Values const& v) { return dot(reference::layer_norm(w, x, v, shift), dy); }, "scale");
  expect_gradient(
      download(d_shift), shift,
      [&](Values const& v) { return dot(reference::layer_norm(w, x, scale, v), dy); }, "shift");
}

TEST_F(TransformerOps, LayerNormMatchesItsTwinAndItsFiniteDifferences) {
  check_layer_norm(5, 12);
  check_layer_norm(1, 7);
  check_layer_norm(300, 64);  // enough for several threads
}

TEST_F(TransformerOps, LayerNormOfEqualValuesIsTheShift) {
  Buffer const x = upload(Values(4, 5.0)), scale = upload(Values(4, 2.0)),
               shift = upload({1, 2, 3, 4});
  Buffer const y = empty(4), statistics = empty(2);
  device_.run_rows("norm",
                   rowwise::LayerNormForward{4, x.floats(), scale.floats(), shift.floats(),
                                             y.floats(), statistics.floats(), 1e-5F},
                   1);
  EXPECT_EQ(download(y), (Values{1, 2, 3, 4}));
}

TEST_F(TransformerOps, GeluMatchesItsTwinAndItsFiniteDifferences) {
  Values const x = random(60, 4.0F), dy = random(60);
  Buffer const dev_x = upload(x), y = empty(60), dx = upload(dy);
  device_.run("gelu", elementwise::GeluForward{dev_x.floats(), y.floats()}, 60);
  device_.run("gelu.backward", elementwise::GeluBackward{dev_x.floats(), dx.floats()}, 60);
  expect_near(download(y), reference::gelu(x), "output");
  expect_gradient(
      download(dx), x, [&](Values const& v) { return dot(reference::gelu(v), dy); }, "data");
}

TEST_F(TransformerOps, GeluOfHugeValuesIsTheValueOrZero) {
  Buffer const x = upload({-1e4, -30.0, 0.0, 30.0, 1e4}), y = empty(5), dx = upload(Values(5, 1.0));
  device_.run("gelu", elementwise::GeluForward{x.floats(), y.floats()}, 5);
  device_.run("gelu.backward", elementwise::GeluBackward{x.floats(), dx.floats()}, 5);
  expect_near(download(y), {0.0, 0.0, 0.0, 30.0, 1e4}, "output");
  expect_near(download(dx), {0.0, 0.0, 0.5, 1.0, 1.0}, "gradient");
}

TEST_F(TransformerOps, ResidualSumAddsBothArrays) {
  Buffer const a = upload({1, 2, 3}), b = upload({10, 20, 30}), y = empty(3);
  device_.run("sum", elementwise::Add{a.floats(), b.floats(), y.floats()}, 3);
  EXPECT_EQ(download(y), (Values{11, 22, 33}));
}

TEST_F(TransformerOps, HeadsAreSplitAsTheirTwinDoesItAndMergedBack) {
  for (int64_t const parts : {1, 3}) {
    rowwise::HeadsShape const s = {2, 5, parts, 3, 4};
    auto const count = static_cast<size_t>(s.batch * s.time * s.row_stride());
    Values const rows = random(count);
    Buffer const dev_rows = upload(rows), matrices = empty(count), back = empty(count);

    device_.run_rows("split", rowwise::SplitHeads{s, dev_rows.floats(), matrices.floats()},
                     s.matrices());
    device_.run_rows("merge", rowwise::MergeHeads{s, matrices.floats(), back.floats()},
                     s.matrices());

    EXPECT_EQ(download(matrices), reference::split_heads(s, rows));
    EXPECT_EQ(download(back), rows);
  }
}

TEST_F(TransformerOps, CausalSoftmaxMatchesItsTwinAndItsFiniteDifferences) {
  for (size_t const time : {1U, 6U}) {
    size_t const rows = 3 * time;
    Values const scores = random(rows * time, 3.0F), dy = random(rows * time);
    Buffer const y = upload(scores), d = upload(dy);

    device_.run_rows("softmax",
                     rowwise::CausalSoftmaxForward{static_cast<int64_t>(time), y.floats()},
                     static_cast<int64_t>(rows));
    device_.run_rows("softmax.backward",
                     rowwise::SoftmaxBackward{static_cast<int64_t>(time), y.floats(), d.floats()},
                     static_cast<int64_t>(rows));

    expect_near(download(y), reference::causal_softmax(time, scores), "output");
    expect_gradient(
        download(d), scores,
        [&](Values const& v) { return dot(reference::causal_softmax(time, v), dy); }, "scores");
  }
}

TEST_F(TransformerOps, CausalSoftmaxOfHugeScoresIsFiniteAndBlindToWhatComesAfter) {
  Buffer const y = upload({-1000.0, 1e30, /**/ 1000.0, -1000.0});
  device_.run_rows("softmax", rowwise::CausalSoftmaxForward{2, y.floats()}, 2);
  EXPECT_EQ(download(y), (Values{1.0, 0.0, /**/ 1.0, 0.0}));
}

// The whole network.

void TransformerOps::check_gpt_gradient(GptShape const& shape, int64_t batch) {
  ParameterLayout const layout = gpt_parameters(shape);
  std::vector<Bucket> const buckets = make_buckets(layout, 0);
  // Large weights everywhere, so that no path through the network is too weak to be seen.
  Values flat = random(layout.floats, 0.6F);
  for (Parameter const& p : layout.parameters) {
    for (size_t i = 0; i < p.count; ++i) flat[p.offset + i] += static_cast<double>(p.initial);
  }
  std::vector<float> const rounded(flat.begin(), flat.end());
  flat.assign(rounded.begin(), rounded.end());
  auto const rows = static_cast<size_t>(batch * shape.context);
  std::vector<int32_t> const tokens = random_tokens(rows, shape.vocabulary),
                             labels = random_tokens(rows, shape.vocabulary);
  Buffer const weights = upload(flat), gradients = empty(layout.floats), result = empty(2);
  InputBuffers const input{upload_ints(tokens), upload_ints(labels), nullptr, nullptr};

  auto const replica =
      make_gpt_replica(
          {&device_, &layout, batch, weights.floats(), gradients.floats(), result.floats()}, shape)
          .value();
  GradientReducer reducer(device_, nullptr, buckets, gradients.floats(), nullptr, {});
  for (int pass = 0; pass < 2; ++pass) {  // the second one must not see what the first one left
    reducer.begin(0);
    replica->forward(input);
    replica->backward(input, reducer);
    reducer.finish();
  }
  Values const actual = download(gradients);
  ASSERT_NEAR(download(result)[0], reference::gpt_loss(shape, layout, flat, tokens, labels), 1e-5);

  constexpr size_t kOfEach = 12;
  for (Parameter const& p : layout.parameters) {
    Values expected, found;
    for (size_t k = 0; k < std::min(p.count, kOfEach); ++k) {
      size_t const i =
          p.offset + (p.count <= kOfEach ? k : random_.below(static_cast<uint32_t>(p.count)));
      Values above = flat, below = flat;
      above[i] += testing::kStep;
      below[i] -= testing::kStep;
      expected.push_back((reference::gpt_loss(shape, layout, above, tokens, labels) -
                          reference::gpt_loss(shape, layout, below, tokens, labels)) /
                         (2 * testing::kStep));
      found.push_back(actual[i]);
    }
    double largest = 0;
    for (double const g : expected) largest = std::max(largest, std::fabs(g));
    // Relative to the array's largest element: float keeps 7 digits, depth costs two or three.
    for (size_t k = 0; k < found.size(); ++k) {
      EXPECT_NEAR(found[k], expected[k], 1e-4 * largest + 1e-6) << p.update_name << " at " << k;
    }
  }
}

TEST_F(TransformerOps, GradientOfAWholeGptMatchesTheFiniteDifferencesOfItsTwin) {
  check_gpt_gradient({2, 2, 8, 4, 5}, 3);
  check_gpt_gradient({1, 1, 6, 3, 4}, 1);
  check_gpt_gradient({3, 3, 12, 5, 7}, 2);
}

}  // namespace
}  // namespace stepscope::workloads
