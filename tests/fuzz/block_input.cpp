#include "tests/fuzz/block_input.h"

#include <algorithm>
#include <span>
#include <vector>

#include "trace/file/codec/compression.h"
#include "trace/file/index.h"

namespace stepscope::fuzz {
namespace {

constexpr uint16_t kCompress = 0x8000;

bool is_index(file::BlockHeader const& header) {
  return header.type == static_cast<uint16_t>(file::BlockType::kIndex);
}

/// Appends the block to the file and to its entries.
void append(file::BlockHeader header, base::ByteSpan payload, bool compress, base::ByteWriter& out,
            std::vector<file::IndexEntry>& entries) {
  header.raw_size = static_cast<uint32_t>(payload.size());
  base::ByteWriter frame;
  if (compress && file::Compressor().compress(payload, frame) > 0) {
    header.compressed = 1;
    payload = frame.span();
  }
  header.stored_size = static_cast<uint32_t>(payload.size());

  uint64_t const offset = out.size();
  out.put_bytes(file::encode_block_header(header, payload).span());
  out.put_bytes(payload);

  if (is_index(header))
    out.put_bytes(file::encode_end(offset).span());
  else
    entries.push_back({offset, out.size() - offset, header});
}

}  // namespace

base::ByteWriter file_of_blocks(base::ByteSpan input) {
  base::ByteWriter out;
  out.put_bytes(std::as_bytes(std::span(file::kFileMagic)));
  out.put(file::kFormatVersion);
  while (out.size() < file::kFileHeaderSize) out.put(uint8_t{0});

  base::ByteReader in(input);
  std::vector<file::IndexEntry> entries;
  file::ColumnEncoder columns;
  while (in.remaining() > 0) {
    file::BlockHeader header;
    auto const type = in.get<uint16_t>();
    header.type = type & static_cast<uint16_t>(~kCompress);
    header.track = in.get<uint16_t>();
    header.rows = in.get<uint32_t>();
    base::ByteSpan const payload =
        in.get_bytes(std::min<size_t>(in.get<uint32_t>(), in.remaining()));

    base::ByteWriter index;
    bool const is_true_index = is_index(header) && payload.empty();
    if (is_true_index) {
      file::encode_index(entries, columns, index);
      header.rows = static_cast<uint32_t>(entries.size());
    }
    append(header, is_true_index ? index.span() : payload, (type & kCompress) != 0, out, entries);
  }

  return out;
}

void put_block(base::ByteWriter& input, file::BlockHeader const& header,
               base::ByteSpan raw_payload) {
  input.put(static_cast<uint16_t>(header.type | (header.compressed == 1 ? kCompress : 0)));
  input.put(static_cast<uint16_t>(header.track));
  input.put(header.rows);
  input.put(static_cast<uint32_t>(raw_payload.size()));
  input.put_bytes(raw_payload);
}

}  // namespace stepscope::fuzz
