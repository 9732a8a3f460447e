#include "trace/file/format.h"

#include <xxhash.h>

namespace stepscope::file {
namespace {

constexpr size_t kChecksumOffset = kBlockHeaderSize - sizeof(uint64_t);

uint64_t checksum(base::ByteSpan header_without_checksum, base::ByteSpan payload) {
  uint64_t const seed = XXH3_64bits(header_without_checksum.data(), header_without_checksum.size());
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

}  // namespace

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
  out.put(uint64_t{0});  // reserved
  out.put(checksum(out.span(), payload));
  return out;
}

std::optional<Block> block_at(base::ByteSpan file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < kBlockHeaderSize) return std::nullopt;
  base::ByteSpan const raw = file.subspan(offset, kBlockHeaderSize);
  base::ByteReader in(raw);
  if (in.get<uint32_t>() != kBlockMagic) return std::nullopt;
  BlockHeader header;
  header.type = in.get<uint16_t>();
  header.compressed = in.get<uint16_t>();
  header.stored_size = in.get<uint32_t>();
  header.raw_size = in.get<uint32_t>();
  header.track = in.get<uint32_t>();
  header.rows = in.get<uint32_t>();
  header.min_start = in.get<int64_t>();
  header.max_end = in.get<int64_t>();
  header.kinds = in.get<uint64_t>();
  in.get<uint64_t>();
  auto const expected = in.get<uint64_t>();
  if (header.raw_size > kMaxPayloadBytes || header.stored_size > file.size() - offset - kBlockHeaderSize) return std::nullopt;
  base::ByteSpan const payload = file.subspan(offset + kBlockHeaderSize, header.stored_size);
  if (checksum(raw.first(kChecksumOffset), payload) != expected) return std::nullopt;
  return Block{header, payload};
}

}  // namespace stepscope::file
