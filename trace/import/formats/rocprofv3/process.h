// One process of a rocprofv3 capture while it is read. Collects its rows in any order, then links
// calls with what they started and makes a trace.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/rocprofv3/call_links.h"
#include "trace/import/formats/rocprofv3/device_memory.h"
#include "trace/import/formats/rocprofv3/record.h"
#include "trace/model/api_calls.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import::rocm {

/// Longer names are cut.
inline constexpr size_t kMostNameBytes = size_t{1} << 14U;
/// No machine has more; what a damaged file has beyond is put together.
inline constexpr size_t kMostTracks = size_t{1} << 16U, kMostAgents = 1024;

/// The library that a traced call belongs to.
enum class Api : uint8_t { kHip, kHsa, kOther };

struct CallName {
  model::StringId name;
  model::ApiClass api_class = model::ApiClass::kOther;
  model::SyncKind sync = model::SyncKind::kUnknown;
};

/// "kernel(int*) [clone .kd]" and "kernel.kd": the suffix of its descriptor is no part of the name.
std::string_view without_descriptor(std::string_view name);
/// "MEMORY_COPY_HOST_TO_DEVICE"
model::CopyDirection direction_of_operation(std::string_view operation);

class Process {
 public:
  void add_agent(Agent agent);
  void add_symbol(uint64_t kernel, std::string_view name, uint32_t registers);
  /// `name` as the file states it, without escapes.
  CallName call_name(std::string_view name);

  void add_kernel(Record const& record);
  void add_copy(Record const& record, model::CopyDirection direction);
  void add_call(Record const& record, CallName const& call, Api api);
  /// A call of RCCL.
  void add_communication(Record const& record, std::string_view function);
  /// A range of ROCTX.
  void add_range(Record const& record, std::string_view text);
  /// An instant of ROCTX.
  void add_mark(Record const& record, std::string_view text);
  void add_memory(Record const& record, model::MemoryOp op);

  [[nodiscard]] uint64_t event_count() const { return events_; }
  [[nodiscard]] bool has_device_ops() const { return !ops_.empty(); }
  /// The number of the only device that worked; −1 = none or several.
  [[nodiscard]] int32_t only_device() const;
  /// The direction of a copy by its agents.
  [[nodiscard]] model::CopyDirection direction_of(Record const& record) const;

  model::Trace finish() &&;

  model::TraceBuilder builder;
  std::optional<int32_t> stated_rank;

 private:
  struct Symbol {
    model::StringId name;
    model::EventKind kind = model::EventKind::kKernel;
    uint32_t registers = 0;
    model::CollectiveDetail collective;
  };
  /// What separates ops into tracks.
  struct OpKey {
    uint64_t agent = 0;
    std::optional<uint64_t> stream, queue;
    model::CopyDirection direction = model::CopyDirection::kUnknown;  ///< of what has neither
    friend auto operator<=>(OpKey const&, OpKey const&) = default;
  };
  struct Ops {
    model::EventBatch rows;
    struct Peer {
      size_t copy = 0;     ///< row of the batch's copies
      uint64_t agent = 0;  ///< that it goes to
    };
    std::vector<Peer> peers;
  };
  /// A track of a device: a stream, a queue, or copies of one direction.
  struct Lane {
    enum class Kind : uint8_t { kStream, kQueue, kCopies };
    int32_t device = 0;
    Kind kind = Kind::kStream;
    uint64_t number = 0;
    friend auto operator<=>(Lane const&, Lane const&) = default;
  };
  struct Thread {
    model::EventBatch rows;
    CallsOfThread calls;
  };

  bool take_times(Record const& record);
  Ops& ops_of(OpKey key);
  static model::DetailColumn<model::CopyDetail>& copies_of(model::EventBatch& rows) {
    return std::get<model::DetailColumn<model::CopyDetail>>(rows.details);
  }
  Thread& thread(uint64_t id);
  Symbol const& symbol(uint64_t kernel);
  [[nodiscard]] Agent const* find_agent(uint64_t handle) const;
  /// Whether the handle can be a GPU's.
  [[nodiscard]] bool is_device(uint64_t handle) const;
  [[nodiscard]] std::map<uint64_t, int32_t> number_devices() const;

  void link_ops();
  void add_memory_rows();
  void add_threads();
  void add_streams();
  void add_lane(Lane const& lane, std::vector<Ops*> const& ops);
  void add_devices(std::map<uint64_t, int32_t> const& numbers);
  void add_notes();

  std::vector<Agent> agents_;
  std::unordered_map<uint64_t, Symbol, base::HashNumber> symbols_;
  std::map<OpKey, Ops> ops_;
  std::map<uint64_t, Thread> threads_;
  std::vector<MemoryRecord> memory_;
  uint64_t events_ = 0;
  bool has_calls_ = false;  ///< of HIP or HSA, which start what devices do
  uint64_t untimed_ = 0, folded_ = 0, host_copies_ = 0, nameless_ = 0;
};

}  // namespace stepscope::import::rocm
