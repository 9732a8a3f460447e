// Synthetic dumps of PyTorch's flight recorder, as JSON and as the pickle that PyTorch writes of
// the same data.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace stepscope::support {

using Json = nlohmann::json;

/// As torch::jit::Pickler writes it: protocol 2, texts in the memo, groups' names as tuples.
class FlightPickle {
 public:
  static std::string of(Json const& json) {
    FlightPickle pickle;
    pickle.bytes_ = "\x80\x02";
    pickle.put(json, false);
    pickle.bytes_ += '.';
    return pickle.bytes_;
  }

 private:
  template <class Number>
  void raw(Number number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    bytes_.append(bytes, sizeof number);
  }
  void text(std::string const& text) {
    auto const [id, is_new] = memo_.try_emplace(text, static_cast<uint32_t>(memo_.size()));
    if (is_new) {
      bytes_ += 'X';
      raw(static_cast<uint32_t>(text.size()));
      bytes_ += text;
    }
    bool const is_small = id->second < 256;
    char const store = is_small ? 'q' : 'r', load = is_small ? 'h' : 'j';

    bytes_ += is_new ? store : load;
    if (is_small)
      raw(static_cast<uint8_t>(id->second));
    else
      raw(id->second);
  }
  void number(int64_t number) {
    if (number >= 0 && number < 256) return coded('K', static_cast<uint8_t>(number));
    if (number >= 0 && number < 65536) return coded('M', static_cast<uint16_t>(number));
    if (number >= INT32_MIN && number <= INT32_MAX) return coded('J', static_cast<int32_t>(number));
    coded('\x8A', uint8_t{8});
    raw(number);
  }

  template <class Number>
  void coded(char opcode, Number number) {
    bytes_ += opcode;
    raw(number);
  }
  // NOLINTNEXTLINE(misc-no-recursion): as deep as what a test makes
  void put(Json const& json, bool as_tuple) {
    if (json.is_null()) bytes_ += 'N';
    if (json.is_boolean()) bytes_ += json.get<bool>() ? '\x88' : '\x89';
    if (json.is_number_integer()) number(json.get<int64_t>());
    if (json.is_string()) text(json.get<std::string>());
    if (json.is_number_float()) {
      auto const real = json.get<double>();
      uint64_t bits = 0;
      std::memcpy(&bits, &real, sizeof bits);
      bytes_ += 'G';
      raw(__builtin_bswap64(bits));
    }

    if (json.is_array()) {
      bytes_ += as_tuple ? "(" : "](";
      for (Json const& item : json) put(item, false);
      bytes_ += as_tuple ? 't' : 'e';
    }

    if (json.is_object()) {
      bytes_ += "}(";
      for (auto const& [key, value] : json.items()) {
        text(key);
        put(value, key == "process_group");
      }
      bytes_ += 'u';
    }
  }

  std::string bytes_;
  std::map<std::string, uint32_t> memo_;
};

/// An entry of the default group, completed: created at `created_ns`, seen to be over 150 ms later.
inline Json flight_entry(int64_t record, std::string const& name, int64_t sequence,
                         int64_t created_ns) {
  return {{"record_id", record},
          {"pg_id", 0},
          {"process_group", {"0", "default_pg"}},
          {"collective_seq_id", sequence},
          {"p2p_seq_id", 0},
          {"op_id", sequence},
          {"profiling_name", "nccl:" + name},
          {"time_created_ns", created_ns},
          {"input_sizes", {{1000, 10}}},
          {"input_dtypes", {"Float"}},
          {"output_sizes", {{1000, 10}}},
          {"output_dtypes", {"Float"}},
          {"state", "completed"},
          {"time_discovered_started_ns", nullptr},
          {"time_discovered_completed_ns", created_ns + 150'000'000},
          {"retired", true},
          {"timeout_ms", 600'000},
          {"is_p2p", false}};
}

/// Not completed when the dump was written.
inline Json pending(Json entry, std::string const& state = "scheduled") {
  entry["state"] = state;
  entry["time_discovered_completed_ns"] = nullptr;
  entry["retired"] = false;
  return entry;
}

/// `ranks`: "[0, 1]", of the default group.
inline Json flight_dump(Json entries, std::string const& ranks) {
  if (entries.is_object())
    entries = Json::array({entries});  // one alone: compilers differ in what braces make of it
  return {{"version", "2.4"},
          {"nccl_version", "2.26.6"},
          {"pg_config", {{"0", {{"name", "0"}, {"desc", "default_pg"}, {"ranks", ranks}}}}},
          {"pg_status", {{"0", {{"last_enqueued_collective", 3}}}}},
          {"entries", std::move(entries)}};
}

}  // namespace stepscope::support
