// The records of one process become its trace.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/import/formats/nccl_inspector/inspector_record.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import {

class ProcessLog {
 public:
  ProcessLog(std::string host, int64_t process_id)
      : host_(std::move(host)), process_id_(process_id) {}

  /// `record`: with its header and metadata; `text`: all of it, to know it again. The log outlives
  /// this.
  void add(InspectorRecord const& record, std::string_view text);
  model::ImportLog& log() { return builder_.log(); }
  model::Trace finish() &&;

 private:
  /// A process's part of a communicator.
  struct Member {
    std::string name;  ///< for people
    uint64_t communicator = 0;
    int32_t rank = -1, ranks = 0;
    int32_t device = 0;
    uint64_t dropped = 0;
  };
  struct Operation {
    uint32_t member = 0;
    model::StringId name;
    bool is_message = false;
    bool is_timed =
        false;  ///< its end is when the kernel was seen to end, not when the record was written
    int64_t end_us = 0, duration_us = 0;
    model::CollectiveDetail detail;
  };
  /// First and last sequence number of an operation, and how many came.
  struct Sequences {
    uint64_t first = UINT64_MAX, last = 0, count = 0;
  };

  /// What the name of an operation says.
  struct Name {
    model::StringId text;
    model::CollectiveOp op = model::CollectiveOp::kUnknown;
  };

  uint32_t member_of(InspectorRecord const& record);
  Name name_of(std::string_view raw);
  void add_call(InspectorRecord const& record, Operation operation);
  void place_untimed();
  void number_devices();
  void add_streams();
  void add_calls();
  void add_info();
  void add_notes();

  std::string host_;
  int64_t process_id_;
  model::TraceBuilder builder_;
  std::map<std::pair<std::string, int32_t>, uint32_t>
      numbers_;  ///< of members, by communicator and rank
  std::vector<Member> members_;
  std::string_view last_communicator_;  ///< as it stands in the log; of the record before
  int32_t last_rank_ = -1;
  uint32_t last_member_ = 0;
  std::unordered_map<std::string_view, Name> names_;  ///< as they stand in the log
  std::vector<Operation> operations_, calls_;  ///< on the device; only the host's time is known
  std::unordered_set<uint64_t> seen_;          ///< hashes of records
  std::map<std::pair<uint32_t, uint8_t>, Sequences> sequences_;
  std::string version_;
  uint64_t doubled_ = 0, untimed_ = 0, host_timed_ = 0, unusable_ = 0, other_ = 0, strange_ = 0;
};

}  // namespace stepscope::import
