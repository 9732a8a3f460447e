#include "tests/fuzz/block_input.h"

#include <algorithm>
#include <span>

namespace stepscope::fuzz {

base::ByteWriter file_of_blocks(base::ByteSpan input) {
  base::ByteWriter out;
  out.put_bytes(std::as_bytes(std::span(file::kFileMagic)));
  out.put(file::kFormatVersion);
  while (out.size() < file::kFileHeaderSize) out.put(uint8_t{0});
  base::ByteReader in(input);
  while (in.remaining() > 0) {
    file::BlockHeader header;
    header.type = in.get<uint16_t>();
    header.track = in.get<uint16_t>();
    header.rows = in.get<uint32_t>();
    base::ByteSpan const payload = in.get_bytes(std::min<size_t>(in.get<uint32_t>(), in.remaining()));
    header.raw_size = header.stored_size = static_cast<uint32_t>(payload.size());
    out.put_bytes(file::encode_block_header(header, payload).span());
    out.put_bytes(payload);
  }
  return out;
}

void put_block(base::ByteWriter& input, file::BlockHeader const& header, base::ByteSpan raw_payload) {
  input.put(header.type);
  input.put(static_cast<uint16_t>(header.track));
  input.put(header.rows);
  input.put(static_cast<uint32_t>(raw_payload.size()));
  input.put_bytes(raw_payload);
}

}  // namespace stepscope::fuzz
