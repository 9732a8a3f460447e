#include "trace/file/codec/column_codec.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

namespace stepscope::file {
namespace {

constexpr uint64_t zigzag(uint64_t value) { return (value << 1) ^ (0 - (value >> 63)); }
constexpr uint64_t unzigzag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

// Rows looked at to choose between codings: enough for a stable choice, a tenth of the cost of
// looking at all of a full block.
constexpr size_t kSampleRows = 4096;

/// Calls visit(i) for at most about kSampleRows rows, spread evenly, from row 1 on.
template <class Visit>
void for_sample(size_t rows, Visit&& visit) {
  size_t const stride = rows / kSampleRows + 1;
  for (size_t i = 1; i < rows; i += stride) visit(i);
}

int bits(uint64_t value) { return static_cast<int>(std::bit_width(value)); }

/// The largest number of ns that divides every duration and every distance of starts. 1 for most
/// clocks, and where one of them is negative.
uint64_t common_unit(std::span<uint64_t const> start, std::span<uint64_t const> dur) {
  // The first rows decide whether there is one; only then is every row divided.
  constexpr size_t kProbe = 32;
  uint64_t unit = 0;
  uint64_t all = 0;

  for (size_t i = 0; i < start.size() && unit != 1; ++i) {
    uint64_t const distance = i > 0 ? start[i] - start[i - 1] : 0;
    all |= distance | dur[i];
    if (i == kProbe && unit == 0) return 1;  // nothing but zeros yet: not worth dividing by
    if (i < kProbe || dur[i] % unit != 0 || distance % unit != 0)
      unit = std::gcd(unit, std::gcd(dur[i], distance));
  }

  bool const negative = all >> 63 != 0;
  return unit == 0 || negative ? 1 : unit;
}

bool is_constant(std::span<uint64_t const> values) {
  return values.empty() || std::all_of(values.begin(), values.end(),
                                       [&](uint64_t value) { return value == values[0]; });
}

/// A difference modulo 2^64 as a signed number of units.
uint64_t signed_units(uint64_t difference, uint64_t unit) {
  return zigzag(
      static_cast<uint64_t>(static_cast<int64_t>(difference) / static_cast<int64_t>(unit)));
}

}  // namespace

size_t ColumnHead::data_bytes() const {
  size_t sum = dictionary_bytes;
  for (size_t p = 0; p < width; ++p) sum += planes[p].stored_bytes();
  return sum;
}

void put_column_head(ColumnHead const& head, base::ByteWriter& out) {
  out.put(head.scope);
  out.put(head.number);
  out.put(static_cast<uint8_t>(head.coding));
  out.put(head.width);

  out.put_varint(head.base);
  out.put_varint(head.unit);
  if (head.coding == ColumnCoding::kDictionary) out.put_varint(head.dictionary_bytes);

  for (size_t p = 0; p < head.width; ++p)
    out.put_varint(uint64_t{head.planes[p].value} << 2 |
                   static_cast<uint8_t>(head.planes[p].coding));
}

bool get_column_head(base::ByteReader& in, ColumnHead& head) {
  head = ColumnHead{};

  head.scope = in.get<uint8_t>();
  head.number = in.get<uint8_t>();
  auto const coding = in.get<uint8_t>();
  head.coding = static_cast<ColumnCoding>(coding);
  head.width = in.get<uint8_t>();
  head.base = in.get_varint();
  head.unit = in.get_varint();

  if (!in.ok() || coding > static_cast<uint8_t>(ColumnCoding::kDictionary) ||
      head.width > head.planes.size())
    return false;

  auto const get_size = [&](int shift) {
    uint64_t const value = in.get_varint();
    return value >> shift <= UINT32_MAX ? std::optional(value) : std::nullopt;
  };

  if (head.coding == ColumnCoding::kDictionary) {
    auto const bytes = get_size(0);
    if (!bytes) return false;
    head.dictionary_bytes = static_cast<uint32_t>(*bytes);
  }

  for (size_t p = 0; p < head.width; ++p) {
    auto const plane = get_size(2);
    if (!plane || (*plane & 3) > static_cast<uint8_t>(PlaneCoding::kZstd)) return false;
    head.planes[p] = {static_cast<PlaneCoding>(*plane & 3), static_cast<uint32_t>(*plane >> 2)};
  }
  return in.ok();
}

void ColumnEncoder::clear() {
  heads_.clear();
  data_.clear();
  count_ = 0;
}

void ColumnEncoder::put_head(ColumnHead const& head) {
  put_column_head(head, heads_);
  ++count_;
}

void ColumnEncoder::put_planes(ColumnHead head, std::span<uint64_t const> values) {
  uint64_t all = 0;
  for (uint64_t const value : values) all |= value;
  head.width = width_of(all);
  std::span<std::byte> const planes = planes_.room(head.width * values.size());
  split_planes(values, head.width, planes.data());
  for (size_t p = 0; p < head.width; ++p)
    head.planes[p] =
        store_plane(planes.subspan(p * values.size(), values.size()), compressor_, data_);
  put_head(head);
}

void ColumnEncoder::put_times(uint8_t scope, uint8_t start_number, uint8_t dur_number,
                              std::span<int64_t const> signed_start,
                              std::span<int64_t const> signed_dur) {
  auto const as_unsigned = [](std::span<int64_t const> values) {
    return std::span(reinterpret_cast<uint64_t const*>(values.data()), values.size());
  };
  auto const start = as_unsigned(signed_start);
  auto const dur = as_unsigned(signed_dur);
  uint64_t const unit = common_unit(start, dur);
  std::span<uint64_t> const out = coded_.room(start.size());

  // Durations first: a reader needs them for the gaps.
  for (size_t i = 0; i < dur.size(); ++i) out[i] = unit == 1 ? dur[i] : dur[i] / unit;
  put_planes({scope, dur_number, ColumnCoding::kPlain, 0, 0, unit}, out);

  int64_t delta_bits = 0;
  int64_t gap_bits = 0;
  for_sample(start.size(), [&](size_t i) {
    delta_bits += bits(start[i] - start[i - 1]);
    gap_bits += bits(zigzag(start[i] - start[i - 1] - dur[i - 1]));
  });
  bool const gap = gap_bits < delta_bits;
  if (!out.empty()) out[0] = 0;
  for (size_t i = 1; i < start.size(); ++i) {
    uint64_t const delta = start[i] - start[i - 1];
    if (unit == 1)
      out[i] = gap ? zigzag(delta - dur[i - 1]) : delta;
    else
      out[i] = gap ? signed_units(delta - dur[i - 1], unit) : delta / unit;
  }
  put_planes({scope, start_number, gap ? ColumnCoding::kGap : ColumnCoding::kDelta, 0,
              start.empty() ? 0 : start[0], unit},
             out);
}

void ColumnEncoder::put_dictionary(uint8_t scope, uint8_t number,
                                   std::span<uint32_t const> values) {
  std::span<uint64_t> const out = coded_.room(values.size());
  dictionary_.clear();
  ++epoch_;

  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t const value = values[i];
    if (value >= slot_epoch_.size()) {
      size_t const size = std::max<size_t>(size_t{value} + 1, 2 * slot_epoch_.size());
      slot_epoch_.resize(size);
      index_of_.resize(size);
    }
    if (slot_epoch_[value] != epoch_) {
      slot_epoch_[value] = epoch_;
      index_of_[value] = static_cast<uint32_t>(dictionary_.size());
      dictionary_.push_back(value);
    }
    out[i] = index_of_[value];
  }

  if (dictionary_.size() <= 1)
    return put_head(
        {scope, number, ColumnCoding::kConstant, 0, dictionary_.empty() ? 0 : dictionary_[0]});

  ColumnHead head{scope, number, ColumnCoding::kDictionary, 0, dictionary_.size()};
  size_t const begin = data_.size();
  for (uint32_t const value : dictionary_) data_.put_varint(value);
  head.dictionary_bytes = static_cast<uint32_t>(data_.size() - begin);
  put_planes(head, out);
}

void ColumnEncoder::put_sparse(uint8_t scope, uint8_t number, std::span<uint64_t const> values) {
  if (is_constant(values)) return put(scope, number, values);
  std::span<uint64_t> const out = coded_.room(values.size());

  uint64_t const base =
      *std::find_if(values.begin(), values.end(), [](uint64_t value) { return value != 0; });
  uint64_t before = base;

  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t const difference = zigzag(values[i] - before);
    // The one difference whose code would be that of "none"; such a column is stored as any other.
    if (difference == UINT64_MAX && values[i] != 0) return put(scope, number, values);
    out[i] = values[i] == 0 ? 0 : difference + 1;
    before = values[i] == 0 ? before : values[i];
  }

  put_planes({scope, number, ColumnCoding::kSparseDelta, 0, base}, out);
}

void ColumnEncoder::put(uint8_t scope, uint8_t number, std::span<uint64_t const> values) {
  if (is_constant(values))
    return put_head({scope, number, ColumnCoding::kConstant, 0, values.empty() ? 0 : values[0]});

  auto least = std::numeric_limits<int64_t>::max();
  uint64_t all = 0;
  for (uint64_t const value : values) {
    least = std::min(least, static_cast<int64_t>(value));
    all |= value;
  }

  // A base pays when it saves a plane: where there are negative numbers, or large ones of a small
  // range.
  auto const lowest = static_cast<uint64_t>(least);
  uint64_t spread = 0;
  for (uint64_t const value : values) spread |= value - lowest;
  uint64_t const base = width_of(spread) < width_of(all) ? lowest : 0;

  int64_t plain_bits = 0;
  int64_t delta_bits = 0;
  for_sample(values.size(), [&](size_t i) {
    plain_bits += bits(values[i] - base);
    delta_bits += bits(zigzag(values[i] - values[i - 1]));
  });

  std::span<uint64_t> const out = coded_.room(values.size());
  // Values that repeat compress better as they are; differences must be clearly shorter.
  bool const delta = delta_bits * 4 < plain_bits * 3;
  for (size_t i = 0; i < values.size(); ++i) {
    size_t const before = i > 0 ? i - 1 : 0;
    out[i] = delta ? zigzag(values[i] - values[before]) : values[i] - base;
  }

  put_planes({scope, number, delta ? ColumnCoding::kZigzagDelta : ColumnCoding::kPlain, 0,
              delta ? values[0] : base},
             out);
}

bool ColumnDecoder::load_planes(ColumnHead const& head, base::ByteSpan data, size_t rows) {
  planes_.resize(head.width * rows);
  size_t offset = head.dictionary_bytes;

  for (size_t p = 0; p < head.width; ++p) {
    size_t const stored = head.planes[p].stored_bytes();
    std::span<std::byte> const plane(planes_.data() + p * rows, rows);
    if (!load_plane(head.planes[p], data.subspan(offset, stored), decompressor_, plane))
      return false;
    offset += stored;
  }
  return true;
}

bool ColumnDecoder::load_dictionary(ColumnHead const& head, base::ByteSpan data) {
  if (head.base > head.dictionary_bytes) return false;  // every entry takes a byte at least
  base::ByteReader in(data.first(head.dictionary_bytes));
  dictionary_.resize(head.base);
  for (uint64_t& entry : dictionary_) entry = in.get_varint();
  return in.ok();
}

bool ColumnDecoder::decode(ColumnHead const& head, base::ByteSpan data,
                           std::span<int64_t const> dur, std::span<uint64_t> values) {
  if (data.size() != head.data_bytes()) return false;

  if (head.coding == ColumnCoding::kConstant) {
    std::fill(values.begin(), values.end(), head.base);
    return true;
  }

  if (!load_planes(head, data, values.size())) return false;
  join_planes(planes_.data(), head.width, values);

  uint64_t before = head.base;
  uint64_t const unit = head.unit;
  switch (head.coding) {
    case ColumnCoding::kConstant:
      break;
    case ColumnCoding::kPlain:
      if (before != 0 || unit != 1)
        for (uint64_t& value : values) value = before + unit * value;
      break;
    case ColumnCoding::kDelta:
      for (uint64_t& value : values) value = before += unit * value;
      break;
    case ColumnCoding::kZigzagDelta:
      for (uint64_t& value : values) value = before += unit * unzigzag(value);
      break;
    case ColumnCoding::kGap:
      if (dur.size() != values.size()) return false;
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = before + unit * unzigzag(values[i]);
        before = values[i] + static_cast<uint64_t>(dur[i]);
      }
      break;
    case ColumnCoding::kSparseDelta:
      for (uint64_t& value : values) {
        uint64_t const next = before + unzigzag(value - 1);
        before = value == 0 ? before : next;
        value = value == 0 ? 0 : next;
      }
      break;
    case ColumnCoding::kDictionary:
      if (!load_dictionary(head, data)) return false;
      for (uint64_t& value : values) {
        if (value >= dictionary_.size()) return false;
        value = dictionary_[value];
      }
      break;
  }
  return true;
}

namespace {

uint8_t mark_of(std::span<char const> wanted, uint64_t value) {
  return wanted[std::min<size_t>(static_cast<uint32_t>(value), wanted.size() - 1)] != 0 ? 1 : 0;
}

}  // namespace

bool ColumnDecoder::decode_ids(ColumnHead const& head, base::ByteSpan data,
                               std::span<uint32_t> values) {
  if (head.coding != ColumnCoding::kDictionary || head.width != 1) {
    values_.resize(values.size());
    if (!decode(head, data, {}, values_)) return false;
    std::transform(values_.begin(), values_.end(), values.begin(),
                   [](uint64_t value) { return static_cast<uint32_t>(value); });
    return true;
  }

  if (data.size() != head.data_bytes() || !load_dictionary(head, data) ||
      !load_planes(head, data, values.size()))
    return false;

  std::array<uint32_t, 256> of_byte{};
  std::transform(
      dictionary_.begin(),
      dictionary_.begin() + static_cast<ptrdiff_t>(std::min(dictionary_.size(), of_byte.size())),
      of_byte.begin(), [](uint64_t entry) { return static_cast<uint32_t>(entry); });

  uint8_t highest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    auto const entry = static_cast<uint8_t>(planes_[i]);
    highest = std::max(highest, entry);
    values[i] = of_byte[entry];
  }
  return values.empty() || highest < dictionary_.size();
}

bool ColumnDecoder::decode_bytes(ColumnHead const& head, base::ByteSpan data,
                                 std::span<uint8_t> values) {
  bool const is_as_stored =
      head.coding == ColumnCoding::kPlain && head.base == 0 && head.unit == 1 && head.width == 1;
  if (is_as_stored)
    return data.size() == head.data_bytes() &&
           load_plane(head.planes[0], data, decompressor_, std::as_writable_bytes(values));

  values_.resize(values.size());
  if (!decode(head, data, {}, values_)) return false;

  uint64_t all = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    all |= values_[i];
    values[i] = static_cast<uint8_t>(values_[i]);
  }
  return all <= UINT8_MAX;
}

bool ColumnDecoder::mark(ColumnHead const& head, base::ByteSpan data, std::span<char const> wanted,
                         std::span<uint8_t> marks, size_t& count) {
  if (head.coding == ColumnCoding::kDictionary)
    return mark_by_dictionary(head, data, wanted, marks, count);

  values_.resize(marks.size());
  if (!decode(head, data, {}, values_)) return false;

  count = 0;
  for (size_t i = 0; i < marks.size(); ++i) {
    marks[i] = mark_of(wanted, values_[i]);
    count += marks[i];
  }
  return true;
}

bool ColumnDecoder::mark_by_dictionary(ColumnHead const& head, base::ByteSpan data,
                                       std::span<char const> wanted, std::span<uint8_t> marks,
                                       size_t& count) {
  count = 0;
  if (data.size() != head.data_bytes() || !load_dictionary(head, data)) return false;

  bool any = false;
  for (uint64_t& entry : dictionary_) {
    entry = mark_of(wanted, entry);
    any = any || entry != 0;
  }

  if (!any) return true;
  if (!load_planes(head, data, marks.size())) return false;

  if (head.width != 1) {
    values_.resize(marks.size());
    join_planes(planes_.data(), head.width, values_);
    for (size_t i = 0; i < marks.size(); ++i) {
      if (values_[i] >= dictionary_.size()) return false;
      marks[i] = static_cast<uint8_t>(dictionary_[values_[i]]);
      count += marks[i];
    }
    return true;
  }

  // One byte a row: a table of all bytes, in which those that stand for no entry have a bit of
  // their own.
  constexpr uint8_t kNoEntry = 2;
  std::array<uint8_t, 256> of_byte{};
  for (size_t byte = 0; byte < of_byte.size(); ++byte)
    of_byte[byte] = byte < dictionary_.size() ? static_cast<uint8_t>(dictionary_[byte]) : kNoEntry;

  uint8_t all = 0;
  for (size_t i = 0; i < marks.size(); ++i) {
    uint8_t const mark = of_byte[static_cast<uint8_t>(planes_[i])];
    marks[i] = mark;
    count += mark;
    all |= mark;
  }
  return (all & kNoEntry) == 0;
}

}  // namespace stepscope::file
