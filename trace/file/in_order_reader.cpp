#include "trace/file/in_order_reader.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/file/codec/listed_kinds.h"
#include "trace/file/format.h"

namespace stepscope::file {
namespace {

using model::EventKind;

constexpr uint64_t kCallBit = uint64_t{1} << static_cast<int>(EventKind::kCollectiveCall);

/// A block and where its rows go.
struct PlacedBlock {
  IndexEntry const* entry = nullptr;
  base::ByteSpan payload;
  uint32_t first_row = 0;
  DetailCounts details{}, first_details{};
  uint64_t unknown_names = 0;
};

class InOrderReader {
 public:
  InOrderReader(InOrderRows const& of, model::TraceBuilder& builder) : of_(of), builder_(builder) {
    for (uint32_t id = 0; id < of.ids.size(); ++id)
      are_ids_kept_ = are_ids_kept_ && of.ids[id].value == id;
  }

  std::optional<uint64_t> read() {
    if (!place_blocks()) return std::nullopt;

    // Memory is asked for what sound blocks hold, not for what any header claims.
    for_each_block([&](PlacedBlock& block, EventDecoder&) { return find_payload(block); });
    if (failed_) return std::nullopt;

    rows_ = builder_.make_rows(rows_of_tracks_);
    for_each_block(
        [&](PlacedBlock& block, EventDecoder& decoder) { return read_rows(block, decoder); });
    if (failed_ || !are_joined()) return std::nullopt;

    tables_ = &builder_.make_details(place_details(), of_.wanted.tables);
    for_each_block([&](PlacedBlock& block, EventDecoder& decoder) {
      if (!decoder.decode_details(block.payload, of_.columns, of_.wanted, block.first_details,
                                  block.details, *tables_))
        return false;
      if (decoder.may_have_graphs(of_.columns)) has_graphs_ = true;
      return true;
    });

    if (failed_) return std::nullopt;
    if (!has_graphs_) builder_.leave_out_graphs();

    uint64_t unknown_names = 0;
    for (PlacedBlock const& block : blocks_) unknown_names += block.unknown_names;
    return unknown_names;
  }

 private:
  /// Sorts the blocks by track and keeps the order of the file within one. False: they cannot be in
  /// the expected order.
  bool place_blocks() {
    uint64_t total = 0;
    rows_of_tracks_.assign(builder_.track_count(), 0);

    for (IndexEntry const& entry : of_.blocks) {
      bool const has_calls_to_merge = !of_.are_calls_merged && (entry.header.kinds & kCallBit) != 0;
      if (entry.header.rows > kMaxBlockRows || has_calls_to_merge) return false;
      total += entry.header.rows;
      if (total >= UINT32_MAX) return false;
      rows_of_tracks_[entry.header.track] += entry.header.rows;
      blocks_.push_back({.entry = &entry});
    }

    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [](PlacedBlock const& a, PlacedBlock const& b) {
                       return a.entry->header.track < b.entry->header.track;
                     });

    uint32_t next = 0;
    for (PlacedBlock& block : blocks_) {
      block.first_row = next;
      next += block.entry->header.rows;
    }
    return true;
  }

  /// Until a block is not as expected.
  template <class Read>
  void for_each_block(Read const& read) {
    tbb::parallel_for(size_t{0}, blocks_.size(), [&](size_t i) {
      if (!failed_ && !read(blocks_[i], decoders_.local())) failed_ = true;
    });
  }

  bool find_payload(PlacedBlock& placed) const {
    BlockHeader const& expected = placed.entry->header;
    auto const block = block_at(of_.bytes, placed.entry->offset);
    if (!block || block->header.compressed != 0 || block->header.track != expected.track ||
        block->header.rows != expected.rows)
      return false;
    placed.payload = block->payload;
    return true;
  }

  bool read_rows(PlacedBlock& placed, EventDecoder& decoder) const {
    model::RowSpans const rows = rows_.part(placed.first_row, placed.entry->header.rows);
    if (!decoder.decode_rows(placed.payload, of_.columns, of_.wanted, rows) ||
        !model::are_in_order(rows.start, rows.dur))
      return false;
    placed.unknown_names =
        are_ids_kept_ && are_all_known(rows.name) ? 0 : translate_names(of_.ids, rows.name);
    placed.details = model::count_details(rows.kind);
    return are_listed(rows.kind, placed.entry->header.kinds);
  }

  /// Where are_ids_kept_.
  [[nodiscard]] bool are_all_known(std::span<model::StringId const> names) const {
    uint32_t highest = 0;
    for (model::StringId const name : names) highest = std::max(highest, name.value);
    return highest < of_.ids.size();
  }

  /// Whether the blocks of each track follow each other.
  [[nodiscard]] bool are_joined() const {
    for (size_t i = 1; i < blocks_.size(); ++i) {
      uint32_t const row = blocks_[i].first_row;

      bool const is_empty =
          blocks_[i].entry->header.rows == 0 || blocks_[i - 1].entry->header.rows == 0;
      if (is_empty) return false;  // no writer makes such blocks

      if (blocks_[i].entry->header.track != blocks_[i - 1].entry->header.track) continue;
      if (!model::may_follow(rows_.start[row - 1], rows_.dur[row - 1], rows_.start[row],
                             rows_.dur[row]))
        return false;
    }
    return true;
  }

  DetailCounts place_details() {
    DetailCounts next{};
    for (PlacedBlock& block : blocks_) {
      block.first_details = next;
      for (size_t table = 0; table < next.size(); ++table) next[table] += block.details[table];
    }
    return next;
  }

  InOrderRows const& of_;
  model::TraceBuilder& builder_;
  bool are_ids_kept_ = true;  ///< texts have the ids that they have in the file
  std::vector<PlacedBlock> blocks_;
  std::vector<uint32_t> rows_of_tracks_;
  model::RowSpans rows_;
  model::DetailTables* tables_ = nullptr;
  tbb::enumerable_thread_specific<EventDecoder> decoders_;
  std::atomic<bool> failed_ = false, has_graphs_ = false;
};

}  // namespace

std::optional<uint64_t> read_in_order(InOrderRows const& rows, model::TraceBuilder& builder) {
  return InOrderReader(rows, builder).read();
}

uint64_t translate_names(std::span<model::StringId const> ids, std::span<model::StringId> names) {
  uint64_t unknown = 0;
  for (model::StringId& name : names) {
    bool const known = name.value < ids.size() && ids[name.value].valid();
    if (!known && name.value != 0) ++unknown;
    name = known ? ids[name.value] : model::StringId{0};
  }
  return unknown;
}

}  // namespace stepscope::file
