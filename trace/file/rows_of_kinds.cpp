#include "trace/file/rows_of_kinds.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/hash_number.h"
#include "trace/file/in_order_reader.h"
#include "trace/model/keep_rows.h"
#include "trace/model/kinds.h"

namespace stepscope::file {
namespace {

using model::EventBatch;
using model::EventKind;

constexpr uint64_t bit_of(EventKind kind) { return uint64_t{1} << static_cast<int>(kind); }

/// Bits of the kinds of device ops.
constexpr uint64_t kOpKinds = [] {
  uint64_t kinds = 0;
  for (int kind = 0; kind < model::kKindCount; ++kind)
    if (model::kKindTable[static_cast<size_t>(kind)].op_class != model::OpClass::kNone) kinds |= uint64_t{1} << kind;
  return kinds;
}();

/// Tables of which these kinds have rows.
uint32_t tables_of(uint64_t kinds) {
  uint32_t tables = 0;
  for (int kind = 0; kind < model::kKindCount; ++kind) {
    auto const table = static_cast<int>(model::kKindTable[static_cast<size_t>(kind)].table);
    if ((kinds >> kind & 1) != 0 && table >= 0) tables |= uint32_t{1} << table;
  }
  return tables;
}

/// Correlations to be found again. They are mostly given out one after the other: then a bit each finds them in a nanosecond.
class CorrelationSet {
 public:
  explicit CorrelationSet(std::vector<uint64_t> const& correlations) {
    if (correlations.empty()) return;
    auto const [lowest, highest] = std::minmax_element(correlations.begin(), correlations.end());
    lowest_ = *lowest;
    // Few ops may be of a wanted kind, with an id for every call in between: 8 MB, or as much as the ids themselves take.
    constexpr uint64_t kAlways = uint64_t{1} << 26, kMaxSparsity = 64;
    if (*highest - lowest_ < kAlways + kMaxSparsity * correlations.size()) {
      dense_.resize(*highest - lowest_ + 1);
      for (uint64_t const correlation : correlations) dense_[correlation - lowest_] = true;
    } else {
      sparse_.insert(correlations.begin(), correlations.end());
    }
  }
  [[nodiscard]] bool contains(uint64_t correlation) const {
    if (dense_.empty()) return !sparse_.empty() && sparse_.contains(correlation);
    uint64_t const place = correlation - lowest_;  // wraps for lower ones: far too large then
    return place < dense_.size() && dense_[place];
  }
  [[nodiscard]] bool empty() const { return dense_.empty() && sparse_.empty(); }

 private:
  uint64_t lowest_ = 0;
  std::vector<bool> dense_;
  std::unordered_set<uint64_t, base::HashNumber> sparse_;
};

class KindsReader {
 public:
  explicit KindsReader(RowsOfKinds const& of) : of_(of), found_(of.blocks.size()) {
    wanted_.depth = false;
    wanted_.tables = tables_of(of.kinds);
  }

  std::optional<std::vector<EventBatch>> read() {
    bool const has_calls = std::any_of(of_.blocks.begin(), of_.blocks.end(), [](IndexEntry const& entry) {
      return (entry.header.kinds & bit_of(EventKind::kCollectiveCall)) != 0;
    });
    if (has_calls) return std::nullopt;
    uint64_t const ops = of_.kinds & kOpKinds, others = of_.kinds & ~kOpKinds;
    CorrelationSet const none{std::vector<uint64_t>()};
    for_each_block(ops, [&](size_t block, Local& local) {
      find(block, local.batch, none);
      for (size_t row = 0; row < found_[block].size(); ++row)
        if (model::is_device_op(found_[block].kind[row]) && found_[block].correlation[row] != 0)
          local.correlations.push_back(found_[block].correlation[row]);
    });
    std::vector<uint64_t> correlations;
    for (Local const& local : locals_)
      correlations.insert(correlations.end(), local.correlations.begin(), local.correlations.end());
    CorrelationSet const launched(correlations);
    // Those that hold ops, too, where somebody keeps both on one track.
    uint64_t const launches = launched.empty() ? 0 : bit_of(EventKind::kLaunch);
    for_each_block(others | launches, [&](size_t block, Local& local) { find(block, local.batch, launched); });
    if (failed_) return std::nullopt;
    for (EventBatch& batch : found_) translate_names(of_.ids, batch.name);
    return std::move(found_);
  }

 private:
  /// Of a thread.
  struct Local {
    EventDecoder decoder;
    EventBatch batch;
    std::vector<uint64_t> correlations;
  };

  /// Decodes those that may hold any of these kinds.
  template <class Look>
  void for_each_block(uint64_t kinds, Look const& look) {
    tbb::parallel_for(size_t{0}, of_.blocks.size(), [&](size_t block) {
      if (failed_ || (of_.blocks[block].header.kinds & kinds) == 0) return;
      Local& local = locals_.local();
      if (decode(of_.blocks[block], local))
        look(block, local);
      else
        failed_ = true;
    });
  }

  [[nodiscard]] bool decode(IndexEntry const& entry, Local& local) const {
    auto const block = block_at(of_.bytes, entry.offset);
    uint64_t unknown = 0;
    if (!block || block->header.compressed != 0 || block->header.track != entry.header.track ||
        block->header.rows != entry.header.rows ||
        !local.decoder.decode(block->payload, block->header.rows, of_.columns, wanted_, local.batch, unknown))
      return false;
    // Headers may lie.
    auto const& kinds = local.batch.kind;
    return std::find(kinds.begin(), kinds.end(), EventKind::kCollectiveCall) == kinds.end();
  }

  void find(size_t block, EventBatch const& batch, CorrelationSet const& launched) {
    auto const is_wanted = [&](size_t row) {
      if ((of_.kinds >> static_cast<int>(batch.kind[row]) & 1) != 0) return true;
      return batch.kind[row] == EventKind::kLaunch && launched.contains(batch.correlation[row]);
    };
    found_[block] = model::keep_rows(batch, is_wanted);
  }

  RowsOfKinds const& of_;
  ColumnSelection wanted_;
  std::vector<EventBatch> found_;
  tbb::enumerable_thread_specific<Local> locals_;
  std::atomic<bool> failed_ = false;
};

}  // namespace

std::optional<std::vector<EventBatch>> read_rows_of_kinds(RowsOfKinds const& rows) { return KindsReader(rows).read(); }

}  // namespace stepscope::file
