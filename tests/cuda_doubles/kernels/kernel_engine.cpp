// Threads of a block as fibers of one host thread; see kernel_engine.h.
#include "tests/cuda_doubles/kernels/kernel_engine.h"

#include <map>
#include <memory>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#include "tests/cuda_doubles/device/knobs.h"

namespace stepscope::cuda_doubles {

thread_local constinit ThreadPlace thread_place = {};
thread_local constinit char* dynamic_shared_memory = nullptr;

// Saves the registers that a call must keep on the stack of the fiber that leaves. Takes those of
// the one that goes on. swapcontext() would make a system call each time.
extern "C" void stepscope_switch_fiber(void** leaving, void* entered);
asm(R"(
.text
.globl stepscope_switch_fiber
.hidden stepscope_switch_fiber
.type stepscope_switch_fiber,@function
stepscope_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace {

constexpr char const* kLibrary = "a GPU";
constexpr unsigned kWarp = 32, kMostThreads = 1024, kMostThreadsOfZ = 64;
constexpr unsigned kMostBlocksOfX = 0x7FFF'FFFF, kMostBlocksOfY = 65535;
constexpr size_t kMostSharedBytes = size_t{48} << 10U;  // without an attribute of the kernel
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = size_t{256} << 10U;  // its frames have gaps between variables
#else
constexpr size_t kStackBytes = size_t{64} << 10U;
#endif
constexpr size_t kStackAlignment = 16;
constexpr int kSavedRegisters = 6;
constexpr int kPoison = 0xFF;  // of shared memory: not a number, as no block leaves it its values

enum class State : uint8_t { kReady, kAtBarrier, kInShuffle, kDone };

/// A stack that a fiber or the scheduler runs on.
struct Stack {
  void const* bottom = nullptr;
  size_t bytes = 0;
};

/// A thread of the block that runs or has waited for others.
struct Waiting {
  void* stack_pointer = nullptr;
  Stack stack;
  State state = State::kReady;
  unsigned mask = 0;
  int lane_mask = 0;
  float value = 0, result = 0;
  uint3 place = {};
};

struct Block {
  void const* closure = nullptr;
  BlockBody body = nullptr;
  unsigned count = 0, next = 0;  ///< threads, and the first that has not begun
  unsigned running = 0;
  void* scheduler = nullptr;
  Stack stack, scheduler_stack;  ///< that of the running fiber
  std::vector<Waiting> threads;
};

thread_local Block* block = nullptr;
/// Stacks of this host thread; the first `used` of them belong to threads of the block.
thread_local std::vector<std::unique_ptr<char[]>> stacks;

#ifdef __SANITIZE_ADDRESS__

// The address sanitizer has to know the stack that it is on.
void switch_fiber(void** leaving, void* entered, Stack const& stack, bool is_ending) {
  void* frames = nullptr;
  __sanitizer_start_switch_fiber(is_ending ? nullptr : &frames, stack.bottom, stack.bytes);
  stepscope_switch_fiber(leaving, entered);
  __sanitizer_finish_switch_fiber(frames, nullptr, nullptr);
}
void fiber_begins() {
  Stack& from = block->scheduler_stack;
  __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.bytes);
}
/// A fiber that has ended left its frames there.
void forget_frames(Stack const& stack) { __asan_unpoison_memory_region(stack.bottom, stack.bytes); }

#else

void switch_fiber(void** leaving, void* entered, Stack const& /*stack*/, bool /*is_ending*/) {
  stepscope_switch_fiber(leaving, entered);
}
void fiber_begins() {}
void forget_frames(Stack const& /*stack*/) {}

#endif

void leave(State state) {
  Waiting& mine = block->threads[block->running];
  mine.state = state;
  mine.place = thread_place.thread;
  mine.stack = block->stack;
  switch_fiber(&mine.stack_pointer, block->scheduler, block->scheduler_stack,
               state == State::kDone);
}

/// The bottom of every fiber's stack: runs threads until none is left that has not begun.
void run_fiber() {
  fiber_begins();
  block->body(block->closure, block->next, block->count);
  leave(State::kDone);
  die(kLibrary, "a thread that has ended was resumed");
}

void* new_fiber(size_t index) {
  if (stacks.size() <= index) stacks.push_back(std::make_unique<char[]>(kStackBytes));
  block->stack = {stacks[index].get(), kStackBytes};
  forget_frames(block->stack);
  auto const end = reinterpret_cast<uintptr_t>(stacks[index].get()) + kStackBytes;
  auto** top = reinterpret_cast<void**>(end / kStackAlignment * kStackAlignment);
  *--top = nullptr;  // the return address of run_fiber(), which does not return
  *--top = reinterpret_cast<void*>(run_fiber);
  for (int i = 0; i < kSavedRegisters; ++i) *--top = nullptr;
  return top;
}

void resume(unsigned thread) {
  Waiting& waiting = block->threads[thread];
  block->running = thread;
  thread_place.thread = waiting.place;
  waiting.state = State::kReady;
  block->stack = waiting.stack;
  switch_fiber(&block->scheduler, waiting.stack_pointer, waiting.stack, false);
}

/// The last thread of a fiber stands for those that ended on it before.
void begin_all_threads() {
  size_t fibers = 0;
  while (block->next < block->count) {
    void* const fiber = new_fiber(fibers++);
    switch_fiber(&block->scheduler, fiber, block->stack, false);
  }
}

/// A shuffle takes place when every lane that its mask names is in it.
bool shuffle_warp(unsigned first) {
  unsigned const end = std::min(first + kWarp, block->count);
  unsigned lanes = 0;
  for (unsigned i = first; i < end; ++i)
    if (block->threads[i].state == State::kInShuffle) lanes |= 1U << (i - first);
  if (lanes == 0) return false;

  for (unsigned i = first; i < end; ++i) {
    Waiting& lane = block->threads[i];
    if (lane.state != State::kInShuffle) continue;
    if (lane.mask != lanes)
      die(kLibrary, "a shuffle's mask names lanes that are not in it, or not all that are");
    unsigned const source = first + ((i - first) ^ static_cast<unsigned>(lane.lane_mask));
    lane.result = source < end ? block->threads[source].value : lane.value;
  }

  for (unsigned i = first; i < end; ++i)
    if (block->threads[i].state == State::kInShuffle) resume(i);
  return true;
}

bool shuffle_all_warps() {
  bool has_shuffled = false;
  for (unsigned first = 0; first < block->count; first += kWarp)
    while (shuffle_warp(first)) has_shuffled = true;
  return has_shuffled;
}

/// False when the block has ended.
bool pass_barrier() {
  unsigned at_barrier = 0;
  for (Waiting const& thread : block->threads)
    at_barrier += thread.state == State::kAtBarrier ? 1U : 0U;
  if (at_barrier == 0) return false;
  if (at_barrier != block->count)
    die(kLibrary, "a barrier that some threads of the block never reach");
  for (unsigned i = 0; i < block->count; ++i) resume(i);
  return true;
}

void run_block(Block& mine) {
  mine.next = 0;
  for (Waiting& thread : mine.threads) thread.state = State::kDone;
  begin_all_threads();
  while (shuffle_all_warps() || pass_barrier()) {
  }
}

void check_shape(LaunchShape const& shape) {
  auto const& [grid, size, shared_bytes] = shape;
  size_t const threads = size_t{size.x} * size.y * size.z;
  if (threads == 0 || threads > kMostThreads || size.z > kMostThreadsOfZ)
    die(kLibrary, "a launch with too many threads in a block, or none");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > kMostBlocksOfX ||
      grid.y > kMostBlocksOfY || grid.z > kMostBlocksOfY)
    die(kLibrary, "a launch with too many blocks, or none");
  if (shared_bytes > kMostSharedBytes)
    die(kLibrary, "a launch with more shared memory than a block has");
}

std::map<void const*, KnownKernel>& kernels() {
  static std::map<void const*, KnownKernel> all;
  return all;
}

}  // namespace

void enter_thread(unsigned n) {
  block->running = n;
  uint3 const size = thread_place.block_size;
  if (size.y == 1 && size.z == 1) {
    thread_place.thread = {n, 0, 0};
  } else {
    thread_place.thread = {n % size.x, n / size.x % size.y, n / size.x / size.y};
  }
}

void block_barrier() { leave(State::kAtBarrier); }

float shuffle_xor(unsigned mask, float value, int lane_mask) {
  unsigned const thread = block->running;
  Waiting& mine = block->threads[thread];
  mine.mask = mask;
  mine.value = value;
  mine.lane_mask = lane_mask;
  leave(State::kInShuffle);
  return block->threads[thread].result;
}

void run_kernel(LaunchShape const& shape, void const* closure, BlockBody body) {
  check_shape(shape);
  auto const& [grid, size, shared_bytes] = shape;
  std::vector<float4> shared(shared_bytes / sizeof(float4) + 1);
  dynamic_shared_memory = reinterpret_cast<char*>(shared.data());

  Block mine;
  mine.closure = closure;
  mine.body = body;
  mine.count = size.x * size.y * size.z;
  mine.threads.resize(mine.count);
  block = &mine;
  thread_place.block_size = {size.x, size.y, size.z};
  thread_place.grid_size = {grid.x, grid.y, grid.z};

  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        thread_place.block = {x, y, z};
        if (shared_bytes > 0) std::memset(dynamic_shared_memory, kPoison, shared_bytes);
        run_block(mine);
      }
    }
  }
  block = nullptr;
}

KnownKernel const& find_kernel(void const* function) {
  auto const found = kernels().find(function);
  if (found == kernels().end()) die(kLibrary, "a kernel that the program does not have");
  return found->second;
}

void add_kernel(void const* function, KnownKernel kernel) {
  kernels()[function] = std::move(kernel);
}

}  // namespace stepscope::cuda_doubles
