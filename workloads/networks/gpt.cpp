// GPT: a decoder-only transformer over the bytes of a text, trained synchronously data-parallel.
// Source of the network: Radford et al., "Language Models are Unsupervised Multitask Learners"
// (GPT-2, 2019). It has learned embeddings of tokens and positions, blocks x + attention(norm(x)),
// x + mlp(norm(x)), a last norm and a projection to the vocabulary. Here the projection has weights
// of its own and a bias. From top to bottom: the parameters, what a replica is made with, layer
// norm, attention, the block, the replica. A "row" is one position of one sequence:
// rows = batch × context. The job: gpt_job.cpp; the loop around
// them: data_parallel.cpp.
#include "workloads/networks/gpt.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "workloads/training/loss.h"

namespace stepscope::workloads {
namespace {

constexpr int64_t kMlpRatio = 4;  // hidden width of the MLP / width
constexpr float kNormEpsilon = 1e-5F;
constexpr float kDecay = 0.1F;  // weight decay of the matrices, as GPT-3 (Brown et al., 2020) has
                                // it; nothing else decays

// Parameters.

/// In the order of gpt_parameters(): the end of the network, then its blocks from the last to the
/// first, then the embeddings.
enum EndParameter : size_t { kHeadWeights, kHeadBias, kLastNormScale, kLastNormShift, kBlocks };
enum BlockParameter : size_t {
  kDownWeights,
  kDownBias,
  kUpWeights,
  kUpBias,
  kMlpNormScale,
  kMlpNormShift,
  kOutWeights,
  kOutBias,
  kQkvWeights,
  kQkvBias,
  kAttentionNormScale,
  kAttentionNormShift,
  kBlockParameters
};
size_t block_parameter(GptShape const& s, int64_t block, BlockParameter parameter) {
  return kBlocks + static_cast<size_t>(s.layers - 1 - block) * kBlockParameters + parameter;
}
size_t position_table(GptShape const& s) {
  return kBlocks + static_cast<size_t>(s.layers) * kBlockParameters;
}
size_t token_table(GptShape const& s) { return position_table(s) + 1; }

}  // namespace

ParameterLayout gpt_parameters(GptShape const& s) {
  // GPT-2's deviation 0.02 at its width of 768; of a matrix with fewer inputs it is larger, so that
  // its outputs are as large.
  auto const deviation = [](int64_t inputs) {
    return 0.02 * std::sqrt(768.0 / static_cast<double>(inputs));
  };
  // The 2 × layers branches add up in the residual stream.
  double const branch = 1.0 / std::sqrt(2.0 * static_cast<double>(s.layers));
  int64_t const hidden = kMlpRatio * s.width;

  ParameterLayout layout;
  layout.model = fmt::format("gpt-layers{}-heads{}-width{}-context{}-vocabulary{}", s.layers,
                             s.heads, s.width, s.context, s.vocabulary);
  layout.add({"head", s.vocabulary, s.width, 0.02, 0.0F, kDecay});
  layout.add_norm("norm", s.width);

  for (int64_t block = s.layers - 1; block >= 0; --block) {
    std::string const name = fmt::format("block{}.", block);
    layout.add({name + "mlp.down", s.width, hidden, deviation(hidden) * branch, 0.0F, kDecay});
    layout.add({name + "mlp.up", hidden, s.width, deviation(s.width), 0.0F, kDecay});
    layout.add_norm(name + "mlp.norm", s.width);
    layout.add(
        {name + "attention.out", s.width, s.width, deviation(s.width) * branch, 0.0F, kDecay});
    layout.add({name + "attention.qkv", 3 * s.width, s.width, deviation(s.width), 0.0F, kDecay});
    layout.add_norm(name + "attention.norm", s.width);
  }

  layout.add_table("positions", s.context, s.width, 0.02, 0.0F);
  layout.add_table("tokens", s.vocabulary, s.width, 0.02, 0.0F);
  return layout;
}

namespace {

// What a replica is made with.

/// Makes memory and layers and keeps the first error: a replica is made in one go, and asked once
/// how it went.
class Maker {
 public:
  Maker(ReplicaMemory const& where, GptShape const& what)
      : memory(where),
        shape(what),
        rows(where.batch * what.context),
        matrices(where.batch * what.heads) {}

  Buffer floats(int64_t count, std::string_view owner) {
    return take(memory.device->allocate(static_cast<size_t>(count) * sizeof(float),
                                        MemoryPurpose::kActivations, owner));
  }
  std::unique_ptr<Dense> dense(std::string_view name, int64_t inputs, int64_t outputs) {
    return take(memory.device->dense(name, {rows, inputs, outputs, false}));
  }
  std::unique_ptr<MatMul> matmul(std::string_view name, MatMulShape const& of) {
    return take(memory.device->matmul(name, of));
  }
  [[nodiscard]] std::optional<base::Error> const& error() const { return error_; }

  ReplicaMemory const& memory;
  GptShape const& shape;
  int64_t rows;      ///< positions of the batch
  int64_t matrices;  ///< heads of the batch

 private:
  template <class T>
  T take(base::Expected<T> made) {
    if (made) return std::move(*made);
    if (!error_) error_ = made.error();
    return T();
  }

  std::optional<base::Error> error_;
};

/// What the blocks use one after the other: results that the backward pass does not need, and
/// gradients.
struct Scratch {
  explicit Scratch(Maker& make)
      : branch(make.floats(make.rows * make.shape.width, "branch")),
        d_normed(make.floats(make.rows * make.shape.width, "normed.gradient")),
        d_hidden(make.floats(make.rows * kMlpRatio * make.shape.width, "mlp.hidden.gradient")),
        qkv_rows(make.floats(make.rows * 3 * make.shape.width, "attention.qkv")),
        d_qkv(make.floats(make.rows * 3 * make.shape.width, "attention.qkv.gradient")),
        heads(make.floats(make.rows * make.shape.width, "attention.heads")),
        d_scores(make.floats(make.matrices * make.shape.context * make.shape.context,
                             "attention.scores.gradient")) {}

  Buffer branch;    ///< [rows][width]; what a branch adds to the stream; backward: the gradient of
                    ///< attention's merged heads
  Buffer d_normed;  ///< [rows][width]
  Buffer d_hidden;  ///< [rows][4 width]
  Buffer qkv_rows;  ///< [rows][3][heads][dim], backward: their gradient
  Buffer d_qkv;     ///< [3][batch × heads][context][dim]
  Buffer heads;  ///< [batch × heads][context][dim]: what the heads found, backward: its gradient
  Buffer d_scores;  ///< [batch × heads][context][context]
};

// Layer norm.

class LayerNorm {
 public:
  LayerNorm(Maker& make, std::string const& name, size_t scale)
      : m_(make.memory),
        rows_(make.rows),
        width_(make.shape.width),
        scale_(scale),
        forward_name_(name + ".forward"),
        data_name_(name + ".backward.data"),
        weights_name_(name + ".backward.weights"),
        statistics_(make.floats(2 * make.rows, name + ".statistics")) {}

  void forward(float const* x, float* y) {
    m_.device->run_rows(forward_name_.c_str(),
                        rowwise::LayerNormForward{width_, x, m_.w(scale_), m_.w(scale_ + 1), y,
                                                  statistics_.floats(), kNormEpsilon},
                        rows_);
  }
  /// Adds the gradient of x to dx.
  void backward(float const* x, float const* dy, float* dx) {
    m_.device->run_rows(weights_name_.c_str(),
                        rowwise::LayerNormParameterGradient{rows_, width_, x, statistics_.floats(),
                                                            dy, m_.g(scale_), m_.g(scale_ + 1)},
                        width_);
    m_.device->run_rows(
        data_name_.c_str(),
        rowwise::LayerNormBackward{width_, x, m_.w(scale_), statistics_.floats(), dy, dx}, rows_);
  }

 private:
  ReplicaMemory m_;
  int64_t rows_, width_;
  size_t scale_;  ///< parameter; the shift is the next one
  std::string forward_name_, data_name_, weights_name_;
  Buffer statistics_;
};

// Attention.

/// Causal multi-head self-attention (Vaswani et al., 2017), without the norm before it and the sum
/// behind it: softmax(q kᵀ / √dim) v per head.
class Attention {
 public:
  Attention(Maker& make, Scratch& scratch, int64_t block);

  void forward(float const* x, float* y);
  /// Reports its gradients to `reducer`; dy stays as it is.
  void backward(float const* x, float const* dy, float* dx, GradientReducer& reducer);

 private:
  [[nodiscard]] size_t id(BlockParameter parameter) const {
    return block_parameter(shape_, block_, parameter);
  }
  /// Query, key and value of all heads lie one behind the other.
  [[nodiscard]] int64_t part() const { return m_.batch * shape_.context * shape_.width; }

  ReplicaMemory m_;
  GptShape shape_;
  int64_t block_;
  rowwise::HeadsShape qkv_heads_, out_heads_;
  Scratch& scratch_;
  std::unique_ptr<Dense> qkv_dense_, out_dense_;
  std::unique_ptr<MatMul> scores_, values_, d_weights_, d_value_, d_query_, d_key_;
  std::string split_name_, softmax_name_, merge_name_, backward_split_name_, backward_softmax_name_,
      backward_merge_name_;
  Buffer qkv_;      ///< [3][batch × heads][context][dim]
  Buffer weights_;  ///< [batch × heads][context][context], after the softmax
  Buffer merged_;   ///< [rows][width]
};

Attention::Attention(Maker& make, Scratch& scratch, int64_t block)
    : m_(make.memory),
      shape_(make.shape),
      block_(block),
      qkv_heads_{make.memory.batch, shape_.context, 3, shape_.heads, shape_.head_dim()},
      out_heads_{make.memory.batch, shape_.context, 1, shape_.heads, shape_.head_dim()},
      scratch_(scratch) {
  std::string const name = fmt::format("block{}.attention.", block);
  int64_t const n = make.matrices, t = shape_.context, d = shape_.head_dim();
  float const scale = 1.0F / std::sqrt(static_cast<float>(d));

  qkv_dense_ = make.dense(name + "qkv", shape_.width, 3 * shape_.width);
  out_dense_ = make.dense(name + "out", shape_.width, shape_.width);
  scores_ = make.matmul(name + "scores.forward", {n, t, t, d, false, true, scale});  // q kᵀ
  values_ = make.matmul(name + "values.forward", {n, t, d, t});                      // weights v
  d_weights_ = make.matmul(name + "values.backward.weights", {n, t, t, d, false, true});  // d vᵀ
  d_value_ = make.matmul(name + "values.backward.value", {n, t, d, t, true, false});  // weightsᵀ d
  d_query_ =
      make.matmul(name + "scores.backward.query", {n, t, d, t, false, false, scale});  // d_scores k
  d_key_ =
      make.matmul(name + "scores.backward.key", {n, t, d, t, true, false, scale});  // d_scoresᵀ q

  split_name_ = name + "split.forward";
  softmax_name_ = name + "softmax.forward";
  merge_name_ = name + "merge.forward";
  backward_split_name_ = name + "merge.backward";
  backward_softmax_name_ = name + "softmax.backward";
  backward_merge_name_ = name + "split.backward";

  qkv_ = make.floats(3 * make.rows * shape_.width, name + "qkv");
  weights_ = make.floats(n * t * t, name + "weights");
  merged_ = make.floats(make.rows * shape_.width, name + "merged");
}

void Attention::forward(float const* x, float* y) {
  float* const query = qkv_.floats();
  float *const key = query + part(), *const value = key + part();
  int64_t const matrices = out_heads_.matrices();
  qkv_dense_->forward(x, m_.w(id(kQkvWeights)), m_.w(id(kQkvBias)), scratch_.qkv_rows.floats());

  m_.device->run_rows(split_name_.c_str(),
                      rowwise::SplitHeads{qkv_heads_, scratch_.qkv_rows.floats(), query},
                      3 * matrices);

  scores_->run(query, key, weights_.floats());
  m_.device->run_rows(softmax_name_.c_str(),
                      rowwise::CausalSoftmaxForward{shape_.context, weights_.floats()},
                      matrices * shape_.context);

  values_->run(weights_.floats(), value, scratch_.heads.floats());
  m_.device->run_rows(merge_name_.c_str(),
                      rowwise::MergeHeads{out_heads_, scratch_.heads.floats(), merged_.floats()},
                      matrices);

  out_dense_->forward(merged_.floats(), m_.w(id(kOutWeights)), m_.w(id(kOutBias)), y);
}

void Attention::backward(float const* x, float const* dy, float* dx, GradientReducer& reducer) {
  float const* const query = qkv_.floats();
  float const *const key = query + part(), *const value = key + part();
  float* const d_query = scratch_.d_qkv.floats();
  float *const d_key = d_query + part(), *const d_value = d_key + part();
  float *const d_merged = scratch_.branch.floats(), *const d_heads = scratch_.heads.floats();
  float *const d_scores = scratch_.d_scores.floats(), *const d_rows = scratch_.qkv_rows.floats();
  int64_t const matrices = out_heads_.matrices();

  out_dense_->backward_weights(merged_.floats(), dy, m_.g(id(kOutWeights)), m_.g(id(kOutBias)));
  reducer.ready(id(kOutBias));
  out_dense_->backward_data(dy, m_.w(id(kOutWeights)), d_merged);
  m_.device->run_rows(backward_split_name_.c_str(),
                      rowwise::SplitHeads{out_heads_, d_merged, d_heads}, matrices);
  d_weights_->run(d_heads, value, d_scores);
  d_value_->run(weights_.floats(), d_heads, d_value);
  m_.device->run_rows(backward_softmax_name_.c_str(),
                      rowwise::SoftmaxBackward{shape_.context, weights_.floats(), d_scores},
                      matrices * shape_.context);
  d_query_->run(d_scores, key, d_query);
  d_key_->run(d_scores, query, d_key);
  m_.device->run_rows(backward_merge_name_.c_str(),
                      rowwise::MergeHeads{qkv_heads_, d_query, d_rows}, 3 * matrices);
  qkv_dense_->backward_weights(x, d_rows, m_.g(id(kQkvWeights)), m_.g(id(kQkvBias)));
  reducer.ready(id(kQkvBias));
  qkv_dense_->backward_data(d_rows, m_.w(id(kQkvWeights)), dx);
}

// Block: x + attention(norm(x)), then x + mlp(norm(x)).

class Block {
 public:
  Block(Maker& make, Scratch& scratch, int64_t number);

  /// `x` must stay as it is until the backward pass.
  float* forward(float const* x);
  /// `d_stream`: from the gradient of what forward returned to that of `x`, in place.
  void backward(float const* x, float* d_stream, GradientReducer& reducer);

 private:
  [[nodiscard]] size_t id(BlockParameter parameter) const {
    return block_parameter(shape_, number_, parameter);
  }

  ReplicaMemory m_;
  GptShape shape_;
  int64_t number_;
  size_t stream_floats_, hidden_floats_;
  Scratch& scratch_;
  LayerNorm attention_norm_, mlp_norm_;
  Attention attention_;
  std::unique_ptr<Dense> up_, down_;
  std::string attention_sum_name_, mlp_sum_name_, gelu_name_, backward_gelu_name_;
  Buffer normed_x_, middle_,
      normed_middle_;       ///< [rows][width]; middle: the stream between attention and MLP
  Buffer hidden_, active_;  ///< [rows][4 width], before and after GELU
  Buffer y_;                ///< [rows][width]
};

Block::Block(Maker& make, Scratch& scratch, int64_t number)
    : m_(make.memory),
      shape_(make.shape),
      number_(number),
      stream_floats_(static_cast<size_t>(make.rows * make.shape.width)),
      hidden_floats_(stream_floats_ * kMlpRatio),
      scratch_(scratch),
      attention_norm_(make, fmt::format("block{}.attention.norm", number), id(kAttentionNormScale)),
      mlp_norm_(make, fmt::format("block{}.mlp.norm", number), id(kMlpNormScale)),
      attention_(make, scratch, number) {
  std::string const name = fmt::format("block{}.", number);
  int64_t const stream = make.rows * shape_.width, hidden = kMlpRatio * shape_.width;

  up_ = make.dense(name + "mlp.up", shape_.width, hidden);
  down_ = make.dense(name + "mlp.down", hidden, shape_.width);

  attention_sum_name_ = name + "attention.residual";
  mlp_sum_name_ = name + "mlp.residual";
  gelu_name_ = name + "mlp.gelu.forward";
  backward_gelu_name_ = name + "mlp.gelu.backward";

  normed_x_ = make.floats(stream, name + "attention.norm");
  middle_ = make.floats(stream, name + "attention.residual");
  normed_middle_ = make.floats(stream, name + "mlp.norm");
  hidden_ = make.floats(make.rows * hidden, name + "mlp.up");
  active_ = make.floats(make.rows * hidden, name + "mlp.gelu");
  y_ = make.floats(stream, name + "mlp.residual");
}

float* Block::forward(float const* x) {
  float* const branch = scratch_.branch.floats();

  attention_norm_.forward(x, normed_x_.floats());
  attention_.forward(normed_x_.floats(), branch);
  m_.device->run(attention_sum_name_.c_str(), elementwise::Add{x, branch, middle_.floats()},
                 stream_floats_);

  mlp_norm_.forward(middle_.floats(), normed_middle_.floats());
  up_->forward(normed_middle_.floats(), m_.w(id(kUpWeights)), m_.w(id(kUpBias)), hidden_.floats());
  m_.device->run(gelu_name_.c_str(), elementwise::GeluForward{hidden_.floats(), active_.floats()},
                 hidden_floats_);

  down_->forward(active_.floats(), m_.w(id(kDownWeights)), m_.w(id(kDownBias)), branch);
  m_.device->run(mlp_sum_name_.c_str(), elementwise::Add{middle_.floats(), branch, y_.floats()},
                 stream_floats_);

  return y_.floats();
}

void Block::backward(float const* x, float* d_stream, GradientReducer& reducer) {
  float *const d_hidden = scratch_.d_hidden.floats(), *const d_normed = scratch_.d_normed.floats();

  down_->backward_weights(active_.floats(), d_stream, m_.g(id(kDownWeights)), m_.g(id(kDownBias)));
  reducer.ready(id(kDownBias));
  down_->backward_data(d_stream, m_.w(id(kDownWeights)), d_hidden);
  m_.device->run(backward_gelu_name_.c_str(), elementwise::GeluBackward{hidden_.floats(), d_hidden},
                 hidden_floats_);

  up_->backward_weights(normed_middle_.floats(), d_hidden, m_.g(id(kUpWeights)), m_.g(id(kUpBias)));
  reducer.ready(id(kUpBias));
  up_->backward_data(d_hidden, m_.w(id(kUpWeights)), d_normed);

  mlp_norm_.backward(middle_.floats(), d_normed, d_stream);
  reducer.ready(id(kMlpNormShift));

  attention_.backward(normed_x_.floats(), d_stream, d_normed, reducer);
  attention_norm_.backward(x, d_normed, d_stream);
  reducer.ready(id(kAttentionNormShift));
}

// One device's replica.

class GptReplica final : public Replica {
 public:
  explicit GptReplica(Maker& make);
  void forward(InputBuffers const& input) override;
  void backward(InputBuffers const& input, GradientReducer& reducer) override;

 private:
  ReplicaMemory m_;
  GptShape shape_;
  int64_t rows_;
  Scratch scratch_;
  Buffer embedded_;            ///< [rows][width]
  std::vector<Block> blocks_;  ///< from the first to the last
  std::vector<float const*>
      stream_;  ///< stream_[i]: what block i began with; one more: what the last one gave
  LayerNorm norm_;
  std::unique_ptr<Dense> head_;
  Buffer normed_;             ///< [rows][width]
  Buffer logits_, d_logits_;  ///< [rows][vocabulary]
  Buffer d_stream_;           ///< [rows][width]
  Buffer row_results_;        ///< loss and correct of each row
};

GptReplica::GptReplica(Maker& make)
    : m_(make.memory),
      shape_(make.shape),
      rows_(make.rows),
      scratch_(make),
      embedded_(make.floats(make.rows * make.shape.width, "embedding")),
      norm_(make, "norm", kLastNormScale) {
  blocks_.reserve(
      static_cast<size_t>(shape_.layers));  // operations refer to names in them: they must not move
  for (int64_t i = 0; i < shape_.layers && !make.error(); ++i)
    blocks_.emplace_back(make, scratch_, i);

  head_ = make.dense("head", shape_.width, shape_.vocabulary);
  normed_ = make.floats(rows_ * shape_.width, "norm");
  logits_ = make.floats(rows_ * shape_.vocabulary, "head");
  d_logits_ = make.floats(rows_ * shape_.vocabulary, "head.gradient");
  d_stream_ = make.floats(rows_ * shape_.width, "stream.gradient");
  row_results_ = make.floats(rows_ * 2, "loss");
}

void GptReplica::forward(InputBuffers const& input) {
  m_.device->run_rows("embedding.forward",
                      rowwise::EmbeddingForward{shape_.width, shape_.context, input.inputs.ints(),
                                                m_.w(token_table(shape_)),
                                                m_.w(position_table(shape_)), embedded_.floats()},
                      rows_);

  stream_ = {embedded_.floats()};
  for (Block& block : blocks_) stream_.push_back(block.forward(stream_.back()));

  norm_.forward(stream_.back(), normed_.floats());
  head_->forward(normed_.floats(), m_.w(kHeadWeights), m_.w(kHeadBias), logits_.floats());

  softmax_cross_entropy(*m_.device,
                        {rows_, shape_.vocabulary, logits_.floats(), input.labels.ints(),
                         d_logits_.floats(), row_results_.floats(), m_.result});
}

void GptReplica::backward(InputBuffers const& input, GradientReducer& reducer) {
  float *const d_normed = scratch_.d_normed.floats(), *const d_stream = d_stream_.floats();

  head_->backward_weights(normed_.floats(), d_logits_.floats(), m_.g(kHeadWeights),
                          m_.g(kHeadBias));
  reducer.ready(kHeadBias);
  head_->backward_data(d_logits_.floats(), m_.w(kHeadWeights), d_normed);

  m_.device->run("stream.gradient.zero", elementwise::Fill{d_stream, 0.0F},
                 d_stream_.bytes() / sizeof(float));
  norm_.backward(stream_.back(), d_normed, d_stream);
  reducer.ready(kLastNormShift);

  for (size_t i = blocks_.size(); i-- > 0;) blocks_[i].backward(stream_[i], d_stream, reducer);

  m_.device->run_rows("positions.backward",
                      rowwise::PositionGradient{shape_.width, m_.batch, shape_.context, d_stream,
                                                m_.g(position_table(shape_))},
                      shape_.context);
  m_.device->run_rows("tokens.backward",
                      rowwise::TokenGradient{shape_.width, rows_, input.inputs.ints(), d_stream,
                                             m_.g(token_table(shape_))},
                      shape_.vocabulary);

  reducer.ready(token_table(shape_));
}

}  // namespace

base::Expected<std::unique_ptr<Replica>> make_gpt_replica(ReplicaMemory const& memory,
                                                          GptShape const& shape) {
  Maker make(memory, shape);
  auto replica = std::make_unique<GptReplica>(make);
  if (make.error()) return tl::unexpected(*make.error());
  return replica;
}

}  // namespace stepscope::workloads
