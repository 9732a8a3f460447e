// One TrackEvent as it stands in its packet.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/base/protobuf_reader.h"
#include "trace/import/formats/perfetto/fields.h"

namespace stepscope::import::perfetto {

/// Views of the packet. Made once and read into again and again.
struct TrackEvent {
  uint64_t type = 0, track = 0, name_iid = 0, category_iid = 0;
  bool has_track = false, has_value = false, is_real = false;
  std::string_view name, category, legacy;
  int64_t value = 0, delta_us = 0, absolute_us = 0;
  double real_value = 0;
  std::vector<std::string_view> annotations;
  std::vector<uint64_t> flows, extra_counters, extra_real_counters;
  std::vector<int64_t> extra_values;
  std::vector<double> extra_real_values;

  void read(std::string_view bytes);

 private:
  void clear();
  /// False: no field that stands once.
  bool take_one(base::ProtobufField const& field);
  void take_list(base::ProtobufField const& field);
};

/// A repeated number, in one field (packed) or in several.
template <class Handle>
void for_each_number(base::ProtobufField const& field, bool is_fixed, Handle&& handle) {
  if (field.type != base::WireType::kBytes) return handle(field.value);
  std::string_view rest = field.bytes;
  if (is_fixed) {
    for (uint64_t number = 0; rest.size() >= sizeof number; rest.remove_prefix(sizeof number)) {
      std::memcpy(&number, rest.data(), sizeof number);
      handle(number);
    }
    return;
  }

  while (!rest.empty()) {
    uint64_t number = 0;
    unsigned shift = 0;
    size_t at = 0;
    constexpr unsigned kBits = 64, kBitsPerByte = 7;

    for (; at < rest.size() && shift < kBits; shift += kBitsPerByte) {
      auto const byte = static_cast<uint8_t>(rest[at++]);
      number |= uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) break;
    }

    rest.remove_prefix(at);
    handle(number);
  }
}

}  // namespace stepscope::import::perfetto
