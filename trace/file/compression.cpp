#include "trace/file/compression.h"

#include <zstd.h>

namespace stepscope::file {
namespace {

// Level 3 is where size stops falling quickly and time starts to rise on shuffled timestamps.
constexpr int kLevel = 3;

}  // namespace

std::optional<std::vector<std::byte>> compress(base::ByteSpan raw) {
  std::vector<std::byte> stored(ZSTD_compressBound(raw.size()));
  size_t const size = ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), kLevel);
  if (ZSTD_isError(size) != 0 || size >= raw.size()) return std::nullopt;
  stored.resize(size);
  return stored;
}

std::optional<std::vector<std::byte>> decompress(base::ByteSpan stored, size_t raw_size) {
  // The frame's own size is read first: a header that promises more than the frame holds must not cost memory.
  unsigned long long const content = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (content != raw_size) return std::nullopt;
  std::vector<std::byte> raw(raw_size);
  size_t const size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != raw_size) return std::nullopt;
  return raw;
}

}  // namespace stepscope::file
