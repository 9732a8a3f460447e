// Runs CUDA kernels on the host: every launch at once, block after block, the threads of a block as
// fibers of one host thread. A thread runs until it ends or waits, at a barrier or in a shuffle.
// The test chooses the order in which threads run, so that a missing barrier changes results.
//
// A fault is what no GPU accepts or what has no defined result. Examples are a launch beyond the
// limits, a barrier that some threads never reach, memory outside of an array. After a fault
// nothing runs until take_fault() is called, as after a sticky error of CUDA.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <cuda_runtime_api.h>

namespace stepscope::cuda_emulation {

enum class Order {
  kForward,    ///< every thread as far as the next barrier or shuffle, by its number
  kWarpAhead,  ///< backwards; each warp as far as the next barrier, through its shuffles
  kShuffled    ///< as forward, in another random order each time
};
void set_order(Order order);

/// The first fault since the last call, with kernel, block and thread; "" where there was none.
std::string take_fault();

/// Nanoseconds of the device's clock, which every reading moves by kClockStepNs.
uint64_t read_device_clock();
void advance_device_clock(uint64_t ns);
constexpr uint64_t kClockStepNs = 100;

/// Launch sites that the program has: a `<<<>>>` of every instantiation that was compiled, by the
/// mangled name of its types.
std::vector<std::string> const& compiled_launch_sites();
/// The launch sites that were launched.
std::vector<std::string> launched_sites();

// What translated sources call (translate.py, ptx/translate_ptx.py).

struct Kernel {
  char const* name;
  unsigned most_threads;  ///< of a block, by its __launch_bounds__; else 1,024
};
struct LaunchShape {
  Kernel kernel;
  dim3 grid, block;
  size_t shared_bytes;  ///< dynamic
};
void run_grid(LaunchShape const& shape, std::function<void()> const& thread);

bool register_site(char const* type_name);
void note_launch(char const* type_name);
template <class Thread>
struct LaunchSite {
  static inline bool const is_registered = register_site(typeid(Thread).name());
};

/// `thread` holds the kernel's arguments, by value as CUDA passes them, and calls it.
template <class Thread>
void launch(LaunchShape const& shape, cudaStream_t /*stream*/, Thread const& thread) {
  constexpr size_t kMostArgumentBytes = 4096;  // CUDA C++ guide, "Function Parameters"
  static_assert(sizeof(Thread) <= kMostArgumentBytes);
  static_assert(std::is_trivially_copyable_v<Thread>);
  if (LaunchSite<Thread>::is_registered) note_launch(typeid(Thread).name());
  run_grid(shape, thread);
}

/// Shared memory of the running block, full of bytes 0xFF when the block begins. `id` tells the
/// arrays of a source apart. Its end lies at a page that cannot be touched.
void* find_shared(int id, size_t bytes, char const* name);
template <class Array>
Array& shared_array(int id, char const* name) {
  return *static_cast<Array*>(find_shared(id, sizeof(Array), name));
}
void* find_dynamic_shared(char const* name);
template <class T>
T* dynamic_shared(char const* name) {
  return static_cast<T*>(find_dynamic_shared(name));
}

void wait_at_barrier();
float shuffle_xor(unsigned mask, float value, int lane_mask);

/// Where the running thread is: its block, from 1 on in each launch, its number there, and how many
/// barriers the block has passed.
struct Place {
  size_t block, thread, barriers;
};
Place running_place();
/// The running thread's fault: `what` follows its kernel, block and number.
[[noreturn]] void stop_with_fault(std::string const& what);

}  // namespace stepscope::cuda_emulation
