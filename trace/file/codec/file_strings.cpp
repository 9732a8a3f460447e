#include "trace/file/codec/file_strings.h"

#include <algorithm>
#include <utility>

#include "trace/base/bytes.h"

namespace stepscope::file {

bool FileStrings::add(std::vector<std::byte> payload, uint64_t& bytes_left) {
  payloads_.push_back(std::move(payload));
  base::ByteReader in(payloads_.back());
  auto const first = in.get<uint32_t>();
  auto const count = in.get<uint32_t>();
  base::ByteReader lengths(in.get_bytes(size_t{count} * sizeof(uint32_t)));
  // Ids are given out one after the other. After lost blocks some stay unknown; more than any
  // program has are damage.
  constexpr size_t kMaxUnknown = 1U << 22;
  size_t const gap = first - std::min<size_t>(first, texts_.size());
  uint64_t const bytes = count * sizeof(std::string_view);
  if (!in.ok() || gap > kMaxUnknown - unknown_ || bytes > bytes_left) return false;
  unknown_ += gap;
  bytes_left -= bytes;
  if (texts_.size() < size_t{first} + count) texts_.resize(size_t{first} + count);
  for (uint32_t i = 0; i < count; ++i) {
    base::ByteSpan const text = in.get_bytes(lengths.get<uint32_t>());
    if (!in.ok()) return false;
    texts_[first + i] = {reinterpret_cast<char const*>(text.data()), text.size()};
  }
  return true;
}

}  // namespace stepscope::file
