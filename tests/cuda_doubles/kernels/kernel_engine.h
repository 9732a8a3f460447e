// CUDA kernels as host C++: translate.py turns `kernel<<<…>>>(…)` into launch_kernel(…), and this
// header gives device code its words. A block's threads run on one host thread. One that waits for
// others (a barrier, a shuffle of its warp) leaves its stack behind and the next one runs; one that
// waits for no other costs a call. Launch limits are those of "CUDA C++ Programming Guide",
// "Compute Capabilities".
//
// The rest of the doubles sees kernels only by launch_kernel() and find_kernel(), so that another
// engine can take this one's place.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace stepscope::cuda_doubles {

/// Where the running thread is. A module that is loaded later gets no room for the initial-exec
/// model of thread-local memory: it holds the blocks' shared arrays, too.
struct ThreadPlace {
  uint3 thread, block, block_size, grid_size;
};
extern thread_local constinit ThreadPlace thread_place __attribute__((visibility("hidden")));
extern thread_local constinit char* dynamic_shared_memory __attribute__((visibility("hidden")));

struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;
};

/// Runs the threads of a block from `next` on, up to the block's end.
using BlockBody = void (*)(void const* closure, unsigned& next, unsigned count);

/// Runs all threads of all blocks. `body` calls the closure once a thread.
void run_kernel(LaunchShape const& shape, void const* closure, BlockBody body);
/// Sets thread_place.thread of the block's n-th thread.
void enter_thread(unsigned n);
void block_barrier();
float shuffle_xor(unsigned mask, float value, int lane_mask);

template <class Closure>
void run_threads(void const* closure, unsigned& next, unsigned count) {
  auto const& thread = *static_cast<Closure const*>(closure);
  while (next < count) {
    enter_thread(next++);
    thread();
  }
}

/// A kernel's name. The name of a template ("name<…>") gets the type of its launch's closure, which
/// has the arguments of the template: each instance has a name of its own.
template <class Closure>
std::string kernel_name(std::string_view name) {
  size_t const arguments = name.find('<');
  if (arguments == std::string_view::npos) return std::string(name);
  std::string_view type = __PRETTY_FUNCTION__;
  type.remove_prefix(type.find("Closure = ") + std::string_view("Closure = ").size());
  type = type.substr(0, type.rfind(';'));
  return std::string(name.substr(0, arguments)) + "<" + std::string(type) + ">";
}

/// What a launch is to the runtime's double, which queues it on the stream.
using KernelWork = std::function<void()>;
void queue_kernel(std::string name, LaunchShape const& shape, cudaStream_t stream, KernelWork work);

template <class Closure>
void launch_kernel(char const* name, LaunchShape const& shape, cudaStream_t stream,
                   Closure thread) {
  queue_kernel(kernel_name<Closure>(name), shape, stream, [shape, thread = std::move(thread)] {
    run_kernel(shape, &thread, run_threads<Closure>);
  });
}

// Kernels by their address, for nodes of graphs.

struct KnownKernel {
  char const* name = nullptr;
  std::function<KernelWork(LaunchShape const&, void** arguments)> bind;
};
/// Dies where no kernel of the program has this address.
KnownKernel const& find_kernel(void const* function);
void add_kernel(void const* function, KnownKernel kernel);

template <class... Arguments>
bool register_kernel(char const* name, void (*function)(Arguments...)) {
  auto const bind = [function](LaunchShape const& shape, void** arguments) -> KernelWork {
    auto const copy = [&]<size_t... I>(std::index_sequence<I...> /*numbers*/) {
      return std::tuple<Arguments...>(*static_cast<Arguments*>(arguments[I])...);
    }
    (std::index_sequence_for<Arguments...>());
    auto thread = [function, copy] { std::apply(function, copy); };

    return [shape, thread] { run_kernel(shape, &thread, run_threads<decltype(thread)>); };
  };
  add_kernel(reinterpret_cast<void const*>(function), {name, bind});
  return true;
}

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(dynamic_shared_memory);
}
inline uint64_t global_timer_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN: the words of device code.
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)
inline void __syncthreads() { ::stepscope::cuda_doubles::block_barrier(); }
inline float __shfl_xor_sync(unsigned mask, float value, int lane_mask) {
  return ::stepscope::cuda_doubles::shuffle_xor(mask, value, lane_mask);
}
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
// NOLINTEND
