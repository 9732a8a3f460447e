#include "trace/import/formats/rocprofv3/json_records.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "trace/import/formats/rocprofv3/process.h"

namespace stepscope::import::rocm {
namespace {

constexpr size_t kMostMembers = 256;
constexpr size_t kMostHostBytes = 256, kMostCommandBytes = 4096;
/// ROCm has a few dozen kinds, and some hundred operations of each.
constexpr size_t kMostKinds = 256, kMostOperations = 4096;
/// ROCPROFILER_AGENT_TYPE_GPU
constexpr uint64_t kGpuType = 2;

std::optional<uint64_t> number_of_word(std::string_view word) {
  int base = 10;
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }

  uint64_t number = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  if (error == std::errc() && end == word.data() + word.size()) return number;

  double real = 0;  // "2.0", "1e3"
  auto const [real_end, real_error] = std::from_chars(word.data(), word.data() + word.size(), real);
  constexpr double kMostReal = 1.8e19;
  bool const fits = real_error == std::errc() && real_end == word.data() + word.size() &&
                    real >= 0 && real < kMostReal;
  return fits ? std::optional(static_cast<uint64_t>(real)) : std::nullopt;
}

uint64_t number_or_zero(JsonCursor& cursor) { return read_number(cursor).value_or(0); }

int64_t read_time(JsonCursor& cursor) {
  constexpr auto kMostTime = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(number_or_zero(cursor), kMostTime));
}

/// The member "handle" of an object, or a plain number.
std::optional<uint64_t> read_handle(JsonCursor& cursor) {
  if (cursor.peek() != '{') return read_number(cursor);
  std::optional<uint64_t> handle;
  cursor.object([&](std::string_view key) {
    if (is(key, "handle"))
      handle = read_number(cursor);
    else
      cursor.value();
  });
  return handle;
}

std::array<uint64_t, 3> read_size(JsonCursor& cursor) {
  std::array<uint64_t, 3> size{};
  for_each_member(cursor, [&](std::string_view key) {
    bool const is_axis = key.size() == 1 && key[0] >= 'x' && key[0] <= 'z';
    if (is_axis)
      size[static_cast<size_t>(key[0] - 'x')] = number_or_zero(cursor);
    else
      cursor.value();
  });
  return size;
}

class RecordReader {
 public:
  explicit RecordReader(JsonCursor& cursor) : cursor_(cursor) {}

  Record read() {
    for_each_member(cursor_, [&](std::string_view key) {
      if (is(key, "dispatch_data"))
        for_each_member(cursor_, [&](std::string_view inner) { take(inner); });
      else
        take(key);
    });
    return record_;
  }

 private:
  void take(std::string_view key) {
    if (is(key, "dispatch_info")) {
      for_each_member(cursor_, [&](std::string_view inner) {
        if (!take_of_dispatch(inner) && !take_place(inner)) cursor_.value();
      });
      return;
    }
    if (!take_of_all(key) && !take_place(key) && !take_of_memory(key) && !take_result(key))
      cursor_.value();
  }

  // True: the member was one of these, and its value was consumed.

  bool take_of_all(std::string_view key) {
    if (is(key, "start_timestamp")) return set(record_.start, read_time(cursor_));
    if (is(key, "end_timestamp")) return set(record_.end, read_time(cursor_));
    if (is(key, "kind")) return set(record_.kind, number_or_zero(cursor_));
    if (is(key, "operation")) return set(record_.operation, number_or_zero(cursor_));
    if (is(key, "thread_id")) return set(record_.thread, number_or_zero(cursor_));
    if (!is(key, "correlation_id")) return false;

    return for_each_member(cursor_, [&](std::string_view inner) {
      if (is(inner, "internal"))
        record_.correlation = number_or_zero(cursor_);
      else
        cursor_.value();
    });
  }
  bool take_place(std::string_view key) {
    if (is(key, "agent_id") || is(key, "dst_agent_id"))
      return set(record_.agent, read_handle(cursor_).value_or(0));
    if (is(key, "src_agent_id")) return set(record_.source_agent, read_handle(cursor_).value_or(0));
    if (is(key, "stream_id")) return set(record_.stream, read_handle(cursor_));
    return is(key, "queue_id") && set(record_.queue, read_handle(cursor_));
  }
  bool take_of_memory(std::string_view key) {
    if (is(key, "bytes") || is(key, "allocation_size"))
      return set(record_.bytes, number_or_zero(cursor_));
    return is(key, "address") && set(record_.address, read_handle(cursor_).value_or(0));
  }
  bool take_of_dispatch(std::string_view key) {
    if (is(key, "kernel_id")) return set(record_.kernel, number_or_zero(cursor_));
    if (is(key, "workgroup_size")) return set(record_.block, read_size(cursor_));
    if (is(key, "grid_size")) return set(record_.threads, read_size(cursor_));
    return is(key, "group_segment_size") && set(record_.shared_bytes, number_or_zero(cursor_));
  }
  /// Calls of HIP return hipSuccess, those of RCCL ncclSuccess: both are 0.
  bool take_result(std::string_view key) {
    if (!is(key, "retval")) return false;
    for_each_member(cursor_, [&](std::string_view inner) {
      if (is(inner, "hipError_t_retval") || is(inner, "ncclResult_t_retval"))
        record_.has_failed = number_or_zero(cursor_) != 0;
      else
        cursor_.value();
    });
    return true;
  }

  template <class T>
  static bool set(T& member, T value) {
    member = std::move(value);
    return true;
  }

  JsonCursor& cursor_;
  Record record_;
};

std::string joined_words(JsonCursor& cursor) {
  std::string words;
  if (cursor.peek() == '"') return read_text(cursor, kMostCommandBytes);
  for_each_element(cursor, [&] {
    std::string const word = read_text(cursor, kMostCommandBytes);
    if (words.size() < kMostCommandBytes) words += (words.empty() ? "" : " ") + word;
  });
  return words;
}

CaptureStrings::Kind read_kind(JsonCursor& cursor) {
  CaptureStrings::Kind kind;

  for_each_member(cursor, [&](std::string_view key) {
    if (is(key, "kind")) {
      kind.name = read_text(cursor, kMostHostBytes);
    } else if (is(key, "operations")) {
      for_each_element(cursor, [&] {
        bool const is_text = cursor.peek() == '"';
        std::string_view const name = is_text ? cursor.string() : cursor.value();
        if (kind.operations.size() < kMostOperations)
          kind.operations.push_back(is_text ? name : std::string_view());
      });
    } else {
      cursor.value();
    }
  });
  return kind;
}

void read_message(JsonCursor& cursor, CaptureStrings& strings) {
  std::optional<uint64_t> correlation;
  std::string_view text;

  for_each_member(cursor, [&](std::string_view key) {
    if (is(key, "key"))
      correlation = read_number(cursor);
    else if (is(key, "value") && cursor.peek() == '"')
      text = cursor.string();
    else
      cursor.value();
  });

  if (correlation) strings.messages.try_emplace(*correlation, text);
}

}  // namespace

JsonMembers members_of(JsonCursor& cursor) {
  JsonMembers members;
  for_each_member(cursor, [&](std::string_view key) {
    std::string_view const rest = cursor.rest();
    std::string_view value = cursor.value();
    if (cursor.failed()) value = rest;
    if (members.size() < kMostMembers) members.emplace_back(key, value);
  });
  return members;
}

std::optional<uint64_t> read_number(JsonCursor& cursor) {
  char const next = cursor.peek();
  if (next == '{' || next == '[') {
    cursor.value();
    return std::nullopt;
  }
  bool is_string = false;
  return number_of_word(cursor.scalar(is_string));
}

std::string read_text(JsonCursor& cursor, size_t most) {
  if (cursor.peek() == '"') return json_text(cursor.string(), most);
  cursor.value();
  return {};
}

Record read_record(JsonCursor& cursor) { return RecordReader(cursor).read(); }

Agent read_agent(JsonCursor& cursor) {
  Agent agent;
  std::string name, product;

  for_each_member(cursor, [&](std::string_view key) {
    if (is(key, "id")) {
      agent.handle = read_handle(cursor).value_or(0);
    } else if (is(key, "type")) {
      agent.is_gpu = read_number(cursor) == kGpuType;
    } else if (is(key, "logical_node_type_id")) {
      if (auto const number = read_number(cursor); number && *number < kMostAgents)
        agent.number = static_cast<int32_t>(*number);
    } else if (is(key, "cu_count")) {
      agent.compute_units = static_cast<uint32_t>(
          std::min<uint64_t>(number_or_zero(cursor), std::numeric_limits<uint32_t>::max()));
    } else if (is(key, "name")) {
      name = read_text(cursor, kMostHostBytes);
    } else if (is(key, "product_name")) {
      product = read_text(cursor, kMostHostBytes);
    } else if (is(key, "mem_banks")) {
      for_each_element(cursor, [&] {
        for_each_member(cursor, [&](std::string_view inner) {
          if (is(inner, "size_in_bytes"))
            agent.memory_bytes += number_or_zero(cursor);
          else
            cursor.value();
        });
      });
    } else {
      cursor.value();
    }
  });

  agent.name = product.empty() ? name : product;
  return agent;
}

KernelSymbol read_symbol(JsonCursor& cursor) {
  KernelSymbol symbol;
  std::string formatted, demangled, mangled;
  uint64_t registers = 0;
  for_each_member(cursor, [&](std::string_view key) {
    if (is(key, "kernel_id"))
      symbol.id = read_number(cursor);
    else if (is(key, "formatted_kernel_name"))
      formatted = read_text(cursor, kMostNameBytes);
    else if (is(key, "demangled_kernel_name"))
      demangled = read_text(cursor, kMostNameBytes);
    else if (is(key, "kernel_name"))
      mangled = read_text(cursor, kMostNameBytes);
    else if (is(key, "arch_vgpr_count") || is(key, "accum_vgpr_count"))
      registers += std::min<uint64_t>(number_or_zero(cursor), UINT16_MAX);
    else
      cursor.value();
  });

  if (formatted.empty()) formatted = demangled.empty() ? mangled : demangled;
  symbol.name = without_descriptor(formatted);
  symbol.registers = static_cast<uint32_t>(registers);
  return symbol;
}

CaptureMetadata read_metadata(JsonCursor& cursor) {
  CaptureMetadata metadata;

  for_each_member(cursor, [&](std::string_view key) {
    if (is(key, "pid")) {
      metadata.process_id = number_or_zero(cursor);
    } else if (is(key, "command")) {
      metadata.command = joined_words(cursor);
    } else if (is(key, "node")) {
      for_each_member(cursor, [&](std::string_view inner) {
        if (is(inner, "hostname"))
          metadata.host = read_text(cursor, kMostHostBytes);
        else
          cursor.value();
      });
    } else {
      cursor.value();
    }
  });
  return metadata;
}

CaptureStrings read_strings(JsonCursor& cursor) {
  CaptureStrings strings;

  for_each_member(cursor, [&](std::string_view key) {
    if (is(key, "buffer_records")) {
      for_each_element(cursor, [&] {
        CaptureStrings::Kind kind = read_kind(cursor);
        if (strings.kinds.size() < kMostKinds) strings.kinds.push_back(std::move(kind));
      });
    } else if (is(key, "marker_api")) {
      for_each_element(cursor, [&] { read_message(cursor, strings); });
    } else {
      cursor.value();
    }
  });
  return strings;
}

std::string_view CaptureStrings::operation(Record const& record) const {
  if (record.kind >= kinds.size()) return {};
  auto const& operations = kinds[record.kind].operations;
  return record.operation < operations.size() ? operations[record.operation] : std::string_view();
}

}  // namespace stepscope::import::rocm
