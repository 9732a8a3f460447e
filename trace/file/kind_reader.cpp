#include "trace/file/kind_reader.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/hash_number.h"
#include "trace/file/codec/listed_kinds.h"
#include "trace/file/in_order_reader.h"
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
    if (model::kKindTable[static_cast<size_t>(kind)].op_class != model::OpClass::kNone)
      kinds |= uint64_t{1} << kind;
  return kinds;
}();

/// Tables in which these kinds have rows.
uint32_t tables_of(uint64_t kinds) {
  uint32_t tables = 0;
  for (int kind = 0; kind < model::kKindCount; ++kind) {
    auto const table = static_cast<int>(model::kKindTable[static_cast<size_t>(kind)].table);
    if ((kinds >> kind & 1) != 0 && table >= 0) tables |= uint32_t{1} << table;
  }
  return tables;
}

/// Correlations to be found again. They are mostly given out one after the other: then a bit each
/// finds them in a nanosecond.
class CorrelationSet {
 public:
  explicit CorrelationSet(std::vector<uint64_t> const& correlations) {
    if (correlations.empty()) return;

    auto const [lowest, highest] = std::minmax_element(correlations.begin(), correlations.end());
    lowest_ = *lowest;

    // Few ops may be of a wanted kind, with an id for every call in between: 8 MB, or as much as
    // the ids themselves take.
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

/// Kinds whose details are in one of these tables.
uint64_t kinds_in(uint32_t tables) {
  uint64_t kinds = 0;
  for (int kind = 0; kind < model::kKindCount; ++kind) {
    auto const table = static_cast<int>(model::kKindTable[static_cast<size_t>(kind)].table);
    if (table >= 0 && (tables >> table & 1) != 0) kinds |= uint64_t{1} << kind;
  }
  return kinds;
}

/// A row of a block, and its row in the detail table of its kind.
struct FoundRow {
  uint32_t row, detail;
};

/// What a thread decodes, one block after the other into the same memory.
class BlockRows {
 public:
  /// Decodes the block at `entry`. False when it is damaged.
  bool decode(RowsOfKinds const& of, IndexEntry const& entry, ColumnSelection const& wanted) {
    auto const block = block_at(of.bytes, entry.offset);
    if (!block || block->header.compressed != 0 || block->header.track != entry.header.track ||
        block->header.rows != entry.header.rows || block->header.rows > kMaxBlockRows)
      return false;
    payload_ = block->payload;
    rows_ = room(block->header.rows);
    return decoder_.decode_rows(payload_, of.columns, wanted, rows_) &&
           are_listed(rows_.kind, entry.header.kinds);
  }
  [[nodiscard]] model::RowSpans const& rows() const { return rows_; }

  /// Copies of some of them, ascending, with their details. `counts`: how many there are of the
  /// whole block. False when damaged.
  bool copy(RowsOfKinds const& of, ColumnSelection const& wanted, DetailCounts const& counts,
            std::vector<FoundRow> const& found, EventBatch& out) {
    size_t table = 0;
    std::apply([&](auto&... rows) { (rows.resize(counts[table++]), ...); }, memory_.details);
    if (!decoder_.decode_details(payload_, of.columns, wanted, {}, counts, memory_.details))
      return false;

    out.reserve(found.size());
    for (auto const [row, detail] : found) {
      out.start.push_back(rows_.start[row]);
      out.dur.push_back(rows_.dur[row]);
      out.name.push_back(rows_.name[row]);
      out.kind.push_back(rows_.kind[row]);
      out.correlation.push_back(rows_.correlation[row]);
    }

    [&]<size_t... Table>(std::index_sequence<Table...>) { (copy_details<Table>(found, out), ...); }
    (std::make_index_sequence<model::kDetailTableCount>());
    return true;
  }

 private:
  template <size_t kTable>
  void copy_details(std::vector<FoundRow> const& found, EventBatch& out) const {
    auto const& from = std::get<kTable>(memory_.details);
    auto& to = std::get<kTable>(out.details);
    if (from.empty()) return;
    for (auto const [row, detail] : found)
      if (model::kind_info(rows_.kind[row]).table == static_cast<model::DetailTable>(kTable))
        to.push_back(from[detail]);
  }

  model::RowSpans room(size_t rows) {
    if (memory_.size() < rows) {
      memory_.start.resize(rows);
      memory_.dur.resize(rows);
      memory_.name.resize(rows);
      memory_.kind.resize(rows);
      memory_.correlation.resize(rows);
    }

    return model::RowSpans{memory_.start, memory_.dur, memory_.name, memory_.kind,
                           memory_.correlation}
        .part(0, rows);
  }

  EventDecoder decoder_;
  EventBatch memory_;  ///< its columns may be longer than the block
  base::ByteSpan payload_;
  model::RowSpans rows_;
};

class KindsReader {
 public:
  explicit KindsReader(RowsOfKinds const& of) : of_(of), found_(of.blocks.size()) {
    wanted_.depth = false;
    wanted_.tables = tables_of(of.kinds);
    counted_ = of.kinds | kinds_in(wanted_.tables) | bit_of(EventKind::kCollectiveCall);
  }

  std::optional<std::vector<EventBatch>> read() {
    bool const has_calls =
        std::any_of(of_.blocks.begin(), of_.blocks.end(), [](IndexEntry const& entry) {
          return (entry.header.kinds & bit_of(EventKind::kCollectiveCall)) != 0;
        });
    if (has_calls) return std::nullopt;

    uint64_t const ops = of_.kinds & kOpKinds, others = of_.kinds & ~kOpKinds;
    find_in_blocks(ops, CorrelationSet({}));
    CorrelationSet const launched(correlations_of_ops());

    // Includes blocks with ops: some writers keep launches and ops on one track.
    uint64_t const launches = launched.empty() ? 0 : bit_of(EventKind::kLaunch);
    find_in_blocks(others | launches, launched);

    if (failed_) return std::nullopt;
    for (EventBatch& batch : found_) translate_names(of_.ids, batch.name);
    return std::move(found_);
  }

 private:
  /// State of one thread.
  struct Local {
    BlockRows block;
    std::vector<FoundRow> found;
  };

  /// In those that may hold any of these kinds.
  void find_in_blocks(uint64_t kinds, CorrelationSet const& launched) {
    tbb::parallel_for(size_t{0}, of_.blocks.size(), [&](size_t block) {
      if (failed_ || (of_.blocks[block].header.kinds & kinds) == 0) return;
      if (!find(block, launched, locals_.local())) failed_ = true;
    });
  }

  bool find(size_t block, CorrelationSet const& launched, Local& local) {
    if (!local.block.decode(of_, of_.blocks[block], wanted_)) return false;
    DetailCounts counts{};
    EventBatch found;
    if (!find_rows(local.block.rows(), launched, local.found, counts) ||
        !local.block.copy(of_, wanted_, counts, local.found, found))
      return false;
    found_[block] = std::move(found);
    return true;
  }

  /// Counts the details of wanted tables. False where there are calls: headers may lie.
  bool find_rows(model::RowSpans const& rows, CorrelationSet const& launched,
                 std::vector<FoundRow>& found, DetailCounts& counts) const {
    found.clear();
    uint64_t const looked_at = counted_ | (launched.empty() ? 0 : bit_of(EventKind::kLaunch));

    for (uint32_t row = 0; row < rows.size(); ++row) {
      EventKind const kind = rows.kind[row];
      if ((looked_at & bit_of(kind)) == 0) continue;
      if (kind == EventKind::kCollectiveCall) return false;

      auto const table = static_cast<int>(model::kind_info(kind).table);
      auto const detail =
          table < 0 ? 0 : static_cast<uint32_t>(counts[static_cast<size_t>(table)]++);

      bool const is_wanted =
          (of_.kinds & bit_of(kind)) != 0 ||
          (kind == EventKind::kLaunch && launched.contains(rows.correlation[row]));
      if (is_wanted) found.push_back({row, detail});
    }
    return true;
  }

  [[nodiscard]] std::vector<uint64_t> correlations_of_ops() const {
    std::vector<uint64_t> correlations;
    for (EventBatch const& batch : found_)
      for (size_t row = 0; row < batch.size(); ++row)
        if (model::is_device_op(batch.kind[row]) && batch.correlation[row] != 0)
          correlations.push_back(batch.correlation[row]);
    return correlations;
  }

  RowsOfKinds const& of_;
  ColumnSelection wanted_;
  uint64_t counted_ =
      0;  ///< kinds that are wanted, or whose details stand among those of wanted ones
  std::vector<EventBatch> found_;
  tbb::enumerable_thread_specific<Local> locals_;
  std::atomic<bool> failed_ = false;
};

}  // namespace

std::optional<std::vector<EventBatch>> read_rows_of_kinds(RowsOfKinds const& rows) {
  return KindsReader(rows).read();
}

}  // namespace stepscope::file
