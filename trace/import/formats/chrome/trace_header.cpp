#include "trace/import/formats/chrome/trace_header.h"

#include <algorithm>
#include <array>
#include <limits>

#include <nlohmann/json.hpp>

#include "trace/import/formats/chrome/kineto_arguments.h"

namespace stepscope::import {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostFactBytes = 4096;
constexpr size_t kMostObjectBytes = size_t{1} << 22U;
constexpr size_t kMostDevices = 1024;
/// Members for people; the other members' meaning is not known.
constexpr std::array<std::string_view, 12> kFacts = {
    "traceName",           "trace_id",      "cuda_runtime_version",
    "cuda_driver_version", "cupti_version", "hip_runtime_version",
    "with_stack",          "with_modules",  "record_shapes",
    "profile_memory",      "with_flops",    "displayTimeUnit"};

/// Nothing where it is no JSON, or nested too deep for a trace.
Json parse(std::string_view text) {
  if (text.size() > kMostObjectBytes) return {};
  auto const depth_limit = [](int depth, Json::parse_event_t, Json&) { return depth < 16; };
  Json json = Json::parse(text, depth_limit, false);
  return json.is_discarded() ? Json() : json;
}

template <class Number>
Number number_of(Json const& object, char const* key, Number otherwise) {
  auto const found = object.find(key);
  if (found == object.end()) return otherwise;

  constexpr auto kMost = static_cast<double>(std::numeric_limits<Number>::max());
  if (found->is_string()) {
    auto const number = parse_integer(found->get_ref<std::string const&>());
    bool const fits = number && *number >= 0 && static_cast<double>(*number) < kMost;
    return fits ? static_cast<Number>(*number) : otherwise;
  }

  if (!found->is_number()) return otherwise;
  auto const value = found->get<double>();
  return value >= 0 && value < kMost ? static_cast<Number>(found->get<uint64_t>()) : otherwise;
}

void add_devices(std::string_view text, std::vector<model::Device>& devices) {
  Json const list = parse(text);
  if (!list.is_array() || list.size() > kMostDevices) return;
  for (Json const& entry : list) {
    if (!entry.is_object() || devices.size() >= kMostDevices) continue;

    model::Device device;
    device.id =
        static_cast<int32_t>(std::min<int64_t>(number_of<int64_t>(entry, "id", 0), INT32_MAX));

    if (auto const name = entry.find("name"); name != entry.end() && name->is_string()) {
      device.name = json_text(name->get_ref<std::string const&>(), kMostFactBytes);
    }
    device.capacity_bytes = number_of<uint64_t>(entry, "totalGlobalMem", 0);
    device.threads = static_cast<uint32_t>(
        std::min<uint64_t>(number_of<uint64_t>(entry, "numSms", 0), UINT32_MAX));

    devices.push_back(std::move(device));
  }
}

std::string unquoted(std::string_view value) {
  bool const is_string = value.size() >= 2 && value.front() == '"';
  return json_text(is_string ? value.substr(1, value.size() - 2) : value, kMostFactBytes);
}

/// "rank" and "world_size" as numbers or as texts; other values, and numbers below zero, are
/// ignored.
void add_place(Json const& info, TraceHeader& header) {
  constexpr int32_t kMostRanks = 1 << 24;
  int32_t const stated =
      number_of<int32_t>(info, "rank", number_of<int32_t>(info, "global_rank", -1));
  if (stated >= 0) {
    int32_t const own = std::min(stated, kMostRanks);
    if (header.rank && *header.rank != own) header.other_rank = own;
    if (!header.rank) header.rank = own;
  }

  int32_t const ranks = number_of<int32_t>(info, "world_size", 0);
  if (ranks > 0) header.world_size = std::min(ranks, kMostRanks);
}

}  // namespace

void TraceHeader::add(std::string_view key, std::string_view value) {
  if (key == "deviceProperties") {
    is_kineto = true;
    add_devices(value, devices);
  } else if (key == "distributedInfo") {
    is_kineto = true;
    Json const info = parse(value);
    if (!info.is_object()) return;
    add_place(info, *this);

    for (char const* const fact : {"backend", "nccl_version"}) {
      auto const found = info.find(fact);
      if (found != info.end() && found->is_string())
        facts.emplace_back(fact, json_text(found->get_ref<std::string const&>(), kMostFactBytes));
    }
  } else if (key == "otherData" || key == "metadata") {
    if (Json const info = parse(value); info.is_object()) add_place(info, *this);
  } else if (key == "rank" || key == "global_rank" || key == "world_size") {
    add_place(Json{{std::string(key), parse(value)}}, *this);
  } else if (key == "baseTimeNanoseconds") {
    base_ns = parse_integer(unquoted(value)).value_or(0);
  } else if (key == "schemaVersion") {
    is_kineto = true;
  } else if (key == "host_name") {
    host = unquoted(value);
  } else if (std::find(kFacts.begin(), kFacts.end(), key) != kFacts.end()) {
    facts.emplace_back(std::string(key), unquoted(value));
  }
}

HeaderEnd read_header(JsonCursor& cursor, bool is_first, TraceHeader& header) {
  if (is_first) {
    if (cursor.take('[')) return HeaderEnd::kEvents;  // the form without an object
    if (!cursor.take('{')) return cursor.peek() == '\0' ? HeaderEnd::kMore : HeaderEnd::kNoTrace;
  }

  for (;;) {
    cursor.take(',');
    if (cursor.take('}')) return HeaderEnd::kOver;
    std::string_view const key = cursor.string();

    if (cursor.failed() || !cursor.expect(':')) break;
    if (key == "traceEvents") {
      if (cursor.take('[')) return HeaderEnd::kEvents;
      if (cursor.peek() != '\0') return HeaderEnd::kNoTrace;
      break;
    }

    std::string_view const value = cursor.value();
    if (cursor.failed()) break;
    header.add(key, value);
  }

  bool const is_cut = cursor.failure() != JsonCursor::Failure::kBroken;
  return is_cut ? HeaderEnd::kMore : HeaderEnd::kNoTrace;
}

}  // namespace stepscope::import
