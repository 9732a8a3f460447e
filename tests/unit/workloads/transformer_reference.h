// Naive twins of the transformer's operations and of the whole GPT, forward only, in double; see
// reference.h.
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/unit/workloads/reference.h"
#include "workloads/networks/gpt.h"

namespace stepscope::workloads::reference {

/// Rows of `width`: table[token] + positions[row % time].
inline Values embedding(size_t width, size_t time, std::vector<int32_t> const& tokens,
                        Values const& table, Values const& positions) {
  Values y;
  for (size_t row = 0; row < tokens.size(); ++row)
    for (size_t c = 0; c < width; ++c) {
      y.push_back(table[static_cast<size_t>(tokens[row]) * width + c] +
                  positions[row % time * width + c]);
    }
  return y;
}

inline Values layer_norm(size_t width, Values const& x, Values const& scale, Values const& shift) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < width; ++c) mean += x[row + c] / static_cast<double>(width);
    for (size_t c = 0; c < width; ++c)
      variance += std::pow(x[row + c] - mean, 2.0) / static_cast<double>(width);

    for (size_t c = 0; c < width; ++c)
      y[row + c] = (x[row + c] - mean) / std::sqrt(variance + 1e-5) * scale[c] + shift[c];
  }
  return y;
}

inline Values gelu(Values x) {
  for (double& v : x)
    v = 0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
  return x;
}

/// Square matrices [matrix][query][key], one behind the other.
inline Values causal_softmax(size_t time, Values const& scores) {
  Values y(scores.size());
  for (size_t row = 0; row < scores.size() / time; ++row) {
    double sum = 0;
    for (size_t key = 0; key <= row % time; ++key) sum += std::exp(scores[row * time + key]);
    for (size_t key = 0; key <= row % time; ++key)
      y[row * time + key] = std::exp(scores[row * time + key]) / sum;
  }
  return y;
}

/// [batch][time][parts][heads][dim] → [parts][batch][heads][time][dim]
inline Values split_heads(rowwise::HeadsShape const& s, Values const& x) {
  Values y;

  for (int64_t part = 0; part < s.parts; ++part)
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t head = 0; head < s.heads; ++head)
        for (int64_t t = 0; t < s.time; ++t)
          for (int64_t c = 0; c < s.dim; ++c) {
            y.push_back(x[static_cast<size_t>(
                (((n * s.time + t) * s.parts + part) * s.heads + head) * s.dim + c)]);
          }
  return y;
}

/// Every position, head by head, from the definition: qkv [batch][time][3][heads][dim] →
/// [batch][time][heads][dim].
inline Values causal_attention(size_t time, size_t heads, size_t dim, Values const& qkv) {
  size_t const width = heads * dim;
  Values y(qkv.size() / 3);
  for (size_t row = 0; row < y.size() / width; ++row)
    for (size_t head = 0; head < heads; ++head) {
      size_t const first = row - row % time;  // of the sequence
      double const* const query = &qkv[row * 3 * width + head * dim];
      double sum = 0;
      Values found(dim);

      for (size_t other = first; other <= row; ++other) {
        double const* const key = &qkv[other * 3 * width + width + head * dim];
        double const* const value = key + width;
        double product = 0;
        for (size_t c = 0; c < dim; ++c) product += query[c] * key[c];
        double const weight = std::exp(product / std::sqrt(static_cast<double>(dim)));
        sum += weight;
        for (size_t c = 0; c < dim; ++c) found[c] += weight * value[c];
      }

      for (size_t c = 0; c < dim; ++c) y[row * width + head * dim + c] = found[c] / sum;
    }
  return y;
}

inline Values sum(Values a, Values const& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// Mean cross entropy of the GPT whose weights lie in `flat` as `layout` says; its arrays are found
/// by their names.
inline double gpt_loss(GptShape const& s, ParameterLayout const& layout, Values const& flat,
                       std::vector<int32_t> const& tokens, std::vector<int32_t> const& labels) {
  auto const array = [&](std::string const& layer, std::string const& part) {
    for (Parameter const& p : layout.parameters) {
      if (p.update_name != layer + ".update." + part) continue;
      auto const begin = flat.begin() + static_cast<std::ptrdiff_t>(p.offset);
      return Values(begin, begin + static_cast<std::ptrdiff_t>(p.count));
    }
    ADD_FAILURE() << "no parameter " << layer << " " << part;
    return Values();
  };

  auto const width = static_cast<size_t>(s.width), time = static_cast<size_t>(s.context);
  auto const rows = static_cast<int64_t>(tokens.size());
  auto const through = [&](std::string const& layer, int64_t inputs, int64_t outputs,
                           Values const& x) {
    return dense({rows, inputs, outputs, false}, x, array(layer, "weights"), array(layer, "bias"));
  };
  auto const norm = [&](std::string const& layer, Values const& x) {
    return layer_norm(width, x, array(layer, "scale"), array(layer, "shift"));
  };

  Values x =
      embedding(width, time, tokens, array("tokens", "weights"), array("positions", "weights"));
  for (int64_t block = 0; block < s.layers; ++block) {
    std::string const name = "block" + std::to_string(block) + ".";
    Values const qkv =
        through(name + "attention.qkv", s.width, 3 * s.width, norm(name + "attention.norm", x));
    Values const found = causal_attention(time, static_cast<size_t>(s.heads),
                                          static_cast<size_t>(s.head_dim()), qkv);
    x = sum(x, through(name + "attention.out", s.width, s.width, found));

    Values const hidden =
        gelu(through(name + "mlp.up", s.width, 4 * s.width, norm(name + "mlp.norm", x)));
    x = sum(x, through(name + "mlp.down", 4 * s.width, s.width, hidden));
  }

  return cross_entropy(s.vocabulary, through("head", s.width, s.vocabulary, norm("norm", x)),
                       labels);
}

}  // namespace stepscope::workloads::reference
