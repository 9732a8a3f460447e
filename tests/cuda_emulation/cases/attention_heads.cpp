// Row operations of transformers that move or gather: embeddings and their gradients, and the
// heads of attention between side by side and matrix by matrix.
#include "tests/cuda_emulation/cases/row_case.h"

namespace stepscope::cuda_emulation {
namespace {

namespace rw = workloads::rowwise;

constexpr int64_t kVocabulary = 11;
constexpr int64_t kTime = 5;  ///< positions of a sequence

std::vector<int32_t> some_tokens(int64_t count) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(i * i % kVocabulary));
  return tokens;
}

/// `s.rows`: positions of all sequences.
KernelCase embedding(RowShape s) {
  auto const width = static_cast<size_t>(s.width);
  auto const arrays = [=] {
    return Arrays{integer_array(some_tokens(s.rows)), random_array(kVocabulary * width, 1),
                  random_array(kTime * width, 2), unwritten(s.elements())};
  };

  auto const make = [=](Pointers const& p) {
    return rw::EmbeddingForward{s.width, kTime, integers(p[0]), p[1], p[2], p[3]};
  };
  auto const exact = [=](std::vector<Values>& a) {
    std::vector<int32_t> const tokens = some_tokens(s.rows);
    for (size_t row = 0; row < tokens.size(); ++row)
      for (size_t c = 0; c < width; ++c)
        a[3][row * width + c] =
            a[1][static_cast<size_t>(tokens[row]) * width + c] + a[2][row % kTime * width + c];
  };
  return row_case("embedding", s, arrays, make, exact, 2e-6);
}

/// The rows are those of the table; `s.rows` are the tokens of the batch.
KernelCase token_gradient(RowShape s) {
  auto const width = static_cast<size_t>(s.width);
  auto const arrays = [=] {
    return Arrays{integer_array(some_tokens(s.rows)), random_array(s.elements(), 1),
                  unwritten(kVocabulary * width)};
  };

  auto const make = [=](Pointers const& p) {
    return rw::TokenGradient{s.width, s.rows, integers(p[0]), p[1], p[2]};
  };
  auto const exact = [=](std::vector<Values>& a) {
    a[2].assign(a[2].size(), 0);
    std::vector<int32_t> const tokens = some_tokens(s.rows);
    for (size_t i = 0; i < tokens.size(); ++i)
      for (size_t c = 0; c < width; ++c)
        a[2][static_cast<size_t>(tokens[i]) * width + c] += a[1][i * width + c];
  };
  return row_case("token gradient", {kVocabulary, s.width}, arrays, make, exact, 1e-5);
}

/// The rows are the positions; `s.rows` are the sequences of the batch.
KernelCase position_gradient(RowShape s) {
  size_t const of_sequence = static_cast<size_t>(kTime * s.width);
  auto const arrays = [=] {
    return Arrays{random_array(static_cast<size_t>(s.rows) * of_sequence, 1),
                  unwritten(of_sequence)};
  };

  auto const make = [=](Pointers const& p) {
    return rw::PositionGradient{s.width, s.rows, kTime, p[0], p[1]};
  };
  auto const exact = [=](std::vector<Values>& a) {
    a[1].assign(a[1].size(), 0);
    for (size_t i = 0; i < a[0].size(); ++i) a[1][i % of_sequence] += a[0][i];
  };
  return row_case("position gradient", {kTime, s.width}, arrays, make, exact, 1e-5);
}

/// Calls move(index side by side, index matrix by matrix) for every element.
template <class Move>
void for_heads(rw::HeadsShape const& s, Move move) {
  size_t matrix = 0;

  for (int64_t part = 0; part < s.parts; ++part)
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t head = 0; head < s.heads; ++head)
        for (int64_t t = 0; t < s.time; ++t)
          for (int64_t c = 0; c < s.dim; ++c)
            move(static_cast<size_t>(
                     (((n * s.time + t) * s.parts + part) * s.heads + head) * s.dim + c),
                 matrix++);
}

/// Splits, or merges where `back` is set.
KernelCase heads(rw::HeadsShape const& s, bool back) {
  RowShape const rows = {s.matrices(), s.time * s.dim};
  auto const arrays = [=] {
    return Arrays{random_array(rows.elements(), 1), unwritten(rows.elements())};
  };
  auto const exact = [=](std::vector<Values>& a) {
    for_heads(s, [&](size_t beside, size_t matrix) {
      a[1][back ? beside : matrix] = a[0][back ? matrix : beside];
    });
  };

  auto const split = [=](Pointers const& p) { return rw::SplitHeads{s, p[0], p[1]}; };
  auto const merge = [=](Pointers const& p) { return rw::MergeHeads{s, p[0], p[1]}; };
  if (back) return row_case("merge heads", rows, arrays, merge, exact, 0);
  return row_case("split heads", rows, arrays, split, exact, 0);
}

}  // namespace

std::vector<KernelCase> attention_head_cases() {
  std::vector<KernelCase> cases;
  for (int64_t const rows : {1, 5, 40, 300})
    for (int64_t const width : {1, 32, 33, 257}) {
      cases.push_back(embedding({rows, width}));
      cases.push_back(token_gradient({rows, width}));
      cases.push_back(position_gradient({rows, width}));
    }

  for (rw::HeadsShape const shape :
       {rw::HeadsShape{1, 1, 1, 1, 1}, rw::HeadsShape{2, 5, 3, 4, 8}, rw::HeadsShape{1, 7, 1, 3, 5},
        rw::HeadsShape{3, 16, 3, 2, 16}, rw::HeadsShape{2, 33, 1, 2, 31},
        rw::HeadsShape{10, 4, 3, 9, 8}, rw::HeadsShape{1, 2, 3, 1, 700}})
    for (bool const back : {false, true}) cases.push_back(heads(shape, back));
  return cases;
}

}  // namespace stepscope::cuda_emulation
