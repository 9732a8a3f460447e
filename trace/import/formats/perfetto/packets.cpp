#include "trace/import/formats/perfetto/packets.h"

#include <isa-l/igzip_lib.h>

#include "trace/import/common/input.h"

namespace stepscope::import::perfetto {

namespace {

void take_number(base::ProtobufField const& field, Packet& packet) {
  switch (field.number) {
    case PacketNumber::kTimestamp:
      packet.timestamp = field.value;
      packet.has_timestamp = true;
      break;

    case PacketNumber::kSequenceId:
      packet.sequence = field.value;
      break;
    case PacketNumber::kSequenceFlags:
      packet.flags = field.value;
      break;
    case PacketNumber::kTimestampClock:
      packet.clock = field.value;
      break;

    case PacketNumber::kStateCleared:
      packet.is_cleared = field.value != 0;
      break;
    case PacketNumber::kPreviousDropped:
      packet.follows_loss = field.value != 0;
      break;
    case PacketNumber::kFirstOnSequence:
      packet.is_first = field.value != 0;
      break;
    default:
      break;
  }
}

void take_bytes(base::ProtobufField const& field, Packet& packet) {
  switch (field.number) {
    case PacketNumber::kTrackEvent:
      packet.track_event = field.bytes;
      break;

    case PacketNumber::kInternedData:
      packet.interned = field.bytes;
      break;
    case PacketNumber::kTrackDescriptor:
      packet.track_descriptor = field.bytes;
      break;
    case PacketNumber::kClockSnapshot:
      packet.clock_snapshot = field.bytes;
      break;

    case PacketNumber::kDefaults:
      packet.defaults = field.bytes;
      break;
    case PacketNumber::kGpuRenderStage:
      packet.gpu_stage = field.bytes;
      break;
    case PacketNumber::kProcessDescriptor:
      packet.process = field.bytes;
      break;
    case PacketNumber::kThreadDescriptor:
      packet.thread = field.bytes;
      break;

    case PacketNumber::kStepscope:
      packet.stepscope = field.bytes;
      break;
    default:
      packet.other = field.number;
  }
}

}  // namespace

bool read_packet(std::string_view bytes, Packet& packet) {
  base::ProtobufReader reader(bytes);
  base::ProtobufField field;
  bool is_whole = true;

  while (reader.next(field)) {
    if (field.type == base::WireType::kVarint) take_number(field, packet);
    if (field.type != base::WireType::kBytes) continue;
    if (field.is_cut) is_whole = false;
    take_bytes(field, packet);
  }

  packet.is_cleared = packet.is_cleared || (packet.flags & PacketNumber::kFlagCleared) != 0;
  return is_whole && reader.end() == base::ProtobufReader::End::kWhole;
}

std::optional<std::string_view> Unpacker::unpack(std::string_view bytes) {
  // Recorders compress some hundred KiB at a time.
  constexpr size_t kMostBytes = size_t{1} << 28U, kFirstBytes = size_t{1} << 20U;

  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_ZLIB;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the library reads it only
  state.next_in = const_cast<uint8_t*>(reinterpret_cast<uint8_t const*>(bytes.data()));
  state.avail_in = static_cast<uint32_t>(std::min<size_t>(bytes.size(), UINT32_MAX));

  size_t made = 0;
  for (;;) {
    if (made == room_.size()) {
      if (made >= kMostBytes) return std::nullopt;
      room_.resize(std::max(kFirstBytes, room_.size() * 2));
    }

    state.next_out = reinterpret_cast<uint8_t*>(room_.data()) + made;
    state.avail_out = static_cast<uint32_t>(room_.size() - made);
    auto const before = state.avail_in;
    int const result = isal_inflate(&state);

    size_t const now = room_.size() - state.avail_out;
    bool const is_stuck = now == made && state.avail_in == before;
    made = now;

    if (result < ISAL_DECOMP_OK || result == ISAL_NEED_DICT) return std::nullopt;
    if (state.block_state == ISAL_BLOCK_FINISH) return std::string_view(room_.data(), made);
    if (is_stuck || (state.avail_in == 0 && state.avail_out > 0)) return std::nullopt;
  }
}

}  // namespace stepscope::import::perfetto
