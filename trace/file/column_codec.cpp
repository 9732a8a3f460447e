#include "trace/file/column_codec.h"

#include <algorithm>
#include <bit>

namespace stepscope::file {
namespace {

using base::ByteSpan;

constexpr uint64_t zigzag(uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }
constexpr uint64_t unzigzag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

/// Bytes needed for a value of which `bits` holds at least all set bits.
uint8_t width_of(uint64_t bits) { return static_cast<uint8_t>((std::bit_width(bits) + 7) / 8); }

void put_planes(std::span<uint64_t const> values, uint8_t width, base::ByteWriter& out) {
  std::vector<std::byte> plane(values.size());
  for (uint8_t p = 0; p < width; ++p) {
    for (size_t i = 0; i < values.size(); ++i) plane[i] = static_cast<std::byte>(values[i] >> (8 * p));
    out.put_bytes(plane);
  }
}

struct ColumnHead {
  ColumnCoding coding;
  uint8_t width;
  uint32_t count;
  [[nodiscard]] uint64_t data_bytes() const {
    if (coding == ColumnCoding::kConstant) return width;
    return uint64_t{width} * count + (coding == ColumnCoding::kZigzagDelta ? sizeof(uint64_t) : 0);
  }
};

ColumnHead get_head(base::ByteReader& in) {
  ColumnHead head{};
  head.coding = static_cast<ColumnCoding>(in.get<uint8_t>());
  head.width = in.get<uint8_t>();
  head.count = in.get<uint32_t>();
  return head;
}

void put_head(ColumnHead head, base::ByteWriter& out) {
  out.put(static_cast<uint8_t>(head.coding));
  out.put(head.width);
  out.put(head.count);
}

}  // namespace

void encode_column(std::span<uint64_t const> values, base::ByteWriter& out) {
  auto const count = static_cast<uint32_t>(values.size());
  uint64_t plain_bits = 0;
  uint64_t zigzag_bits = 0;
  uint64_t delta_bits = 0;
  uint64_t previous = values.empty() ? 0 : values[0];
  bool constant = true;
  for (uint64_t const value : values) {
    plain_bits |= value;
    zigzag_bits |= zigzag(value);
    delta_bits |= zigzag(value - previous);
    previous = value;
    constant = constant && value == values[0];
  }
  if (constant) {
    uint64_t const value = values.empty() ? 0 : values[0];
    put_head({ColumnCoding::kConstant, width_of(value), count}, out);
    for (uint8_t p = 0; p < width_of(value); ++p) out.put(static_cast<uint8_t>(value >> (8 * p)));
    return;
  }
  uint8_t const width = std::min({width_of(plain_bits), width_of(zigzag_bits), width_of(delta_bits)});
  if (width == width_of(plain_bits)) {
    put_head({ColumnCoding::kPlain, width, count}, out);
    put_planes(values, width, out);
    return;
  }
  bool const delta = width == width_of(delta_bits);
  std::vector<uint64_t> coded(values.size());
  previous = values[0];
  for (size_t i = 0; i < values.size(); ++i) {
    coded[i] = zigzag(delta ? values[i] - previous : values[i]);
    previous = values[i];
  }
  put_head({delta ? ColumnCoding::kZigzagDelta : ColumnCoding::kZigzag, width, count}, out);
  if (delta) out.put(values[0]);
  put_planes(coded, width, out);
}

bool decode_column(base::ByteReader& in, size_t expected_count, std::vector<uint64_t>& values) {
  ColumnHead const head = get_head(in);
  if (!in.ok() || head.count != expected_count || head.width > 8 || head.coding > ColumnCoding::kZigzagDelta) return false;
  ByteSpan const data = in.get_bytes(head.data_bytes());
  if (!in.ok()) return false;
  values.assign(head.count, 0);
  if (head.coding == ColumnCoding::kConstant) {
    uint64_t value = 0;
    for (uint8_t p = 0; p < head.width; ++p) value |= static_cast<uint64_t>(data[p]) << (8 * p);
    std::fill(values.begin(), values.end(), value);
    return true;
  }
  bool const delta = head.coding == ColumnCoding::kZigzagDelta;
  ByteSpan const planes = data.subspan(delta ? sizeof(uint64_t) : 0);
  for (uint8_t p = 0; p < head.width; ++p) {
    std::byte const* const plane = planes.data() + size_t{p} * head.count;
    for (size_t i = 0; i < head.count; ++i) values[i] |= static_cast<uint64_t>(plane[i]) << (8 * p);
  }
  if (head.coding == ColumnCoding::kZigzag)
    for (uint64_t& value : values) value = unzigzag(value);
  if (delta) {
    auto sum = base::ByteReader(data).get<uint64_t>();
    for (uint64_t& value : values) value = sum += unzigzag(value);
  }
  return true;
}

bool skip_column(base::ByteReader& in) {
  ColumnHead const head = get_head(in);
  in.get_bytes(head.data_bytes());
  return in.ok();
}

}  // namespace stepscope::file
