#include "tests/fuzz/mutators/mutate_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace stepscope::fuzz {
namespace {

/// Values that lengths and counts are compared with.
constexpr uint32_t kEdges[] = {0,      1,       0x7F,       0xFF,       0x7FFF,
                               0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};

size_t any_place(std::vector<uint8_t> const& bytes, std::mt19937_64& random) {
  return random() % bytes.size();
}

void overwrite_with_edge(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  uint32_t const edge = kEdges[random() % std::size(kEdges)];
  size_t const place = any_place(bytes, random);
  std::memcpy(bytes.data() + place, &edge, std::min(sizeof edge, bytes.size() - place));
}

void repeat_piece(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  size_t const begin = any_place(bytes, random);
  size_t const end = std::min(bytes.size(), begin + random() % 64);
  std::vector<uint8_t> const piece(bytes.begin() + static_cast<ptrdiff_t>(begin),
                                   bytes.begin() + static_cast<ptrdiff_t>(end));

  auto const target = static_cast<ptrdiff_t>(any_place(bytes, random));
  bytes.insert(bytes.begin() + target, piece.begin(), piece.end());
}

void take_piece_out(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  size_t const begin = any_place(bytes, random);
  size_t const end = std::min(bytes.size(), begin + random() % 64);
  bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(begin),
              bytes.begin() + static_cast<ptrdiff_t>(end));
}

}  // namespace

void mutate_once(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;

  switch (random() % 6) {
    case 0:
      bytes[any_place(bytes, random)] ^= static_cast<uint8_t>(1U << (random() % 8));
      return;
    case 1:
      bytes[any_place(bytes, random)] = static_cast<uint8_t>(random());
      return;
    case 2:
      return overwrite_with_edge(bytes, random);
    case 3:
      return bytes.resize(any_place(bytes, random));
    case 4:
      return repeat_piece(bytes, random);
    default:
      return take_piece_out(bytes, random);
  }
}

}  // namespace stepscope::fuzz
