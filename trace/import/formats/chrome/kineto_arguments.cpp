#include "trace/import/formats/chrome/kineto_arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "trace/import/common/json/cursor.h"
#include "trace/import/formats/xplane/op_names.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using model::CollectiveOp;
using model::DataType;

int32_t to_int32(std::optional<int64_t> number, int32_t otherwise) {
  return number && *number >= INT32_MIN && *number <= INT32_MAX ? static_cast<int32_t>(*number)
                                                                : otherwise;
}
uint32_t to_uint32(std::optional<int64_t> number) {
  return number && *number >= 0 && *number <= UINT32_MAX ? static_cast<uint32_t>(*number) : 0;
}
uint64_t to_uint64(std::optional<int64_t> number) {
  return number && *number >= 0 ? static_cast<uint64_t>(*number) : 0;
}

/// "[8, 1, 1]"
std::array<uint32_t, 3> three_numbers(std::string_view list) {
  std::array<uint32_t, 3> numbers{};

  for (uint32_t& number : numbers) {
    size_t const digit = list.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    list.remove_prefix(digit);
    auto const [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
    if (error != std::errc()) number = 0;
    list.remove_prefix(static_cast<size_t>(end - list.data()));
  }

  return numbers;
}

struct CollectiveArguments {
  std::string_view name, group;
  uint64_t in_elements = 0, out_elements = 0;
  int32_t source = -1, destination = -1;
  std::optional<uint64_t> message;  ///< its number, the same on both ranks
};

/// Message bytes as DEFINITIONS has them.
uint64_t message_bytes(CollectiveOp op, CollectiveArguments const& a, DataType type) {
  uint64_t const elements = model::message_size(op, a.in_elements, a.out_elements);
  uint64_t const each = model::bytes_of(type);
  constexpr uint64_t kMost = uint64_t{1} << 60U;
  return each > 0 && elements < kMost / each ? elements * each : 0;
}

void complete(model::CollectiveDetail& detail, CollectiveArguments const& a,
              GroupMembers& members) {
  detail.op = model::collective_op_of(a.name);
  detail.communicator = communicator_of(a.group, members.ranks);
  members.size = detail.participants;
  detail.bytes = message_bytes(detail.op, a, detail.data_type);
  detail.peer = detail.op == CollectiveOp::kSend ? a.destination : a.source;

  if (model::is_point_to_point(detail.op) && a.message) {
    detail.sequence = *a.message;  // our own export: the numbers are those that both ranks have
  } else if (model::is_point_to_point(detail.op)) {
    detail.rank = -1;     // "Rank" is the peer's there; another argument has the peer's rank
    detail.sequence = 0;  // each rank counts its own
  }
}

class ArgumentReader {
 public:
  explicit ArgumentReader(std::string_view arguments) : cursor_(arguments) {}

  KinetoArguments read() {
    cursor_.object([&](std::string_view key) {
      char const first = key.empty() ? '\0' : key[0];
      bool const is_known = first >= 'A' && first <= 'Z'
                                ? read_of_collective(key)
                                : first != '\0' && (read_of_op(key) || read_of_kernel(key));
      if (!is_known) cursor_.value();
    });
    if (a_.is_collective) complete(a_.collective, c_, a_.group);
    return a_;
  }

 private:
  // True: the member was one of these, and its value was consumed.

  bool read_of_op(std::string_view key) {
    switch (key[0]) {
      case 'b':
        return is(key, "bytes") && set(a_.bytes, to_uint64(number()));
      case 'c':
        // Kineto; PaddlePaddle; XLA; Ascend; rocprofv3; others.
        if (is(key, "correlation") || is(key, "correlation id") || is(key, "correlation_id") ||
            is(key, "connection_id") || is(key, "corr_id") || is(key, "correlationId") ||
            is(key, "correlationID") || is(key, "corrId"))
          return set(a_.correlation, to_uint64(number()));
        return is(key, "cuda_sync_kind") && set(a_.sync_kind, text());
      case 'd':
        if (is(key, "dtype")) return set(a_.collective.data_type, data_type_of(text()));
        return (is(key, "device") || is(key, "device_id") || is(key, "deviceId") ||
                is(key, "device id")) &&
               set_device();
      case 'g':
        return (is(key, "gpu_id") || is(key, "gpu")) && set_device();

      case 's':
        if (is(key, "step_num")) return set(a_.step, number());
        if (is(key, "step")) return set(a_.step_around, number());
        if (is(key, "seq_id")) return set(a_.sequence, number());
        return (is(key, "stream") || is(key, "stream_id") || is(key, "streamId") ||
                is(key, "stream id")) &&
               set(a_.stream, number());
      case 'k':
        if (is(key, "kernel_details")) return set(a_.kernel, parse_kernel_details(text()));
        return false;
      case 'm':
        if (is(key, "model_chunk")) return set(a_.model_chunk, number());
        if (is(key, "memcpy_details") || is(key, "memset_details"))
          return set(a_.bytes, parse_copy_details(text()).bytes);
        return false;
      case 't':
        return is(key, "toDevice") && set(a_.peer_device, to_int32(number(), -1));
      case 'w':
        if (is(key, "wait_on_stream")) return set(a_.wait_on_stream, number());
        return is(key, "wait_on_cuda_event_record_corr_id") &&
               set(a_.wait_on_correlation, to_uint64(number()));
      default:
        return false;
    }
  }

  bool read_of_kernel(std::string_view key) {
    model::KernelDetail& kernel = a_.kernel;
    if (is(key, "grid")) {
      auto const grid = three_numbers(cursor_.value());
      kernel.grid_x = grid[0];
      kernel.grid_y = grid[1];
      kernel.grid_z = grid[2];
      return true;
    }
    if (is(key, "block")) {
      auto const block = three_numbers(cursor_.value());
      kernel.block_x = block[0];
      kernel.block_y = block[1];
      kernel.block_z = block[2];
      return true;
    }
    if (is(key, "registers per thread"))
      return set(kernel.registers_per_thread, to_uint32(number()));
    if (is(key, "shared memory")) return set(kernel.shared_memory_bytes, to_uint32(number()));
    if (is(key, "est. achieved occupancy %"))
      return set(kernel.occupancy_percent,
                 static_cast<uint8_t>(std::clamp<int64_t>(number().value_or(0), 0, 100)));

    if (is(key, "graph id")) return set(kernel.graph, to_uint32(number()));
    return is(key, "graph node id") && set(kernel.graph_node, to_uint64(number()));
  }

  bool read_of_collective(std::string_view key) {
    if (is(key, "Collective name")) {
      a_.is_collective = true;
      return set(c_.name, text());
    }
    if (is(key, "Physic Stream Id") || is(key, "Stream Id") || is(key, "Stream ID") ||
        is(key, "Stream"))
      return set(a_.stream, number());

    if (is(key, "Correlation ID") || is(key, "Correlation Id") || is(key, "CorrelationId") ||
        is(key, "Correlation"))
      return set(a_.correlation, to_uint64(number()));

    if (is(key, "Device ID") || is(key, "Device Id") || is(key, "Device")) return set_device();
    if (is(key, "In msg nelems")) return set(c_.in_elements, to_uint64(number()));
    if (is(key, "Out msg nelems")) return set(c_.out_elements, to_uint64(number()));
    if (is(key, "Message number")) return set(c_.message, std::optional(to_uint64(number())));
    if (is(key, "Group size")) return set(a_.collective.participants, to_uint32(number()));
    if (is(key, "Process Group Name")) return set(c_.group, text());
    if (is(key, "Process Group Ranks")) return set(a_.group.ranks, text());
    if (is(key, "Global rank start")) return set(a_.group.first, number());
    if (is(key, "Global rank stride")) return set(a_.group.stride, number());
    if (is(key, "Rank")) return set(a_.collective.rank, to_int32(number(), -1));
    if (is(key, "Seq")) return set(a_.collective.sequence, to_uint64(number()));

    if (is(key, "Src Rank")) return set(c_.source, to_int32(number(), -1));
    return is(key, "Dst Rank") && set(c_.destination, to_int32(number(), -1));
  }

  bool set_device() {
    if (auto const device = number()) a_.device = to_int32(device, -1);
    return true;
  }
  template <class T>
  static bool set(T& member, T value) {
    member = std::move(value);
    return true;
  }
  std::optional<int64_t> number() {
    char const next = cursor_.peek();
    if (next == '[' || next == '{') {
      cursor_.value();
      return std::nullopt;
    }
    bool is_string = false;
    return parse_integer(cursor_.scalar(is_string));
  }
  /// What stands there, of a string without its quotes.
  std::string_view text() {
    std::string_view const value = cursor_.value();
    return value.size() >= 2 && value[0] == '"' ? value.substr(1, value.size() - 2) : value;
  }

  JsonCursor cursor_;
  KinetoArguments a_;
  CollectiveArguments c_;
};

}  // namespace

std::optional<int64_t> parse_integer(std::string_view number) {
  int64_t value = 0;
  auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc() && end == number.data() + number.size()) return value;

  double inexact = 0;  // "2.0", 1e3
  auto const [inexact_end, inexact_error] =
      std::from_chars(number.data(), number.data() + number.size(), inexact);

  constexpr double kMost = 9e18;
  if (inexact_error != std::errc() || inexact_end != number.data() + number.size() ||
      !(std::fabs(inexact) < kMost)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(inexact);
}

std::optional<int64_t> trailing_number(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  size_t first = text.size();
  while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9') --first;
  return first == text.size() ? std::nullopt : parse_integer(text.substr(first));
}

KinetoArguments read_kineto_arguments(std::string_view arguments) {
  return ArgumentReader(arguments).read();
}

KinetoMemory read_kineto_memory(std::string_view arguments) {
  KinetoMemory memory;
  JsonCursor cursor(arguments);

  cursor.object([&](std::string_view key) {
    char const next = cursor.peek();
    if (next == '[' || next == '{') return void(cursor.value());
    bool is_string = false;
    auto const number = parse_integer(cursor.scalar(is_string));

    if (!number) return;
    if (is(key, "Bytes")) memory.bytes = *number;
    if (is(key, "Addr")) memory.address = static_cast<uint64_t>(*number);
    if (is(key, "Total Allocated")) memory.allocated_bytes = to_uint64(number);
    if (is(key, "Total Reserved")) memory.reserved_bytes = to_uint64(number);
    if (is(key, "Device Type")) memory.device_type = *number;
    if (is(key, "Device Id")) memory.device = to_int32(number, -1);
  });
  return memory;
}
std::optional<double> parse_real(std::string_view number) {
  double value = 0;
  auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

model::MemoryDetail KinetoMemory::detail() const {
  model::MemoryDetail row;
  row.address = address;
  row.bytes = static_cast<uint64_t>(bytes < 0 ? -(bytes + 1) : bytes) + (bytes < 0 ? 1 : 0);
  row.allocated_bytes = allocated_bytes.value_or(0);
  row.reserved_bytes = reserved_bytes.value_or(0);
  row.device = device;
  row.op = bytes < 0 ? model::MemoryOp::kFree : model::MemoryOp::kAllocate;
  row.memory = model::MemoryKind::kDevice;
  return row;
}

namespace {

/// The memory that a letter of "HtoD" or "M2D" stands for: M is the host's in Level Zero, S is
/// shared, A an array.
std::optional<char> side_of(char letter) {
  switch (letter) {
    case 'H':
    case 'M':
      return 'h';
    case 'D':
    case 'A':
    case 'S':
      return 'd';
    case 'P':
      return 'p';
    default:
      return std::nullopt;
  }
}

model::CopyDirection direction_of(char from, char to) {
  using model::CopyDirection;
  if (from == 'p' || to == 'p')
    return from == to ? CopyDirection::kPeerToPeer : CopyDirection::kUnknown;
  if (from == 'h') return to == 'h' ? CopyDirection::kHostToHost : CopyDirection::kHostToDevice;
  return to == 'h' ? CopyDirection::kDeviceToHost : CopyDirection::kDeviceToDevice;
}

/// "HtoD", "H2D", "HTOD", "M2D", and "(d2h)" or "_d2h" where no other letters surround it.
model::CopyDirection direction_of_letters(std::string_view name) {
  auto const is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (size_t at = 0; at + 2 < name.size(); ++at) {
    bool const is_digit = name[at + 1] == '2';
    std::string_view const middle = name.substr(at + 1, 2);
    if (!is_digit && middle != "to" && middle != "TO") continue;
    size_t const last = at + (is_digit ? 2 : 3);
    if (last >= name.size()) continue;
    char first = name[at], second = name[last];
    bool const is_alone = (at == 0 || !is_letter(name[at - 1])) &&
                          (last + 1 == name.size() || !is_letter(name[last + 1]));
    if (is_digit && is_alone && first >= 'a' && second >= 'a') {
      first = static_cast<char>(first - 'a' + 'A');
      second = static_cast<char>(second - 'a' + 'A');
    }

    auto const from = side_of(first), to = side_of(second);
    bool const is_end =
        last + 1 == name.size() || !(name[last + 1] >= 'a' && name[last + 1] <= 'z');
    if (from && to && is_end) return direction_of(*from, *to);
  }

  return model::CopyDirection::kUnknown;
}

/// "HOST -> DEVICE", "CopyHostToDevice", "Memory copy Device-Host", "Pinned -> Device".
model::CopyDirection direction_of_words(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;

  struct Word {
    std::string_view text;
    char side;
  };
  static constexpr std::array<Word, 6> kWords = {{{"host", 'h'},
                                                  {"device", 'd'},
                                                  {"pinned", 'h'},
                                                  {"pageable", 'h'},
                                                  {"shared", 'd'},
                                                  {"peer", 'p'}}};

  std::array<char, 2> sides{};
  size_t found = 0;

  for (size_t at = 0; at < small.size() && found < sides.size();) {
    auto const word = std::find_if(kWords.begin(), kWords.end(), [&](Word const& w) {
      return small.compare(at, w.text.size(), w.text) == 0;
    });
    if (word != kWords.end()) sides[found++] = word->side;
    at += word == kWords.end() ? 1 : word->text.size();
  }

  return found == sides.size() ? direction_of(sides[0], sides[1]) : model::CopyDirection::kUnknown;
}

}  // namespace

model::CopyDetail copy_of_name(std::string_view name) {
  model::CopyDetail copy;
  copy.direction = direction_of_letters(name);
  if (copy.direction == model::CopyDirection::kUnknown) copy.direction = direction_of_words(name);
  copy.pinned = name.find("Pinned") != std::string_view::npos ? 1 : 0;
  return copy;
}

}  // namespace stepscope::import
