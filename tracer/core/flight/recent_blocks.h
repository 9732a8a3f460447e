// The encoded events of the last while, in memory: what a ring keeps. Blocks come in the order in
// which their rows ended, and leave so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/writer.h"

namespace stepscope::tracer {

/// A piece of memory that fork() does not copy (unforked_memory.h), filled once.
class BlockChunk {
 public:
  explicit BlockChunk(size_t bytes);
  ~BlockChunk();
  BlockChunk(BlockChunk const&) = delete;
  BlockChunk& operator=(BlockChunk const&) = delete;

  [[nodiscard]] size_t left() const { return bytes_ - used_; }
  /// There must be room.
  base::ByteSpan add(base::ByteSpan bytes);

 private:
  std::byte* memory_;
  size_t bytes_, used_ = 0;
};

struct KeptBlock {
  file::BlockHeader header;
  base::ByteSpan payload;  ///< in `chunk`
  std::shared_ptr<BlockChunk const> chunk;
};

/// What is kept at a moment; later ones change nothing of it.
struct KeptBlocks {
  std::vector<KeptBlock> names, events;
  int64_t complete_since_ns = INT64_MIN;  ///< whatever ended later is there
  bool is_cut_by_bytes = false;           ///< the bound of memory decided that, not that of time
};

/// Used by the thread that encodes, but for what says otherwise.
class RecentBlocks : public file::BlockSink {
 public:
  explicit RecentBlocks(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Events are kept, and the texts that they name; other blocks are what is known of the process,
  /// which is written anew with each ring.
  base::Expected<void> add(file::BlockHeader const& header, base::ByteSpan payload) override;
  /// Rows that are encoded from now on have their names in the next space. The texts of the one
  /// before go with the last of its events; those of the space that is used anew go now.
  void begin_names();
  [[nodiscard]] KeptBlocks copy() const;
  /// Gives all memory back.
  void clear();

  // Any thread.
  /// What ended before is not wanted any more.
  void keep_from(int64_t ns) { keep_from_ns_.store(ns, std::memory_order_relaxed); }
  [[nodiscard]] int64_t complete_since_ns() const {
    return complete_since_ns_.load(std::memory_order_relaxed);
  }
  /// What the events take, with what is known of each block.
  [[nodiscard]] size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  /// Texts between two calls of begin_names().
  struct Names {
    std::vector<KeptBlock> blocks;
    uint64_t events_until = UINT64_MAX;  ///< no block of events from this number on names one
  };
  KeptBlock keep(file::BlockHeader const& header, base::ByteSpan payload,
                 std::shared_ptr<BlockChunk>& chunk);
  void drop_old();
  void drop_first();

  size_t const max_bytes_;
  std::shared_ptr<BlockChunk> events_chunk_, names_chunk_;  ///< being filled
  std::deque<KeptBlock> events_;
  uint64_t first_event_ = 0;  ///< number of the first one that is there
  std::deque<Names> names_ = std::deque<Names>(1);
  bool is_cut_by_bytes_ = false;
  std::atomic<size_t> bytes_{0};
  std::atomic<int64_t> keep_from_ns_{INT64_MIN}, complete_since_ns_{INT64_MIN};
};

}  // namespace stepscope::tracer
