// How the host backend runs element-wise and row-wise operations: loops over the device's threads.
#include <algorithm>
#include <limits>

#include "workloads/backend/host/host_device.h"

namespace stepscope::workloads::host {
namespace {

/// The one thread that works on a row.
struct SerialLanes {
  template <class F>
  void each(int64_t n, F f) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  [[nodiscard]] float sum(int64_t n, F f) const {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; ++i) total += f(i);
    return total;
  }
  template <class F>
  [[nodiscard]] float max(int64_t n, F f) const {
    float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, f(i));
    return largest;
  }
  [[nodiscard]] static bool first() { return true; }
};

// Fewer elements than this are done before a second thread has begun.
constexpr size_t kWorthThreads = 16'384;

}  // namespace

void HostDevice::run(char const* name, elementwise::Op const& op, size_t count) {
  size_t const piece =
      faults_.largest_operation > 0 ? faults_.largest_operation : std::max<size_t>(1, count);

  for (size_t first = 0; first < count; first += piece) {
    size_t const last = std::min(count, first + piece);
    std::visit(
        [&](auto const& f) {
          launch_kernel(name, static_cast<double>(f.kFlops) * static_cast<double>(last - first),
                        f.kBytes * (last - first), [f, first, last] {
      // A plain `if` would be the vector loop's condition, too: scalar code, and a branch for each
      // element of a ReLU.
#pragma omp parallel for simd schedule(static) if (parallel : last - first >= kWorthThreads)
                          for (size_t i = first; i < last; ++i) f(i);
                        });
        },
        op);
  }
}

void HostDevice::run_rows(char const* name, rowwise::Op const& op, int64_t rows) {
  std::visit(
      [&](auto const& f) {
        auto const elements = static_cast<uint64_t>(rows * f.width);

        launch_kernel(name, static_cast<double>(f.kFlops) * static_cast<double>(elements),
                      f.kBytes * elements, [f, rows, elements] {
#pragma omp parallel for schedule(static) if (rows > 1 && elements >= kWorthThreads)
                        for (int64_t row = 0; row < rows; ++row) f(SerialLanes(), row);
                      });
      },
      op);
}

}  // namespace stepscope::workloads::host
