// Cases of row operations: the shapes that lead to every kind of launch, and a case of one
// operation on one shape.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/kernel_case.h"

namespace stepscope::cuda_emulation {

constexpr double kSumTolerance = 1e-4;  ///< of float sums in another order

struct RowShape {
  int64_t rows, width;

  [[nodiscard]] size_t elements() const { return static_cast<size_t>(rows * width); }
  [[nodiscard]] std::string text() const {
    return std::to_string(rows) + " x " + std::to_string(width);
  }
};

/// Few rows get a block of 1,024 threads each, 256 rows or more a block of 256 threads. Short rows
/// get a warp. The shapes lie around all of these bounds.
inline std::vector<RowShape> row_shapes() {
  std::vector<RowShape> shapes;
  for (int64_t const rows : {1, 2, 7, 9, 40, 256, 259})
    for (int64_t const width : {1, 3, 31, 32, 33, 100, 255, 1000, 1024, 1025, 2049}) {
      // Many long rows take long and show nothing that one of them does not.
      bool const is_long = width > 1025 || (width > 100 && width != 255 && rows == 40);
      if (rows < 40 || !is_long) shapes.push_back({rows, width});
    }
  shapes.push_back({256, 2049});
  return shapes;
}

/// `make(pointers)` gives the operation on the arrays.
template <class Make>
KernelCase row_case(std::string const& name, RowShape shape, std::function<Arrays()> arrays,
                    Make make, std::function<void(std::vector<Values>&)> exact, double tolerance) {
  KernelCase c;
  c.name = name + " of " + shape.text();
  c.elements = shape.elements();
  c.arrays = std::move(arrays);
  c.kernels = [=](Pointers const& p) {
    workloads::cuda::run_rows(nullptr, make(p), shape.rows, {nullptr, 0});
  };

  c.host = [=](workloads::Device& device, Pointers const& p) {
    device.run_rows("op", make(p), shape.rows);
  };
  c.exact = std::move(exact);
  c.tolerance = tolerance;
  return c;
}

}  // namespace stepscope::cuda_emulation
