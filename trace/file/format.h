// The layout of a .stepscope file, version 1 (docs/reference/TRACE_FORMAT.md): magic numbers, the
// block header and the end of the file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "trace/base/bytes.h"

namespace stepscope::file {

/// First bytes of every file. Not text, and broken by tools that translate line ends.
inline constexpr std::array<uint8_t, 8> kFileMagic = {0x89, 'S', 'S', 'C', '\r', '\n', 0x1A, '\n'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kFileHeaderSize = 32;

inline constexpr uint32_t kBlockMagic = 0x4B4C4253;  // "SBLK"
inline constexpr size_t kBlockHeaderSize = 64;
/// Largest payload before compression; a header that claims more is damaged.
inline constexpr uint32_t kMaxPayloadBytes = 64U << 20;

inline constexpr uint64_t kEndMagic = 0x0A444E4550435353;  // "SSCPEND\n"
inline constexpr size_t kEndSize = 24;

/// More tracks than any program has; what claims more is damaged.
inline constexpr uint32_t kMaxTracks = 1U << 20;

/// Numbers are stored in files. Blocks of types a reader does not know are skipped.
enum class BlockType : uint16_t {
  kStrings = 1,
  kDescription = 2,
  kEvents = 3,
  kIndex = 4,
  kTracks = 5,
  kSummary = 6,
  kSteps = 7,
  kPadding = 8  ///< zeros: see Claims
};

/// What stands before every payload.
struct BlockHeader {
  uint16_t type = 0;
  uint16_t compressed = 0;   ///< 1 = the payload is a zstd frame
  uint32_t stored_size = 0;  ///< bytes of the payload in the file
  uint32_t raw_size = 0;     ///< bytes of the payload after decompression
  uint32_t track = 0;        ///< event blocks: the track of all rows
  uint32_t rows = 0;         ///< event blocks: how many events
  int64_t min_start = 0;     ///< event blocks: first start, ns
  int64_t max_end = 0;       ///< event blocks: last end, ns
  uint64_t kinds = 0;        ///< event blocks: bit k = an event of kind k is in it
};

/// A time of a header or an index, from −model::kMaxTime to behind an event at model::kMaxTime:
/// what a damaged file claims beyond is moved to it.
int64_t possible_time(int64_t ns);

/// The 64 bytes in front of `payload`, checksum included.
base::ByteWriter encode_block_header(BlockHeader const& header, base::ByteSpan payload);

/// The header at `offset`, when it is all there and its own checksum is right: what it says is true
/// then, but its payload may be damaged or cut.
std::optional<BlockHeader> header_at(base::ByteSpan file, uint64_t offset);

/// A block whose checksums were found right.
struct Block {
  BlockHeader header;
  base::ByteSpan payload;  ///< as stored
};
/// The block at `offset`, or nothing when there is none or it is damaged.
std::optional<Block> block_at(base::ByteSpan file, uint64_t offset);

}  // namespace stepscope::file
