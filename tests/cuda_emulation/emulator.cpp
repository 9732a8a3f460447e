#include "tests/cuda_emulation/emulator.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tests/cuda_emulation/fiber.h"
#include "tests/cuda_emulation/guarded_memory.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace stepscope::cuda_emulation {
namespace {

// CUDA C++ programming guide, "Compute Capabilities", the same from 5.0 on.
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kMostThreadsInZ = 64;
constexpr unsigned kMostBlocksInX = std::numeric_limits<int32_t>::max();
constexpr unsigned kMostBlocksInYOrZ = 65'535;
constexpr size_t kMostSharedBytes = 48U << 10U;  // without cudaFuncSetAttribute()
constexpr size_t kWarp = 32;

enum class State : uint8_t { kReady, kAtBarrier, kInShuffle, kDone };

struct Shuffle {
  unsigned mask;
  int lane_mask;
  float value, result;
};

struct Thread {
  Fiber fiber;
  uint3 index = {};
  State state = State::kReady;
  Shuffle shuffle = {};
};

struct SharedArray {
  int id;
  std::unique_ptr<GuardedMemory> memory;
};
constexpr int kDynamicShared = -1;

/// What runs. One launch at a time; threads keep their stacks from launch to launch.
struct Machine {
  Order order = Order::kForward;
  std::string fault;
  LaunchShape shape = {};
  std::vector<std::unique_ptr<Thread>> threads;
  size_t count = 0;     ///< threads of a block
  size_t number = 0;    ///< of the thread that runs
  size_t blocks = 0;    ///< that have begun in this launch
  size_t barriers = 0;  ///< that the running block has passed
  std::vector<SharedArray> shared;
  std::mt19937 random;
  uint64_t clock_ns = 0;
};
Machine& machine() {
  static Machine one;
  return one;
}

std::string place() {
  return fmt::format("{}, block ({}, {}, {}), thread ({}, {}, {})", machine().shape.kernel.name,
                     blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}
/// The first fault counts: later ones may be its consequences.
void set_fault(std::string text) {
  if (machine().fault.empty()) machine().fault = std::move(text);
}

/// The first rule that a launch breaks, or "".
std::string broken_limit(LaunchShape const& s) {
  size_t const threads = size_t{s.block.x} * s.block.y * s.block.z;
  if (threads == 0) return "a block without threads";
  if (threads > kMostThreads || s.block.z > kMostThreadsInZ)
    return fmt::format("a block of {} x {} x {} threads", s.block.x, s.block.y, s.block.z);
  if (threads > s.kernel.most_threads)
    return fmt::format("{} threads, its launch bounds allow {}", threads, s.kernel.most_threads);

  if (s.grid.x == 0 || s.grid.y == 0 || s.grid.z == 0) return "a grid without blocks";
  if (s.grid.x > kMostBlocksInX || s.grid.y > kMostBlocksInYOrZ || s.grid.z > kMostBlocksInYOrZ)
    return fmt::format("a grid of {} x {} x {} blocks", s.grid.x, s.grid.y, s.grid.z);
  if (s.shared_bytes > kMostSharedBytes)
    return fmt::format("{} bytes of shared memory", s.shared_bytes);
  return "";
}

// Shuffles.

/// True where all lanes that the thread's mask names wait in a shuffle with that mask.
bool is_complete(size_t warp, unsigned mask) {
  for (size_t lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    size_t const number = warp * kWarp + lane;
    if (number >= machine().count) return false;
    Thread const& other = *machine().threads[number];
    if (other.state != State::kInShuffle || other.shuffle.mask != mask) return false;
  }
  return true;
}

/// Gives the lanes of a complete shuffle their results.
void exchange(size_t warp, unsigned mask) {
  auto const thread = [&](size_t lane) -> Thread& {
    return *machine().threads[warp * kWarp + lane];
  };
  auto const is_named = [&](size_t lane) { return lane < kWarp && (mask >> lane & 1U) != 0; };

  for (size_t lane = 0; lane < kWarp; ++lane) {
    if (!is_named(lane)) continue;
    Shuffle& own = thread(lane).shuffle;
    size_t const from = lane ^ static_cast<unsigned>(own.lane_mask);
    own.result = is_named(from) ? thread(from).shuffle.value
                                : std::numeric_limits<float>::quiet_NaN();  // undefined
  }
  for (size_t lane = 0; lane < kWarp; ++lane)
    if (is_named(lane)) thread(lane).state = State::kReady;
}

/// Ends the complete shuffles of some threads; true where there was one.
bool end_shuffles(std::vector<size_t> const& group) {
  bool any = false;
  for (size_t const number : group) {
    Thread const& thread = *machine().threads[number];
    if (thread.state != State::kInShuffle) continue;
    if (!is_complete(number / kWarp, thread.shuffle.mask)) continue;
    exchange(number / kWarp, thread.shuffle.mask);
    any = true;
  }
  return any;
}

// A block.

void resume(size_t number) {
  Thread& thread = *machine().threads[number];
  machine().number = number;
  threadIdx = thread.index;
  thread.fiber.resume();
  if (thread.fiber.is_done()) thread.state = State::kDone;
}

/// Runs some threads until all of them wait at a barrier, for lanes of another group, or are done.
void advance(std::vector<size_t>& group) {
  for (;;) {
    if (machine().order == Order::kShuffled)
      std::shuffle(group.begin(), group.end(), machine().random);

    bool ran = false;
    for (size_t const number : group) {
      if (machine().threads[number]->state != State::kReady) continue;
      resume(number);
      if (!machine().fault.empty()) return;
      ran = true;
    }
    if (!ran && !end_shuffles(group)) return;
  }
}

/// The threads of a block in the order in which they run; those of a group run ahead of the next.
std::vector<std::vector<size_t>> groups_of_threads() {
  std::vector<size_t> all(machine().count);
  std::iota(all.begin(), all.end(), size_t{0});
  if (machine().order != Order::kWarpAhead) return {all};

  std::reverse(all.begin(), all.end());
  std::vector<std::vector<size_t>> warps;
  for (size_t const number : all) {
    if (warps.empty() || warps.back().front() / kWarp != number / kWarp) warps.emplace_back();
    warps.back().push_back(number);
  }
  return warps;
}

void start_threads(std::function<void()> const& work) {
  dim3 const& size = machine().shape.block;
  for (size_t i = 0; i < machine().count; ++i) {
    Thread& thread = *machine().threads[i];
    auto const n = static_cast<unsigned>(i);
    thread.index = {n % size.x, n / size.x % size.y, n / size.x / size.y};
    thread.state = State::kReady;
    thread.fiber.start(work);
  }
}

/// Lets the threads that wait at the barrier go on. False when the block is over, also by a fault.
bool pass_barrier() {
  size_t waiting = 0, done = 0;
  for (size_t i = 0; i < machine().count; ++i) {
    waiting += machine().threads[i]->state == State::kAtBarrier ? 1 : 0;
    done += machine().threads[i]->state == State::kDone ? 1 : 0;
  }
  if (done == machine().count) return false;

  char const* const kernel = machine().shape.kernel.name;
  if (waiting + done != machine().count) {
    set_fault(fmt::format("{}: a shuffle waits for lanes that never come", kernel));
    return false;
  }
  if (done != 0) {
    set_fault(fmt::format("{}: {} threads wait at a barrier, {} of their block have ended", kernel,
                          waiting, done));
    return false;
  }

  for (size_t i = 0; i < machine().count; ++i) machine().threads[i]->state = State::kReady;
  ++machine().barriers;
  return true;
}

void run_block(std::vector<std::vector<size_t>>& groups, std::function<void()> const& work) {
  // A block finds nothing of the one before.
  for (SharedArray const& array : machine().shared)
    std::fill_n(static_cast<unsigned char*>(array.memory->data()), array.memory->bytes(), 0xFFU);
  start_threads(work);
  ++machine().blocks;
  machine().barriers = 0;

  do {
    for (std::vector<size_t>& group : groups) {
      advance(group);
      if (!machine().fault.empty()) return;
    }
  } while (pass_barrier());
}

// Memory that may not be touched, and what the compiler made of undefined behaviour: a trap.
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};

/// A signal is the fault of the thread that runs. Outside of kernels it keeps its meaning.
void handle_signal(int signal, siginfo_t* info, void* /*context*/) {
  if (Fiber::running() == nullptr) {
    std::signal(signal, SIG_DFL);
    return;
  }

  bool const is_access = signal == SIGSEGV || signal == SIGBUS;
  set_fault(is_access ? fmt::format("{} touches {}", place(), describe_address(info->si_addr))
                      : fmt::format("{}: undefined behaviour, such as a misaligned access, an "
                                    "index outside of an array, an overflow",
                                    place()));
  Fiber::suspend();
}

/// Installed while a grid runs.
class SignalGuard {
 public:
  SignalGuard() {
    struct sigaction action = {};
    action.sa_sigaction = &handle_signal;
    // The handler leaves by a jump, so the signal must not stay blocked.
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_NODEFER);
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  SignalGuard(SignalGuard const&) = delete;
  SignalGuard& operator=(SignalGuard const&) = delete;
  ~SignalGuard() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  struct sigaction before_[std::size(kSignals)] = {};
};

std::vector<std::string>& all_sites() {
  static std::vector<std::string> sites;
  return sites;
}
std::set<std::string>& launched() {
  static std::set<std::string> sites;
  return sites;
}

}  // namespace

void set_order(Order order) { machine().order = order; }
std::string take_fault() { return std::exchange(machine().fault, ""); }

uint64_t read_device_clock() { return machine().clock_ns += kClockStepNs; }
void advance_device_clock(uint64_t ns) { machine().clock_ns += ns; }

bool register_site(char const* type_name) {
  all_sites().emplace_back(type_name);
  return true;
}
void note_launch(char const* type_name) { launched().insert(type_name); }
std::vector<std::string> const& compiled_launch_sites() { return all_sites(); }
std::vector<std::string> launched_sites() { return {launched().begin(), launched().end()}; }

void run_grid(LaunchShape const& shape, std::function<void()> const& thread) {
  Machine& m = machine();
  if (!m.fault.empty()) return;
  if (std::string const broken = broken_limit(shape); !broken.empty()) {
    set_fault(fmt::format("{}: {}", shape.kernel.name, broken));
    return;
  }

  m.shape = shape;
  m.count = size_t{shape.block.x} * shape.block.y * shape.block.z;
  while (m.threads.size() < m.count) m.threads.push_back(std::make_unique<Thread>());
  m.blocks = 0;
  m.random.seed(1);
  blockDim = shape.block;
  gridDim = shape.grid;
  SignalGuard const guard;
  auto groups = groups_of_threads();

  for (unsigned z = 0; z < shape.grid.z; ++z)
    for (unsigned y = 0; y < shape.grid.y; ++y)
      for (unsigned x = 0; x < shape.grid.x && m.fault.empty(); ++x) {
        blockIdx = {x, y, z};
        run_block(groups, thread);
      }
  m.shared.clear();
}

void* find_shared(int id, size_t bytes, char const* name) {
  auto& arrays = machine().shared;
  auto const is_it = [&](SharedArray const& array) { return array.id == id; };
  auto const known = std::find_if(arrays.begin(), arrays.end(), is_it);
  if (known != arrays.end()) return known->memory->data();

  size_t used = bytes;
  for (SharedArray const& array : arrays) used += array.memory->bytes();
  if (used > kMostSharedBytes) {
    set_fault(fmt::format("{}: {} bytes of shared memory", machine().shape.kernel.name, used));
    Fiber::suspend();
  }

  arrays.push_back({id, std::make_unique<GuardedMemory>(bytes, GuardedEnd::kBack,
                                                        fmt::format("shared array {}", name))});
  return arrays.back().memory->data();
}
void* find_dynamic_shared(char const* name) {
  return find_shared(kDynamicShared, machine().shape.shared_bytes, name);
}

Place running_place() { return {machine().blocks, machine().number, machine().barriers}; }

void stop_with_fault(std::string const& what) {
  set_fault(place() + " " + what);
  for (;;) Fiber::suspend();
}

void wait_at_barrier() {
  machine().threads[machine().number]->state = State::kAtBarrier;
  Fiber::suspend();
}

float shuffle_xor(unsigned mask, float value, int lane_mask) {
  size_t const number = machine().number;
  Thread& thread = *machine().threads[number];
  if ((mask >> number % kWarp & 1U) == 0)
    set_fault(fmt::format("{} is not in the mask {:#x} of its shuffle", place(), mask));

  thread.shuffle = {mask, lane_mask, value, 0};
  thread.state = State::kInShuffle;
  Fiber::suspend();
  return thread.shuffle.result;
}

}  // namespace stepscope::cuda_emulation
