#include "tests/cuda_doubles/nccl/shared_group.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace stepscope::cuda_doubles {

/// All zeros at the beginning. Pages that no rank uses take no memory.
struct SharedMemory {
  struct Member {
    std::atomic<pid_t> process;     ///< 0 before it joined, kLeft after it left
    std::atomic<uint64_t> arrived;  ///< rounds in which its chunk is filled
    std::atomic<uint64_t> left;     ///< rounds in which it has read all chunks
  };
  std::array<Member, SharedGroup::kMostRanks> members;
  std::array<SharedGroup::Chunk, SharedGroup::kMostRanks> chunks;
};

namespace {

constexpr pid_t kLeft = -1;
constexpr std::chrono::microseconds kLookEvery{50};

/// What the id's bytes are.
struct Address {
  pid_t process = 0;
  int file = -1;
};
static_assert(sizeof(Address) <= sizeof(ncclUniqueId));

}  // namespace

ncclResult_t SharedGroup::make_id(ncclUniqueId* id) {
  Address address;
  address.process = ::getpid();
  address.file = ::memfd_create("double of NCCL", MFD_CLOEXEC);
  if (address.file < 0 || ::ftruncate(address.file, sizeof(SharedMemory)) != 0)
    return ncclSystemError;

  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &address, sizeof address);
  return ncclSuccess;
}

std::shared_ptr<SharedGroup> SharedGroup::join(ncclUniqueId const& id, size_t ranks, size_t rank) {
  if (ranks > kMostRanks || rank >= ranks) return nullptr;
  Address address;
  std::memcpy(&address, id.internal, sizeof address);

  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", address.process, address.file);
  int const file = ::open(path.data(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const map =
      ::mmap(nullptr, sizeof(SharedMemory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (map == MAP_FAILED) return nullptr;

  return std::shared_ptr<SharedGroup>(
      new SharedGroup(*static_cast<SharedMemory*>(map), ranks, rank));
}

SharedGroup::SharedGroup(SharedMemory& memory, size_t ranks, size_t rank)
    : memory_(memory), ranks_(ranks), rank_(rank) {
  memory_.members[rank_].process = ::getpid();
}

SharedGroup::~SharedGroup() {
  memory_.members[rank_].process = kLeft;
  ::munmap(&memory_, sizeof memory_);
}

bool SharedGroup::wait_for_all(std::function<bool(size_t rank)> const& has_come) const {
  for (size_t rank = 0; rank < ranks_; ++rank) {
    while (!has_come(rank)) {
      if (is_aborted_) return false;
      std::this_thread::sleep_for(kLookEvery);
    }
  }
  return true;
}

bool SharedGroup::connect() {
  return wait_for_all([this](size_t rank) { return memory_.members[rank].process != 0; });
}

bool SharedGroup::has_lost_member() const {
  for (size_t rank = 0; rank < ranks_; ++rank) {
    pid_t const process = memory_.members[rank].process;
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) return true;
  }
  return false;
}

void SharedGroup::exchange(float const* send, size_t count, Take const& take) {
  SharedMemory::Member& own = memory_.members[rank_];
  for (size_t begin = 0; begin < count; begin += kChunk) {
    size_t const part = std::min(kChunk, count - begin);
    ++round_;

    // All members have read the chunk of the round before.
    auto const has_left = [this](size_t rank) { return memory_.members[rank].left >= round_ - 1; };
    if (!wait_for_all(has_left)) return;
    if (send != nullptr)
      std::memcpy(memory_.chunks[rank_].data(), send + begin, part * sizeof(float));
    own.arrived = round_;

    auto const has_come = [this](size_t rank) { return memory_.members[rank].arrived >= round_; };
    if (!wait_for_all(has_come)) return;
    take(begin, part);
    own.left = round_;
  }
}

/// In the order of the ranks, as the members of one process compute it.
float SharedGroup::mean(size_t index) const {
  float sum = 0;
  for (size_t rank = 0; rank < ranks_; ++rank) sum += memory_.chunks[rank][index];
  return sum / static_cast<float>(ranks_);
}

void SharedGroup::all_reduce(float const* send, float* receive, size_t count) {
  exchange(send, count, [&](size_t begin, size_t part) {
    for (size_t i = 0; i < part; ++i) receive[begin + i] = mean(i);
  });
}

void SharedGroup::reduce_scatter(float const* send, float* receive, size_t count) {
  size_t const first = rank_ * count;
  exchange(send, ranks_ * count, [&](size_t begin, size_t part) {
    size_t const from = std::max(begin, first), to = std::min(begin + part, first + count);
    for (size_t i = from; i < to; ++i) receive[i - first] = mean(i - begin);
  });
}

void SharedGroup::all_gather(float const* send, float* receive, size_t count) {
  exchange(send, count, [&](size_t begin, size_t part) {
    for (size_t rank = 0; rank < ranks_; ++rank)
      std::memcpy(receive + rank * count + begin, memory_.chunks[rank].data(),
                  part * sizeof(float));
  });
}

void SharedGroup::broadcast(float const* send, float* receive, size_t count, size_t root) {
  exchange(rank_ == root ? send : nullptr, count, [&](size_t begin, size_t part) {
    std::memcpy(receive + begin, memory_.chunks[root].data(), part * sizeof(float));
  });
}

}  // namespace stepscope::cuda_doubles
