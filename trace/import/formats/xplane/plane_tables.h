// What a plane's events and stats refer to by number: names, and what they mean, found out once for
// each and not for each event.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/xplane/op_names.h"
#include "trace/import/formats/xplane/stat.h"
#include "trace/model/api_calls.h"

namespace stepscope::import {

/// The place of each id in a list. Ids are mostly small and given out one after the other; hostile
/// ones are any.
class IdIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// The last of equal ids counts, as in a map of Protocol Buffers.
  void build(std::span<int64_t const> ids);
  [[nodiscard]] uint32_t find(int64_t id) const {
    if (static_cast<uint64_t>(id) < dense_.size()) return dense_[static_cast<size_t>(id)];
    if (sparse_.empty()) return kNone;
    auto const found = sparse_.find(id);
    return found == sparse_.end() ? kNone : found->second;
  }
  /// Ids that were there more than once.
  [[nodiscard]] uint64_t doubled() const { return doubled_; }

 private:
  std::vector<uint32_t> dense_;
  std::unordered_map<int64_t, uint32_t, base::HashNumber> sparse_;
  uint64_t doubled_ = 0;
};

/// The stats that are read; all others are passed over.
enum class KnownStat : uint8_t {
  kOther,
  kCorrelation,
  kKernelDetails,
  kMemcpyDetails,
  kMemsetDetails,
  kNoWorkDetails,  ///< of what tells of memory
  kDevice,
  kStepNumber,
  kGroup,
  kGraph,
  kWholeGraph,  ///< of a graph that is recorded as one
  kGraphNode,
  kHloOp,
  kHloCategory,
  kFlops,
  kBytesAccessed,
  kAllocator,
  kBytesAllocated,
  kAllocationBytes,
  kAddress
};

class StatTable {
 public:
  struct Entry {
    std::string_view name;  ///< also the text that stats refer to
    KnownStat known = KnownStat::kOther;
    uint32_t kernel = 0, copy = 0;  ///< place + 1 of the details that the text is
    OpMeaning xla_op;               ///< of the operation that the text names
  };

  /// Reads a plane's message.
  explicit StatTable(std::string_view plane);
  [[nodiscard]] Entry const* find(int64_t id) const {
    uint32_t const at = index_.find(id);
    return at == IdIndex::kNone ? nullptr : &entries_[at];
  }
  [[nodiscard]] KnownStat known(int64_t id) const {
    if (static_cast<uint64_t>(id) < known_.size()) return known_[static_cast<size_t>(id)];
    Entry const* const entry = find(id);
    return entry == nullptr ? KnownStat::kOther : entry->known;
  }
  /// What a stat says in words; empty when it says a number.
  [[nodiscard]] std::string_view text(RawStat const& stat) const;
  [[nodiscard]] model::KernelDetail kernel(RawStat const& stat) const;
  [[nodiscard]] model::CopyDetail copy(RawStat const& stat) const;
  [[nodiscard]] OpMeaning xla_op(RawStat const& stat) const;
  /// Host events may be marked as steps.
  [[nodiscard]] bool has_step_numbers() const { return has_step_numbers_; }
  [[nodiscard]] uint64_t doubled() const { return index_.doubled(); }

 private:
  void add(std::string_view entry, std::vector<int64_t>& ids);

  std::vector<Entry> entries_;
  std::vector<KnownStat> known_;  ///< by id, of small ids
  std::vector<model::KernelDetail> kernels_;
  std::vector<model::CopyDetail> copies_;
  IdIndex index_;
  bool has_step_numbers_ = false;
};

/// How a plane names what its events are.
enum class Vocabulary : uint8_t { kHost, kStreamOps, kXlaOps };

enum class HostMeaning : uint8_t { kRange, kCall, kInputWait, kAllocation, kFree };

struct EventMetadata {
  std::string_view name;  ///< as it is shown
  uint64_t bytes = 0;     ///< of an operation of a compiled program, 0 = unknown; as the next
  double flops = 0;
  OpMeaning op;  ///< on a device
  HostMeaning host = HostMeaning::kRange;
  model::ApiClass api = model::ApiClass::kOther;
  model::SyncKind sync = model::SyncKind::kUnknown;
};

class EventTable {
 public:
  /// Reads a plane's message.
  EventTable(std::string_view plane, Vocabulary vocabulary, StatTable const& stats);
  /// Place of an id in metadata(); of an unknown id the place of the name for all others.
  [[nodiscard]] uint32_t find(int64_t id) const {
    uint32_t const at = index_.find(id);
    return at == IdIndex::kNone ? nameless() : at;
  }
  [[nodiscard]] uint32_t nameless() const { return static_cast<uint32_t>(metadata_.size() - 1); }
  [[nodiscard]] std::vector<EventMetadata> const& metadata() const { return metadata_; }
  [[nodiscard]] uint64_t doubled() const { return index_.doubled(); }

 private:
  void add(std::string_view entry, Vocabulary vocabulary, StatTable const& stats,
           std::vector<int64_t>& ids);

  std::vector<EventMetadata> metadata_;
  IdIndex index_;
};

/// The tables that the events of a plane refer to.
struct PlaneTables {
  PlaneTables(std::string_view plane, Vocabulary vocabulary)
      : stats(plane), events(plane, vocabulary, stats) {}
  StatTable stats;
  EventTable events;
};

}  // namespace stepscope::import
