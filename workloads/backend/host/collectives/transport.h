// How the members of a ring reach each other's data: in place where they share memory
// (thread_transport.h), by copies where they do not (process_transport.h). The algorithms are the
// ring's; a transport only carries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::workloads::host {

/// What collectives work on at a time, 128 KiB: a piece stays in the second-level cache between
/// being reduced and being copied on, and is long against a wake-up.
inline constexpr size_t kPieceFloats = 32 * 1024;

/// Where a member's next floats come from.
struct Origin {
  uint32_t member = 0;
  size_t offset = 0;    ///< into the data that it began with
  uint32_t pieces = 0;  ///< that it must have finished before
};

/// Each member calls from one thread. All members begin the same collectives in the same order.
/// When a process is gone every call returns at once, with whatever is in the buffers.
class Transport {
 public:
  enum class Readers : uint8_t { kRightNeighbour, kAll };

  virtual ~Transport() = default;

  /// Number of the ring in traces; the same on all members. The numbers up to id + members² are its
  /// own, too.
  [[nodiscard]] virtual uint64_t id() const = 0;
  [[nodiscard]] virtual uint32_t members() const = 0;
  /// Whether this process has the member.
  [[nodiscard]] virtual bool has(uint32_t member) const = 0;
  /// True: take() answers with the other member's own memory, and give() does nothing.
  [[nodiscard]] virtual bool shares_memory() const = 0;

  // A collective of `count` floats.

  /// The others may read data[0, count) from now on. `writable`: the same array, if the right
  /// neighbour may write what it has taken; null otherwise.
  virtual void begin(uint32_t rank, float const* data, float* writable, size_t count) = 0;
  /// Copies what `to` takes next from this member, which must be cut as that take() is.
  virtual void give(uint32_t rank, uint32_t to, float const* data, size_t count) = 0;
  /// Blocks until the next `count` floats of another member are there: in that member's memory, or
  /// else in `landing`. Where `landing` is null they are in memory of the transport, kPieceFloats
  /// at most, until the next take().
  virtual float const* take(uint32_t rank, Origin const& from, size_t count, float* landing) = 0;
  /// What take() has answered, to be written; only where memory is shared and its owner allows it.
  virtual float* writable(Origin const& from) = 0;
  /// Members that take from this one may have one piece more.
  virtual void finish_piece(uint32_t rank) = 0;
  /// Blocks until these members read nothing of this one's data any more, which copies do from the
  /// start.
  virtual void end(uint32_t rank, Readers readers) = 0;

  // Messages between two members (or of one to itself), in order. A send does not wait.

  virtual void send(uint32_t rank, uint32_t to, float const* data, size_t count) = 0;
  /// Blocks until the next message is in `data`; it must have this count.
  virtual void receive(uint32_t rank, uint32_t from, float* data, size_t count) = 0;
};

}  // namespace stepscope::workloads::host
