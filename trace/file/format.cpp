#include "trace/file/format.h"

#include <algorithm>
#include <span>

#include <xxhash.h>

#include "trace/model/trace.h"

namespace stepscope::file {
namespace {

// The last two numbers of a header: the checksum of what is before it, and the block's, of payload
// and header.
constexpr size_t kHeaderChecksumOffset = kBlockHeaderSize - 2 * sizeof(uint64_t);
constexpr size_t kChecksumOffset = kBlockHeaderSize - sizeof(uint64_t);

uint64_t checksum_of(base::ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t block_checksum(base::ByteSpan header, base::ByteSpan payload) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(),
                              checksum_of(header.first(kChecksumOffset)));
}

uint64_t number_at(base::ByteSpan bytes, size_t offset) {
  return base::ByteReader(bytes.subspan(offset)).get<uint64_t>();
}

}  // namespace

int64_t possible_time(int64_t ns) { return std::clamp(ns, -model::kMaxTime, model::kMaxTime + 1); }

base::ByteWriter encode_block_header(BlockHeader const& header, base::ByteSpan payload) {
  base::ByteWriter out;
  out.put(kBlockMagic);
  out.put(header.type);
  out.put(header.compressed);
  out.put(header.stored_size);
  out.put(header.raw_size);
  out.put(header.track);
  out.put(header.rows);
  out.put(header.min_start);
  out.put(header.max_end);
  out.put(header.kinds);
  out.put(checksum_of(out.span()));
  out.put(block_checksum(out.span(), payload));
  return out;
}

std::optional<BlockHeader> header_at(base::ByteSpan file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < kBlockHeaderSize) return std::nullopt;
  base::ByteSpan const raw = file.subspan(offset, kBlockHeaderSize);
  base::ByteReader in(raw);
  if (in.get<uint32_t>() != kBlockMagic) return std::nullopt;
  if (checksum_of(raw.first(kHeaderChecksumOffset)) != number_at(raw, kHeaderChecksumOffset))
    return std::nullopt;
  BlockHeader header;
  header.type = in.get<uint16_t>();
  header.compressed = in.get<uint16_t>();
  header.stored_size = in.get<uint32_t>();
  header.raw_size = in.get<uint32_t>();
  header.track = in.get<uint32_t>();
  header.rows = in.get<uint32_t>();
  header.min_start = possible_time(in.get<int64_t>());
  header.max_end = possible_time(in.get<int64_t>());
  header.kinds = in.get<uint64_t>();
  if (header.raw_size > kMaxPayloadBytes || header.stored_size > kMaxPayloadBytes)
    return std::nullopt;
  return header;
}

std::optional<Block> block_at(base::ByteSpan file, uint64_t offset) {
  auto const header = header_at(file, offset);
  if (!header || header->stored_size > file.size() - offset - kBlockHeaderSize) return std::nullopt;
  base::ByteSpan const raw = file.subspan(offset, kBlockHeaderSize);
  base::ByteSpan const payload = file.subspan(offset + kBlockHeaderSize, header->stored_size);
  if (block_checksum(raw, payload) != number_at(raw, kChecksumOffset)) return std::nullopt;
  return Block{*header, payload};
}

}  // namespace stepscope::file
