#include "trace/import/formats/nccl_inspector/inspector_record.h"

#include <algorithm>

#include "trace/import/formats/chrome/kineto_arguments.h"

namespace stepscope::import {
namespace {

class RecordReader {
 public:
  RecordReader(JsonCursor& cursor, InspectorRecord& record) : cursor_(cursor), r_(record) {}

  bool read() {
    return cursor_.object([&](std::string_view key) {
      if (cursor_.peek() != '{') return void(cursor_.value());

      if (key == "header") {
        r_.has_header = true;
        read_header();
      } else if (key == "metadata") {
        r_.has_metadata = true;
        read_metadata();
      } else if (key == "coll_perf") {
        r_.kind = InspectorRecord::Kind::kCollective;
        read_operation();
      } else if (key == "p2p_perf") {
        r_.kind = InspectorRecord::Kind::kMessage;
        read_operation();
      } else if (key == "dump_stats") {
        r_.kind = InspectorRecord::Kind::kStatistics;
        read_statistics();
      } else {
        cursor_.value();
      }
    });
  }

 private:
  static constexpr int64_t kMostUs = int64_t{1}
                                     << 52U;  // the year 2112; as ns it fits twice into 64 bits

  std::string_view scalar() {
    char const next = cursor_.peek();
    if (next == '{' || next == '[') {
      cursor_.value();
      return {};
    }
    bool is_string = false;
    return cursor_.scalar(is_string);
  }
  /// Between 0 and `most`.
  std::optional<int64_t> number(int64_t most) {
    auto const value = parse_integer(scalar());
    if (value && *value >= 0 && *value <= most) return value;
    ++r_.strange;
    return std::nullopt;
  }
  template <class Number>
  void set(Number& to, std::optional<int64_t> value) {
    if (value) to = static_cast<Number>(*value);
  }

  void read_header() {
    cursor_.object([&](std::string_view key) {
      if (key == "id") return void(r_.communicator = scalar());
      if (key == "comm_name") return void(r_.communicator_name = scalar());
      if (key == "rank") return set(r_.rank, number(INT32_MAX - 1));
      if (key == "n_ranks") return set(r_.ranks, number(INT32_MAX - 1));
      cursor_.value();
    });
  }
  void read_metadata() {
    cursor_.object([&](std::string_view key) {
      if (key == "inspector_output_format_version") return void(r_.version = scalar());
      if (key == "hostname") return void(r_.host = scalar());
      if (key == "dump_timestamp_us") return set(r_.written_us, number(kMostUs));
      if (key == "pid") return set(r_.process_id, number(INT64_MAX));
      cursor_.value();
    });
  }
  /// "coll_sn" and "p2p_sn", …: the same members under two names.
  void read_operation() {
    cursor_.object([&](std::string_view key) {
      if (key == "coll" || key == "p2p") return void(r_.operation = scalar());

      std::string_view const member = key.substr(std::min(key.size(), key.find('_') + 1));
      if (key == "event_trace_ts") return read_times();
      if (key == "event_trace_sn") return void(cursor_.value());
      if (member == "algo") return void(r_.algorithm = scalar());
      if (member == "proto") return void(r_.protocol = scalar());
      if (member == "timing_source") return read_timing(scalar());
      if (member == "peer") return set(r_.peer, number(INT32_MAX - 1));
      if (member == "exec_time_us")
        return void(r_.duration_us = number(InspectorRecord::kMostDurationUs));
      if (member == "msg_size_bytes") return set(r_.bytes, number(int64_t{1} << 58U));
      if (member == "sn") {
        if (auto const sequence = number(int64_t{1} << 58U))
          r_.sequence = static_cast<uint64_t>(*sequence);
        return;
      }
      cursor_.value();
    });
  }
  void read_timing(std::string_view source) {
    if (source == "kernel_gpu") r_.timing = InspectorRecord::Timing::kKernelGpu;
    if (source == "kernel_cpu") r_.timing = InspectorRecord::Timing::kKernelHost;
    if (source == "collective_cpu") r_.timing = InspectorRecord::Timing::kCollectiveHost;
  }
  void read_times() {
    if (cursor_.peek() != '{') return void(cursor_.value());
    cursor_.object([&](std::string_view key) {
      if (key == "coll_start_ts" || key == "p2p_start_ts")
        return set(r_.call_begin_us, number(kMostUs));
      if (key == "coll_stop_ts" || key == "p2p_stop_ts")
        return set(r_.call_end_us, number(kMostUs));
      if (key == "kernel_events" && cursor_.take('[')) return read_channels();
      cursor_.value();
    });
  }
  /// From behind the "[".
  void read_channels() {
    while (!cursor_.failed() && !cursor_.take(']')) {
      cursor_.take(',');
      if (cursor_.peek() != '{') {
        cursor_.value();
        continue;
      }

      ++r_.channels;
      cursor_.object([&](std::string_view key) {
        if (key != "kernel_stop_ts") return void(cursor_.value());
        r_.kernel_end_us = std::max(r_.kernel_end_us, number(kMostUs).value_or(0));
      });
    }
  }
  void read_statistics() {
    cursor_.object([&](std::string_view key) {
      if (key != "coll_dropped_total" && key != "p2p_dropped_total") return void(cursor_.value());
      r_.dropped += static_cast<uint64_t>(number(int64_t{1} << 58U).value_or(0));
    });
  }

  JsonCursor& cursor_;
  InspectorRecord& r_;
};

}  // namespace

bool read_inspector_record(JsonCursor& cursor, InspectorRecord& record) {
  return RecordReader(cursor, record).read();
}

}  // namespace stepscope::import
