// A communicator's member where the ranks are in several processes of one machine. Its kernels
// exchange arrays by memory that the processes share, in chunks. The unique id names that memory:
// a file of the process that made the id, which the system frees with the last that maps it.
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace stepscope::cuda_doubles {

struct SharedMemory;

class SharedGroup {
 public:
  static constexpr size_t kMostRanks = 16;
  static constexpr size_t kChunk = size_t{64} << 10U;  ///< floats
  using Chunk = std::array<float, kChunk>;

  /// Makes the memory; it stays open in this process.
  static ncclResult_t make_id(ncclUniqueId* id);
  /// Null when the process that made the id is gone or the ranks do not fit.
  static std::shared_ptr<SharedGroup> join(ncclUniqueId const& id, size_t ranks, size_t rank);
  /// The rank is no member any more, which is no loss for the others.
  ~SharedGroup();
  SharedGroup(SharedGroup const&) = delete;
  SharedGroup& operator=(SharedGroup const&) = delete;

  [[nodiscard]] size_t ranks() const { return ranks_; }
  /// Waits until all have joined. False after abort().
  [[nodiscard]] bool connect();
  /// Whether the process of a member ended without leaving.
  [[nodiscard]] bool has_lost_member() const;
  /// Ends what waits for others.
  void abort() { is_aborted_ = true; }

  // Each a kernel's work: all members call them in the same order, one at a time. Where the group
  // is aborted the rest of the result stays as it is.
  void all_reduce(float const* send, float* receive, size_t count);
  void reduce_scatter(float const* send, float* receive, size_t count);
  void all_gather(float const* send, float* receive, size_t count);
  void broadcast(float const* send, float* receive, size_t count, size_t root);

 private:
  /// `take(begin, count)`: elements from `begin` on lie in the chunks of all members.
  using Take = std::function<void(size_t begin, size_t count)>;

  SharedGroup(SharedMemory& memory, size_t ranks, size_t rank);
  /// `send` is null for a member that has nothing to give.
  void exchange(float const* send, size_t count, Take const& take);
  [[nodiscard]] bool wait_for_all(std::function<bool(size_t rank)> const& has_come) const;
  [[nodiscard]] float mean(size_t index) const;

  SharedMemory& memory_;
  size_t const ranks_, rank_;
  uint64_t round_ = 0;  ///< chunks exchanged
  std::atomic<bool> is_aborted_{false};
};

}  // namespace stepscope::cuda_doubles
