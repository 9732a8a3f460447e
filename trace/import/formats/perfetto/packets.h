// Reads the packets of a Perfetto trace one after the other, and unpacks packets that the recorder
// compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/protobuf_reader.h"
#include "trace/import/formats/perfetto/fields.h"

namespace stepscope::import::perfetto {

/// What all packets share. Views of the packet.
struct Packet {
  uint64_t sequence = 0, flags = 0, timestamp = 0, clock = 0;  ///< clock 0: the sequence's default
  bool has_timestamp = false, is_cleared = false, is_first = false, follows_loss = false;
  std::string_view track_event, track_descriptor, interned, defaults, clock_snapshot, gpu_stage,
      process, thread, stepscope;
  uint32_t other = 0;  ///< number of a message in it that is not modelled
};
/// False: the packet is damaged; what was read of it is there.
bool read_packet(std::string_view bytes, Packet& packet);

/// What was wrong with the file.
struct PacketDamage {
  bool is_cut = false;
  uint64_t broken = 0;  ///< packets, or places, that could not be read
  std::optional<uint64_t> first_broken_at;
};

class Unpacker {
 public:
  /// The packets in zlib-compressed bytes; nothing when they are damaged or suspiciously long.
  std::optional<std::string_view> unpack(std::string_view bytes);

 private:
  std::vector<char> room_;
};

/// Calls handle(packet) in the order of the file.
template <class Handle>
PacketDamage for_each_packet(std::string_view trace, Handle&& handle) {
  PacketDamage damage;
  Unpacker unpacker;
  auto const broken = [&](uint64_t at) {
    if (damage.broken++ == 0) damage.first_broken_at = at;
  };

  auto const one = [&](std::string_view bytes, uint64_t at, std::string_view& compressed) {
    base::ProtobufReader fields(bytes);
    base::ProtobufField first;
    constexpr uint8_t kCompressedTag = (((PacketNumber::kCompressed << 3U) | 2U) & 0x7FU) | 0x80U;
    bool const may_be_compressed =
        bytes.size() > 2 && static_cast<uint8_t>(bytes[0]) == kCompressedTag;
    if (may_be_compressed && fields.next(first) && first.is_bytes(PacketNumber::kCompressed)) {
      compressed = first.bytes;
      return;
    }

    Packet packet;
    if (!read_packet(bytes, packet)) broken(at);
    handle(packet);
  };

  base::ProtobufReader packets(trace);
  base::ProtobufField field;
  constexpr uint32_t kPacket = 1;

  for (uint64_t at = 0; packets.next(field); at = packets.offset()) {
    if (field.is_cut) {
      damage.is_cut = true;
      break;
    }

    if (!field.is_bytes(kPacket)) continue;
    std::string_view compressed;
    one(field.bytes, at, compressed);
    if (compressed.empty()) continue;

    auto const unpacked = unpacker.unpack(compressed);
    if (!unpacked) {
      broken(at);
      continue;
    }

    base::ProtobufReader inner(*unpacked);
    while (inner.next(field)) {
      std::string_view nested;
      if (field.is_bytes(kPacket) && !field.is_cut) one(field.bytes, at, nested);
      if (field.is_cut || !nested.empty()) broken(at);
    }
    if (inner.end() != base::ProtobufReader::End::kWhole) broken(at);
  }

  damage.is_cut = damage.is_cut || packets.end() == base::ProtobufReader::End::kCut;
  if (packets.end() == base::ProtobufReader::End::kBroken) broken(trace.size());
  return damage;
}

}  // namespace stepscope::import::perfetto
