// Sums over the rows of columns: blocks of 32 columns add shares of the rows, a second kernel adds
// the shares. The scratch memory has exactly the size that a case names, between guard pages.
#include "tests/cuda_emulation/cases/row_case.h"
#include "tests/cuda_emulation/guarded_memory.h"

namespace stepscope::cuda_emulation {
namespace {

namespace rw = workloads::rowwise;

/// Scratch memory for the partial sums of at most `shares` shares of the rows.
class ScratchMemory {
 public:
  explicit ScratchMemory(int64_t sums_of_share, int64_t shares)
      : memory_(static_cast<size_t>(sums_of_share * shares) * sizeof(float), GuardedEnd::kBack,
                "the scratch memory") {}

  [[nodiscard]] workloads::cuda::Scratch scratch() const {
    return {memory_.floats(), memory_.bytes() / sizeof(float)};
  }

 private:
  GuardedMemory memory_;
};

/// A case whose operation has as many rows as the shape has columns.
template <class Make>
KernelCase column_case(std::string const& name, RowShape s, int64_t sums, int64_t shares,
                       std::function<Arrays()> arrays, Make make,
                       std::function<void(std::vector<Values>&)> exact) {
  KernelCase c =
      row_case(name + " in " + std::to_string(shares) + " shares at most, rows x columns", s,
               std::move(arrays), make, std::move(exact), kSumTolerance);

  c.kernels = [=](Pointers const& p) {
    ScratchMemory const memory(sums * s.width, shares);
    workloads::cuda::run_rows(nullptr, make(p), s.width, memory.scratch());
  };
  c.host = [=](workloads::Device& device, Pointers const& p) {
    device.run_rows("op", make(p), s.width);
  };
  return c;
}

void add_columns(RowShape s, Values const& x, Values& sums) {
  sums.assign(sums.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) sums[i % static_cast<size_t>(s.width)] += x[i];
}

KernelCase channel_sum(RowShape s, int64_t shares) {
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1), unwritten(static_cast<size_t>(s.width))};
  };
  auto const make = [=](Pointers const& p) { return rw::ChannelSum{s.rows, s.width, p[0], p[1]}; };
  auto const exact = [=](std::vector<Values>& a) { add_columns(s, a[0], a[1]); };
  return column_case("channel sum", s, 1, shares, arrays, make, exact);
}

/// The function that the layers call with their own arrays.
KernelCase sum_columns(RowShape s, int64_t shares) {
  KernelCase c = channel_sum(s, shares);
  c.name = "sum_columns(), " + c.name;

  c.kernels = [=](Pointers const& p) {
    ScratchMemory const memory(s.width, shares);
    workloads::cuda::sum_columns(nullptr, p[0], s.rows, s.width, p[1], memory.scratch());
  };
  return c;
}

/// Arrays: x, pairs of mean and inverse, dy, gradients of scale and shift.
KernelCase layer_norm_parameters(RowShape s, int64_t shares) {
  auto const width = static_cast<size_t>(s.width);
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1), random_array(static_cast<size_t>(2 * s.rows), 2),
                  random_array(s.elements(), 3), unwritten(width), unwritten(width)};
  };

  auto const make = [=](Pointers const& p) {
    return rw::LayerNormParameterGradient{s.rows, s.width, p[0], p[1], p[2], p[3], p[4]};
  };
  auto const exact = [=](std::vector<Values>& a) {
    a[3].assign(width, 0);
    for (size_t i = 0; i < a[0].size(); ++i)
      a[3][i % width] += a[2][i] * (a[0][i] - a[1][i / width * 2]) * a[1][i / width * 2 + 1];
    add_columns(s, a[2], a[4]);
  };
  return column_case("layer norm parameters", s, 2, shares, arrays, make, exact);
}

}  // namespace

std::vector<KernelCase> column_sum_cases() {
  // 64 rows are the fewest of a share, 512 blocks the most that are wanted; a block has 16 lanes of
  // rows and 32 columns.
  std::vector<KernelCase> cases;
  for (int64_t const rows : {1, 15, 17, 63, 64, 127, 128, 200, 1000})
    for (int64_t const width : {1, 31, 32, 33, 100, 257})
      for (int64_t const shares : {1, 3, 512}) {
        cases.push_back(channel_sum({rows, width}, shares));
        cases.push_back(layer_norm_parameters({rows, width}, shares));
        if (shares != 3) cases.push_back(sum_columns({rows, width}, shares));
      }

  cases.push_back(channel_sum({70'000, 3}, 512));    // more shares than are wanted
  cases.push_back(channel_sum({130, 17'000}, 512));  // more blocks by columns alone
  return cases;
}

}  // namespace stepscope::cuda_emulation
