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

}  // namespace

void mutate_once(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;
  auto const at = [&] { return static_cast<size_t>(random() % bytes.size()); };
  switch (random() % 6) {
    case 0:
      bytes[at()] ^= static_cast<uint8_t>(1U << (random() % 8));
      break;
    case 1:
      bytes[at()] = static_cast<uint8_t>(random());
      break;
    case 2: {
      uint32_t const edge = kEdges[random() % std::size(kEdges)];
      size_t const where = at();
      std::memcpy(bytes.data() + where, &edge, std::min(sizeof edge, bytes.size() - where));
      break;
    }
    case 3:
      bytes.resize(at());
      break;
    case 4: {
      size_t const from = at();
      std::vector<uint8_t> const piece(
          bytes.begin() + static_cast<ptrdiff_t>(from),
          bytes.begin() + static_cast<ptrdiff_t>(std::min(bytes.size(), from + random() % 64)));
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at()), piece.begin(), piece.end());
      break;
    }
    default: {
      size_t const from = at();
      size_t const to = std::min(bytes.size(), from + random() % 64);
      bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(from),
                  bytes.begin() + static_cast<ptrdiff_t>(to));
      break;
    }
  }
}

}  // namespace stepscope::fuzz
