#include "selftest/probe_checks.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "trace/base/format.h"

namespace stepscope::selftest {
namespace {

using model::EventKind;

/// How a number of the program is called, and where it stands.
struct Quantity {
  char const* key;   ///< in the program's output
  char const* name;  ///< for people
  uint64_t Work::*value;
};
/// All but name_bytes, which is a minimum.
constexpr std::array kQuantities = {
    Quantity{"kernels", "kernels", &Work::kernels},
    Quantity{"launches", "launches", &Work::launches},
    Quantity{"streams", "streams with kernels", &Work::streams},
    Quantity{"to_device", "copies to the device", &Work::to_device},
    Quantity{"to_device_bytes", "bytes to the device", &Work::to_device_bytes},
    Quantity{"to_host", "copies to the host", &Work::to_host},
    Quantity{"to_host_bytes", "bytes to the host", &Work::to_host_bytes},
    Quantity{"on_device", "copies on the device", &Work::on_device},
    Quantity{"on_device_bytes", "bytes on the device", &Work::on_device_bytes},
    Quantity{"pinned", "copies with pinned memory", &Work::pinned},
    Quantity{"memsets", "fills", &Work::memsets},
    Quantity{"memset_bytes", "bytes filled", &Work::memset_bytes},
    Quantity{"allocations", "allocations", &Work::allocations},
    Quantity{"allocated_bytes", "bytes allocated", &Work::allocated_bytes},
    Quantity{"frees", "frees", &Work::frees},
    Quantity{"stream_waits", "waits between streams", &Work::stream_waits},
};

void add_copy(model::CopyDetail const& copy, Work& work) {
  work.pinned += copy.pinned;

  switch (copy.direction) {
    case model::CopyDirection::kHostToDevice:
      ++work.to_device;
      work.to_device_bytes += copy.bytes;
      break;
    case model::CopyDirection::kDeviceToHost:
      ++work.to_host;
      work.to_host_bytes += copy.bytes;
      break;
    default:
      ++work.on_device;
      work.on_device_bytes += copy.bytes;
      break;
  }
}

void add_memory(model::MemoryDetail const& memory, Work& work) {
  if (memory.memory != model::MemoryKind::kDevice) return;
  work.frees += static_cast<uint64_t>(memory.op == model::MemoryOp::kFree);
  if (memory.op != model::MemoryOp::kAllocate) return;
  ++work.allocations;
  work.allocated_bytes += memory.bytes;
}

void add_event(model::Trace const& trace, uint32_t row, Work& work) {
  switch (trace.kind(row)) {
    case EventKind::kKernel:
      ++work.kernels;
      work.name_bytes = std::max<uint64_t>(work.name_bytes, trace.name(row).size());
      break;
    case EventKind::kMemcpy:
      add_copy(trace.detail<model::CopyDetail>(row), work);
      break;
    case EventKind::kMemset:
      ++work.memsets;
      work.memset_bytes += trace.detail<model::CopyDetail>(row).bytes;
      break;
    case EventKind::kMemory:
      add_memory(trace.detail<model::MemoryDetail>(row), work);
      break;
    case EventKind::kLaunch:
      ++work.launches;

      break;
    case EventKind::kStreamWait:
      ++work.stream_waits;
      break;
    default:
      break;
  }
}

}  // namespace

Work asked_for(std::span<nlohmann::json const> output) {
  Work work;

  for (nlohmann::json const& one : output) {
    for (Quantity const& quantity : kQuantities) {
      uint64_t& sum = work.*quantity.value;
      sum = sum != kAny && one.contains(quantity.key) ? sum + one.value(quantity.key, uint64_t{0})
                                                      : kAny;
    }
    work.name_bytes = std::max(work.name_bytes, one.value("name_bytes", uint64_t{0}));
  }

  return work;
}

Work found_in(model::Run const& run) {
  Work work;

  for (model::RankTrace const& rank : run.ranks) {
    std::set<uint32_t> streams;
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row) {
      add_event(rank.trace, row, work);
      if (rank.trace.kind(row) == EventKind::kKernel)
        streams.insert(rank.trace.columns().track[row].value);
    }

    work.streams += streams.size();
  }

  return work;
}

std::string differences(Work const& found, Work const& asked) {
  std::string text;
  auto const add = [&](char const* name, uint64_t is, uint64_t should) {
    text += fmt::format("{}{}: {} instead of {}", text.empty() ? "" : ", ", name,
                        base::format_count(is), base::format_count(should));
  };

  for (Quantity const& quantity : kQuantities) {
    bool const is_as_asked =
        asked.*quantity.value == kAny || found.*quantity.value == asked.*quantity.value;
    if (!is_as_asked) add(quantity.name, found.*quantity.value, asked.*quantity.value);
  }

  if (found.name_bytes < asked.name_bytes)
    add("bytes of the longest name", found.name_bytes, asked.name_bytes);

  return text;
}

std::string describe(Work const& work) {
  return fmt::format(
      "{} kernels, {} copies of {}, {} fills, {} allocations, {} launches",
      base::format_count(work.kernels),
      base::format_count(work.to_device + work.to_host + work.on_device),
      base::format_bytes(work.to_device_bytes + work.to_host_bytes + work.on_device_bytes),
      base::format_count(work.memsets), base::format_count(work.allocations),
      base::format_count(work.launches));
}

}  // namespace stepscope::selftest
