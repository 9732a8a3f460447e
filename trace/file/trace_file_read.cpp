// Reading events of a TraceFile: which blocks, how they are decoded, the trace that they make.
#include <algorithm>
#include <atomic>
#include <utility>

#include <unistd.h>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/format.h"
#include "trace/file/codec/listed_kinds.h"
#include "trace/file/in_order_reader.h"
#include "trace/file/kind_reader.h"
#include "trace/file/reader.h"
#include "trace/file/trace_file_state.h"
#include "trace/model/build/selected_rows.h"

namespace stepscope::file {
namespace {

using base::Expected;
using base::fail;

/// Id in the file → id in a trace; invalid where the text is not known.
std::vector<model::StringId> intern_all(std::span<std::string_view const> texts,
                                        model::TraceBuilder& builder) {
  std::vector<model::StringId> ids(texts.size());
  for (size_t id = 0; id < texts.size(); ++id)
    if (texts[id].data() != nullptr) ids[id] = builder.intern(texts[id]);
  return ids;
}

/// Keeps the rows that overlap the window, and the rows before it that are wanted.
void keep_selected(model::EventBatch& batch, Selection const& selection) {
  TimeWindow const window = selection.window;

  auto const inside = [&](size_t row) {
    int64_t const start = batch.start[row];
    if (start >= window.begin) return start < window.end;
    if ((selection.before & kind_bit(batch.kind[row])) != 0) return true;
    // The distance in 64 unsigned bits: a damaged file's times must not overflow.
    return batch.dur[row] > 0 &&
           static_cast<uint64_t>(batch.dur[row]) >
               static_cast<uint64_t>(window.begin) - static_cast<uint64_t>(start);
  };

  batch = model::copy_selected_rows(batch, inside);
}

/// Whether a block may hold events of the window, or wanted ones before it.
bool may_be_selected(BlockHeader const& block, Selection const& selection) {
  if (block.min_start >= selection.window.end) return false;
  return block.max_end >= selection.window.begin || (block.kinds & selection.before) != 0;
}

/// Where there are calls, which kernels carry collectives is found by the details of both.
Selection with_what_calls_need(Selection selection, std::vector<IndexEntry> const& blocks) {
  constexpr uint32_t kNeeded = uint32_t{1} << static_cast<int>(model::DetailTable::kKernels) |
                               uint32_t{1} << static_cast<int>(model::DetailTable::kCollectives);
  bool const has_calls = std::any_of(blocks.begin(), blocks.end(), [](IndexEntry const& entry) {
    return (entry.header.kinds & kind_bit(model::EventKind::kCollectiveCall)) != 0;
  });
  if (has_calls) selection.columns.tables |= kNeeded;
  return selection;
}

/// Whether all events of a block lie in the window.
bool is_all_selected(BlockHeader const& block, TimeWindow window) {
  return block.min_start >= window.begin && block.max_end < window.end;
}

}  // namespace

uint64_t events_that_fit() {
  constexpr uint64_t kBytesAnEvent = 100;  // while reading: decoded blocks and the trace's columns
  auto const pages = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  auto const page_bytes = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  return std::min<uint64_t>(pages * page_bytes / kBytesAnEvent,
                            UINT32_MAX - 1);  // row numbers have 32 bits
}

/// The event blocks that may hold selected events.
std::vector<IndexEntry> TraceFile::State::select(Selection const& selection) const {
  std::vector<bool> wanted(tracks.size(), !selection.tracks.has_value());

  if (selection.tracks)
    for (model::TrackId const track : *selection.tracks)
      if (track.value < wanted.size()) wanted[track.value] = true;

  std::vector<IndexEntry> blocks;
  for (IndexEntry const& entry : list.blocks) {
    if (!has_type(entry, BlockType::kEvents) || entry.header.track >= tracks.size() ||
        !wanted[entry.header.track])
      continue;
    if (may_be_selected(entry.header, selection)) blocks.push_back(entry);
  }
  return blocks;
}

/// None where it is damaged, or not what the index says.
std::optional<Block> TraceFile::State::event_block(IndexEntry const& entry) const {
  auto block = block_at(bytes, entry.offset);
  bool const is_as_listed = block && block->header.compressed == 0 &&
                            block->header.track == entry.header.track &&
                            block->header.rows == entry.header.rows;
  return is_as_listed ? block : std::nullopt;
}

/// To be asked once a block was decoded: of a file that is cut meanwhile zeros are read where its
/// bytes were sound before.
bool TraceFile::State::is_still_there(IndexEntry const& entry) const {
  return !mapped.is_cut() || block_at(bytes, entry.offset).has_value();
}

void TraceFile::State::decode(IndexEntry const& entry, Selection const& selection,
                              std::span<model::StringId const> ids, EventDecoder& decoder,
                              DecodedBlock& out) const {
  auto const block = event_block(entry);
  bool const is_decoded = block &&
                          decoder.decode(block->payload, block->header.rows, description.columns,
                                         selection.columns, out.events, out.unknown_events) &&
                          are_listed(out.events.kind, entry.header.kinds);

  if (!is_decoded || !is_still_there(entry)) {
    out.events.clear();
    out.damaged = true;
    return;
  }

  if (!selection.window.is_everything()) keep_selected(out.events, selection);
  out.unknown_names = translate_names(ids, out.events.name);
}

/// Tracks, devices and texts; returns the texts' ids in the trace by those in the file.
std::vector<model::StringId> TraceFile::State::begin_trace(std::span<std::string_view const> texts,
                                                           model::TraceBuilder& builder) const {
  for (model::Track const& track : tracks) builder.add_track(track);
  for (model::Device const& device : description.devices) builder.add_device(device);
  return intern_all(texts, builder);
}

/// All of these blocks, when they are in order.
std::optional<model::Trace> TraceFile::State::read_in_order(
    std::vector<IndexEntry> const& blocks, ColumnSelection const& wanted,
    std::span<std::string_view const> texts) const {
  model::TraceBuilder builder;
  std::vector<model::StringId> const ids = begin_trace(texts, builder);
  if (!wanted.depth) builder.leave_out_depth();

  auto const unknown_names = file::read_in_order(
      {bytes, blocks, description.columns, wanted, ids, calls == Calls::kMerged}, builder);
  if (!unknown_names) return std::nullopt;

  builder.info() = description.info;
  builder.log() = log_of(lost_while_opening() + damaged_strings.size(), 0, *unknown_names);
  return std::move(builder).finish_rows();
}

Expected<model::Trace> TraceFile::read(Selection const& asked, uint64_t max_events) const {
  std::vector<IndexEntry> const blocks = state_->select(asked);
  Selection const selection = with_what_calls_need(asked, blocks);
  std::atomic<uint64_t> rows =
      0;  // of blocks in part selected, those that were kept, once they are decoded
  for (IndexEntry const& entry : blocks)
    if (is_all_selected(entry.header, selection.window)) rows += entry.header.rows;
  auto const too_many = [&] {
    return fail(
        "{}: {} events are more than the {} that fit into memory, take a part with stepscope slice "
        "--steps or --time",
        state_->name, rows.load(), max_events);
  };
  if (rows > max_events) return too_many();

  auto const all_texts = texts();
  if (selection.window.is_everything())
    // It may have read zeros if the file became shorter meanwhile. The path below checks every
    // block as it is decoded.
    if (auto trace = state_->read_in_order(blocks, selection.columns, all_texts);
        trace && !state_->mapped.is_cut())
      return std::move(*trace);
  model::TraceBuilder builder;
  auto const ids = state_->begin_trace(all_texts, builder);
  if (!selection.columns.depth) builder.leave_out_depth();
  builder.leave_out_details(selection.columns.tables);
  uint64_t lost = state_->lost_while_opening() + state_->damaged_strings.size();

  std::vector<DecodedBlock> decoded(blocks.size());
  tbb::enumerable_thread_specific<EventDecoder> decoders;
  tbb::parallel_for(size_t{0}, blocks.size(), [&](size_t i) {
    if (rows > max_events) return;
    state_->decode(blocks[i], selection, ids, decoders.local(), decoded[i]);
    if (!is_all_selected(blocks[i].header, selection.window)) rows += decoded[i].events.size();
  });
  if (rows > max_events) return too_many();

  uint64_t unknown_events = 0;
  uint64_t unknown_names = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    lost += decoded[i].damaged ? 1 : 0;
    unknown_events += decoded[i].unknown_events;
    unknown_names += decoded[i].unknown_names;
    builder.append(model::TrackId{blocks[i].header.track}, std::exchange(decoded[i].events, {}));
  }
  if (lost > 0 && state_->mapped.is_cut()) return base::became_shorter(state_->name);
  builder.info() = state_->description.info;
  builder.log() = state_->log_of(lost, unknown_events, unknown_names);
  return std::move(builder).finish();
}

std::optional<model::Trace> TraceFile::read_kinds(uint64_t kinds) const {
  if (event_count() > events_that_fit()) return std::nullopt;
  std::vector<IndexEntry> const blocks = state_->select({});
  model::TraceBuilder builder;
  auto const ids = state_->begin_trace(texts(), builder);

  auto rows = read_rows_of_kinds({state_->bytes, blocks, state_->description.columns, ids, kinds});
  if (!rows || state_->mapped.is_cut()) return std::nullopt;

  builder.leave_out_depth();
  for (size_t i = 0; i < blocks.size(); ++i)
    builder.append(model::TrackId{blocks[i].header.track}, std::exchange((*rows)[i], {}));

  builder.info() = state_->description.info;
  builder.log() =
      state_->log_of(state_->lost_while_opening() + state_->damaged_strings.size(), 0, 0);
  return std::move(builder).finish();
}

bool TraceFile::decode_block(IndexEntry const& entry, ColumnSelection const& columns,
                             EventDecoder& decoder, model::EventBatch& out) const {
  out.clear();

  auto const block = state_->event_block(entry);
  uint64_t unknown = 0;
  if (block &&
      decoder.decode(block->payload, block->header.rows, state_->description.columns, columns, out,
                     unknown) &&
      are_listed(out.kind, entry.header.kinds) && state_->is_still_there(entry))
    return true;

  out.clear();
  return false;
}

std::optional<size_t> TraceFile::mark_names(IndexEntry const& entry, std::span<char const> wanted,
                                            EventDecoder& decoder,
                                            std::vector<uint8_t>& marks) const {
  auto const block = state_->event_block(entry);
  if (!block || block->header.rows > kMaxBlockRows) return std::nullopt;
  marks.resize(block->header.rows);
  size_t count = 0;
  if (!decoder.mark_names(block->payload, state_->description.columns, wanted, marks, count))
    return std::nullopt;
  return state_->is_still_there(entry) ? std::optional(count) : std::nullopt;
}

}  // namespace stepscope::file
