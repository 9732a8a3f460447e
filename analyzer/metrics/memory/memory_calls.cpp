#include "analyzer/metrics/memory/memory_calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trace/model/api_calls.h"
#include "trace/model/build/memory_names.h"
#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::MemoryDetail;
using model::MemoryKind;
using model::MemoryOp;

/// What a call of an allocating function does, by its name.
enum class Verb : uint8_t { kNotAsked, kNone, kAllocate, kFree, kPin };

Verb verb_of(std::string_view name) {
  std::string_view const plain = model::plain_name(name);
  if (model::classify(plain) != model::ApiClass::kMemory) return Verb::kNone;
  auto const has = [&](std::string_view part) {
    return plain.find(part) != std::string_view::npos;
  };
  if (has("Host")) return Verb::kPin;
  return has("Free") || has("Release") ? Verb::kFree : Verb::kAllocate;
}

class CallReader {
 public:
  explicit CallReader(model::RankTrace const& rank)
      : rank_(rank), verbs_(rank.trace.strings().size(), Verb::kNotAsked) {}

  /// Calls, and allocations and frees, of a thread, in their order.
  void read_thread(model::Trace::Rows rows) {
    begin_anew();
    uint32_t next = rows.first;
    model::for_each_row_of<EventKind::kMemory, EventKind::kApi>(
        rank_.trace.columns(), rows, [&](uint32_t row) {
          // Who launches something goes on with its work.
          if (is_waiting_for_more() && has_launch(next, row)) begin_anew();
          next = row + 1;
          if (rank_.trace.kind(row) == EventKind::kMemory) return read_memory(row);
          // A call that got nothing is recorded without what it got.
          if (has_memory_ && verb(row) == Verb::kAllocate) asked_ = true;
        });
  }
  MemoryCalls finish() && {
    model::Trace const& trace = rank_.trace;
    auto const ends_before = [&](uint32_t a, uint32_t b) { return trace.end(a) < trace.end(b); };
    if (!std::is_sorted(calls_.rows.begin(), calls_.rows.end(), ends_before))
      std::stable_sort(calls_.rows.begin(), calls_.rows.end(), ends_before);
    std::sort(calls_.pinning.begin(), calls_.pinning.end());
    return std::move(calls_);
  }

 private:
  void begin_anew() { asked_ = gave_back_ = freed_ = is_retry_ = false; }
  [[nodiscard]] bool is_waiting_for_more() const {
    return asked_ || gave_back_ || freed_ || is_retry_;
  }
  [[nodiscard]] bool has_launch(uint32_t first, uint32_t last) const {
    EventKind const* const kinds = rank_.trace.columns().kind.data();
    return std::find(kinds + first, kinds + last, EventKind::kLaunch) != kinds + last;
  }
  Verb verb(uint32_t row) {
    Verb& known = verbs_[rank_.trace.columns().name[row].value];
    if (known == Verb::kNotAsked) known = verb_of(rank_.trace.name(row));
    return known;
  }

  void read_memory(uint32_t row) {
    auto const& detail = rank_.trace.detail<MemoryDetail>(row);
    has_memory_ = true;
    bool const of_host =
        detail.memory == MemoryKind::kPinned || detail.memory == MemoryKind::kPageable;
    if (detail.op == MemoryOp::kUnknown) return read_call(row);
    if (of_host) {
      if (detail.memory == MemoryKind::kPinned)
        calls_.pinning.push_back(rank_.trace.end(row) + rank_.offset_ns);
      return;
    }

    calls_.rows.push_back(row);
    // Where each call has its own totals, an allocator asked in vain, freed, and asks again.
    if (detail.op == MemoryOp::kFree) {
      gave_back_ = gave_back_ || asked_;
      return;
    }
    if (is_retry_ || gave_back_) calls_.retries.push_back(row);
    begin_anew();
  }

  /// An event of its own records what the allocator did: it frees and asks, then reports what it
  /// got.
  void read_call(uint32_t row) {
    Verb const done = verb(row);
    if (done == Verb::kPin) calls_.pinning.push_back(rank_.trace.end(row) + rank_.offset_ns);
    if (done == Verb::kFree) freed_ = true;
    if (done == Verb::kAllocate) is_retry_ = is_retry_ || std::exchange(freed_, false);
  }

  model::RankTrace const& rank_;
  std::vector<Verb> verbs_;  ///< by name
  MemoryCalls calls_;
  bool has_memory_ = false;
  bool asked_ = false, gave_back_ = false, freed_ = false, is_retry_ = false;
};

}  // namespace

MemoryCalls find_memory_calls(model::RankTrace const& rank) {
  CallReader reader(rank);
  for (uint32_t track = 0; track < rank.trace.tracks().size(); ++track)
    reader.read_thread(rank.trace.rows_of(model::TrackId{track}));
  return std::move(reader).finish();
}

bool is_allocator_name(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {"[memory]",
                                                      "allocate",
                                                      "free",
                                                      "memory",
                                                      "alloc",
                                                      "MemoryAllocation",
                                                      "MemoryDeallocation",
                                                      model::kModuleVariable};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         model::classify(model::plain_name(name)) == model::ApiClass::kMemory;
}

}  // namespace stepscope::analyzer
