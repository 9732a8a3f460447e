#include "trace/file/trace_file.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <utility>

#include <unistd.h>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "trace/file/claims.h"
#include "trace/file/codec/compression.h"
#include "trace/file/codec/file_strings.h"
#include "trace/file/description.h"
#include "trace/file/format.h"
#include "trace/file/in_order_reader.h"
#include "trace/file/kind_reader.h"
#include "trace/file/listed_kinds.h"
#include "trace/file/reader.h"
#include "trace/file/summaries.h"
#include "trace/model/build/selected_rows.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::file {
namespace {

using base::ByteSpan;
using base::Expected;
using base::fail;

/// Bits of BlockHeader::kinds that only streams have.
constexpr uint64_t kDeviceKinds =
    kind_bit(model::EventKind::kKernel) | kind_bit(model::EventKind::kMemcpy) |
    kind_bit(model::EventKind::kMemset) | kind_bit(model::EventKind::kCollective);

bool has_type(IndexEntry const& entry, BlockType type) {
  return entry.header.type == static_cast<uint16_t>(type);
}

bool is_text(IndexEntry const& entry) {
  return has_type(entry, BlockType::kStrings) || has_type(entry, BlockType::kDescription) ||
         has_type(entry, BlockType::kTracks);
}

bool is_sound_file_header(ByteSpan bytes) {
  base::ByteReader in(bytes.subspan(kFileMagic.size()));
  in.get<uint32_t>();  // the version: opening looks at it
  bool sound = in.get<uint32_t>() == kFileHeaderSize;
  while (in.ok() && in.position() < kFileHeaderSize - kFileMagic.size())
    sound = in.get<uint8_t>() == 0 && sound;
  return sound && in.ok();
}

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

/// Whether all events of a block lie in the window.
bool is_all_selected(BlockHeader const& block, TimeWindow window) {
  return block.min_start >= window.begin && block.max_end < window.end;
}

/// What decoding one block gave.
struct DecodedBlock {
  model::EventBatch events;
  uint64_t unknown_events = 0, unknown_names = 0;
  bool damaged = false;
};

}  // namespace

uint64_t events_that_fit() {
  constexpr uint64_t kBytesAnEvent = 100;  // while reading: decoded blocks and the trace's columns
  auto const pages = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  auto const page_bytes = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  return std::min<uint64_t>(pages * page_bytes / kBytesAnEvent,
                            UINT32_MAX - 1);  // row numbers have 32 bits
}

struct TraceFile::State {
  std::string name;
  Calls calls = Calls::kToMerge;
  base::MappedFile mapped;  ///< empty when the bytes are somebody else's
  ByteSpan bytes;
  BlockList list;
  Description description;
  std::vector<model::Track> tracks;
  uint64_t lost_descriptions = 0;
  uint64_t lost_tracks = 0;  ///< event blocks of tracks that there cannot be
  mutable uint64_t text_bytes_left = 0;
  mutable std::once_flag strings_loaded;
  mutable FileStrings strings;
  mutable std::vector<DamagedPlace> damaged_strings;

  [[nodiscard]] std::optional<std::vector<std::byte>> text_of(IndexEntry const& entry) const;
  void refuse_impossible_rows();
  void load_descriptions();
  void load_strings() const;
  [[nodiscard]] std::optional<model::TrackSummary> stored_summary(IndexEntry const& entry) const;
  [[nodiscard]] std::optional<std::vector<StepSpan>> stored_steps(IndexEntry const& entry) const;
  [[nodiscard]] bool is_sound(IndexEntry const& entry, EventDecoder& decoder) const;
  void add_missing_tracks();
  [[nodiscard]] std::vector<IndexEntry> select(Selection const& selection) const;
  [[nodiscard]] std::optional<Block> event_block(IndexEntry const& entry) const;
  [[nodiscard]] bool is_still_there(IndexEntry const& entry) const;
  void decode(IndexEntry const& entry, Selection const& selection,
              std::span<model::StringId const> ids, EventDecoder& decoder, DecodedBlock& out) const;
  std::vector<model::StringId> begin_trace(std::span<std::string_view const> texts,
                                           model::TraceBuilder& builder) const;
  [[nodiscard]] std::optional<model::Trace> read_in_order(
      std::vector<IndexEntry> const& blocks, ColumnSelection const& wanted,
      std::span<std::string_view const> texts) const;
  [[nodiscard]] uint64_t lost_while_opening() const;
  [[nodiscard]] model::ImportLog log_of(uint64_t lost_blocks, uint64_t unknown_events,
                                        uint64_t unknown_names) const;
};

TraceFile::TraceFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceFile::TraceFile(TraceFile&&) noexcept = default;
TraceFile& TraceFile::operator=(TraceFile&&) noexcept = default;
TraceFile::~TraceFile() = default;

Expected<TraceFile> TraceFile::open(std::string const& path, Calls calls) {
  auto mapped = base::MappedFile::open(path);
  if (!mapped) return base::fail_with(mapped);
  auto file = open(mapped->bytes(), path);
  if (mapped->is_cut()) return base::became_shorter(path);
  if (!file) return file;
  file->state_->mapped = std::move(*mapped);
  file->state_->calls = calls;
  return file;
}

Expected<TraceFile> TraceFile::open(ByteSpan bytes, std::string const& name) {
  if (bytes.empty()) return fail("{}: is empty, record the run again", name);
  if (!is_stepscope_file(bytes))
    return fail("{}: is not a .stepscope file, name a trace that stepscope recorded", name);

  base::ByteReader in(bytes.subspan(kFileMagic.size()));
  auto const version = in.get<uint32_t>();
  if (bytes.size() < kFileHeaderSize)
    return fail("{}: is cut after {} bytes, record the run again", name, bytes.size());

  if (version == 0 || version > kFormatVersion)
    return fail("{}: has format version {}, this program reads up to {}, update stepscope", name,
                version, kFormatVersion);

  auto state = std::make_unique<State>();
  state->name = name;
  state->bytes = bytes;
  state->list = find_blocks(bytes);
  state->text_bytes_left = text_budget(bytes.size());
  state->refuse_impossible_rows();
  state->load_descriptions();
  state->add_missing_tracks();

  if (merge_impossible_devices(state->description.devices, state->tracks))
    ++state->lost_descriptions;
  return TraceFile(std::move(state));
}

/// A text block's payload as it was before compression; nothing when it is damaged.
std::optional<std::vector<std::byte>> TraceFile::State::text_of(IndexEntry const& entry) const {
  auto const block = block_at(bytes, entry.offset);

  uint64_t const most = has_type(entry, BlockType::kStrings)
                            ? text_bytes_left
                            : std::min(text_bytes_left, json_budget(bytes.size()));

  if (!block || block->header.type != entry.header.type || block->header.raw_size > most)
    return std::nullopt;
  text_bytes_left -= block->header.raw_size;

  if (block->header.compressed == 1)
    return Decompressor().decompress(block->payload, block->header.raw_size);
  if (block->header.compressed != 0 || block->payload.size() != block->header.raw_size)
    return std::nullopt;
  return std::vector<std::byte>(block->payload.begin(), block->payload.end());
}

/// Clears the row count of blocks that claim more rows than one block, or all blocks of the file,
/// can have. They then contradict the index and count as damaged when they are read.
void TraceFile::State::refuse_impossible_rows() {
  uint64_t rows_left = row_budget(bytes.size()),
           with_collectives_left = collective_row_budget(bytes.size());

  for (IndexEntry& entry : list.blocks) {
    if (!has_type(entry, BlockType::kEvents)) continue;
    // A block that holds other kinds than its header names is damaged, too (are_listed()).
    bool const has_collectives = (entry.header.kinds & kCollectiveKinds) != 0;
    uint64_t const most = has_collectives ? std::min(rows_left, with_collectives_left) : rows_left;

    if (entry.header.rows > std::min<uint64_t>(most, kMaxBlockRows)) entry.header.rows = 0;
    rows_left -= entry.header.rows;
    if (has_collectives) with_collectives_left -= entry.header.rows;
  }
}

/// Descriptions and tracks; one written later knows more.
void TraceFile::State::load_descriptions() {
  for (IndexEntry const& entry : list.blocks) {
    bool const is_tracks = has_type(entry, BlockType::kTracks);
    if (!is_tracks && !has_type(entry, BlockType::kDescription)) continue;

    auto const text = text_of(entry);
    Description next;
    bool const good = text && (is_tracks ? decode_tracks(*text, track_budget(bytes.size()), tracks)
                                         : decode_description(*text, next));

    if (!good) {
      list.damage.push_back(damaged_block(entry));
      ++lost_descriptions;
    } else if (!is_tracks) {
      description = std::move(next);
    }
  }

  // Lost: what this version writes is the best guess.
  if (description.columns.base.empty()) description.columns = current_columns();
}

/// Events are worth more than the name of their track: where the description was lost, a track
/// without a name takes them.
void TraceFile::State::add_missing_tracks() {
  uint32_t const most_tracks = track_budget(bytes.size());

  for (IndexEntry const& entry : list.blocks) {
    if (!has_type(entry, BlockType::kEvents)) continue;
    if (entry.header.track >= most_tracks && entry.header.track >= tracks.size()) {
      ++lost_tracks;
      continue;
    }

    while (tracks.size() <= entry.header.track) {
      bool const device = (entry.header.kinds & kDeviceKinds) != 0;
      tracks.push_back({.kind = device ? model::TrackKind::kStream : model::TrackKind::kThread,
                        .name = fmt::format("track {} (its description is lost)", tracks.size()),
                        .id = static_cast<int64_t>(tracks.size()),
                        .device = device ? 0 : -1});
    }
  }
}

uint64_t TraceFile::size_bytes() const { return state_->bytes.size(); }
model::TraceInfo const& TraceFile::info() const { return state_->description.info; }
std::span<model::Device const> TraceFile::devices() const { return state_->description.devices; }
std::span<model::Track const> TraceFile::tracks() const { return state_->tracks; }
std::span<IndexEntry const> TraceFile::blocks() const { return state_->list.blocks; }
model::ImportLog const& TraceFile::log() const { return state_->description.log; }
bool TraceFile::is_finished() const { return state_->list.finished; }
std::span<DamagedPlace const> TraceFile::damage() const { return state_->list.damage; }

model::ImportLog TraceFile::known_losses() const {
  model::ImportLog log = state_->log_of(state_->lost_while_opening(), 0, 0);
  for (model::Track const& track : tracks()) log.dropped += track.dropped;
  return log;
}

uint64_t TraceFile::event_count() const {
  uint64_t count = 0;
  for (IndexEntry const& entry : blocks())
    if (has_type(entry, BlockType::kEvents)) count += entry.header.rows;
  return count;
}

TimeWindow TraceFile::time_range() const {
  TimeWindow range{INT64_MAX, INT64_MIN};
  for (IndexEntry const& entry : blocks()) {
    if (!has_type(entry, BlockType::kEvents)) continue;
    range.begin = std::min(range.begin, entry.header.min_start);
    range.end = std::max(range.end, entry.header.max_end);
  }
  return range.begin > range.end ? TimeWindow{0, 0} : range;
}

void TraceFile::State::load_strings() const {
  for (IndexEntry const& entry : list.blocks) {
    if (!has_type(entry, BlockType::kStrings)) continue;
    auto text = text_of(entry);
    if (!text || !strings.add(std::move(*text), text_bytes_left))
      damaged_strings.push_back(damaged_block(entry));
  }
}

std::span<std::string_view const> TraceFile::texts() const {
  std::call_once(state_->strings_loaded, [this] { state_->load_strings(); });
  return state_->strings.texts();
}

/// The last block of the type and track.
IndexEntry const* TraceFile::find_block(BlockType type, uint32_t track) const {
  IndexEntry const* found = nullptr;
  for (IndexEntry const& entry : blocks())
    if (has_type(entry, type) && entry.header.track == track) found = &entry;
  return found;
}

bool TraceFile::has_summaries() const { return find_block(BlockType::kSteps, 0) != nullptr; }

std::optional<model::TrackSummary> TraceFile::State::stored_summary(IndexEntry const& entry) const {
  uint64_t events = 0;
  for (IndexEntry const& other : list.blocks)
    if (has_type(other, BlockType::kEvents) && other.header.track == entry.header.track)
      events += std::min<uint64_t>(other.header.rows, kMaxBlockRows);

  auto const block = block_at(bytes, entry.offset);
  model::TrackSummary summary;
  if (!block || block->header.type != entry.header.type ||
      block->header.track != entry.header.track || block->header.rows > max_bins(events))
    return std::nullopt;

  if (!decode_summary(block->payload, block->header.rows, block->header.max_end, summary))
    return std::nullopt;

  // Who reads by the summary plans for as many events as it counts.
  if (std::accumulate(summary.starts.begin(), summary.starts.end(), uint64_t{0}) > events)
    return std::nullopt;
  return summary;
}

std::optional<std::vector<StepSpan>> TraceFile::State::stored_steps(IndexEntry const& entry) const {
  auto const block = block_at(bytes, entry.offset);
  std::vector<StepSpan> steps;
  if (!block || block->header.type != entry.header.type ||
      !decode_steps(block->payload, block->header.rows, steps) ||
      !are_possible(steps, tracks.size()))
    return std::nullopt;
  return steps;
}

Expected<model::TrackSummary> TraceFile::summary(model::TrackId track) const {
  if (IndexEntry const* const entry = find_block(BlockType::kSummary, track.value)) {
    if (auto stored = state_->stored_summary(*entry)) return std::move(*stored);
  }
  auto const trace = read({.tracks = std::vector{track}});
  if (!trace) return base::fail_with(trace);
  model::TrackSummary summary = summary_of(*trace, track);
  auto const ids = file_ids(*this, *trace);
  for (model::StringId& name : summary.longest_name) name = ids[name.value];
  return summary;
}

Expected<std::vector<StepSpan>> TraceFile::steps() const {
  if (IndexEntry const* const entry = find_block(BlockType::kSteps, 0)) {
    if (auto stored = state_->stored_steps(*entry)) return std::move(*stored);
  }

  // Only tracks with steps, and of those only what tells a step.
  Selection selection{.columns = {.name = false,
                                  .correlation = false,
                                  .tables = 1U << static_cast<int>(model::DetailTable::kSteps)}};
  selection.tracks.emplace();

  for (IndexEntry const& entry : blocks())
    if (has_type(entry, BlockType::kEvents) &&
        (entry.header.kinds >> static_cast<int>(model::EventKind::kStep) & 1) != 0)
      selection.tracks->push_back(model::TrackId{entry.header.track});

  auto const trace = read(selection);
  if (!trace) return base::fail_with(trace);
  return steps_of(*trace);
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

/// Blocks. A place between blocks that only a scan passes over counts as one; the end of a killed
/// program's file does not.
uint64_t TraceFile::State::lost_while_opening() const {
  uint64_t lost = lost_descriptions + lost_tracks;
  for (DamagedPlace const& place : list.damage)
    if (!list.indexed && !place.is_end && !place.is_derived) ++lost;
  return lost;
}

model::ImportLog TraceFile::State::log_of(uint64_t lost_blocks, uint64_t unknown_events,
                                          uint64_t unknown_names) const {
  model::ImportLog log = description.log;
  log.truncated = !list.finished;
  log.lost_blocks += lost_blocks;
  log.unknown_events += unknown_events;

  if (log.truncated)
    log.notes.emplace_back(
        "the file has no end: the program was killed, is still running, or the file was cut; "
        "everything written until then is here");
  if (lost_blocks > 0)
    log.notes.push_back(base::count_sentence(lost_blocks, "damaged blocks were left out"));
  if (unknown_names > 0)
    log.notes.push_back(base::count_sentence(unknown_names, "events have lost their names"));

  return log;
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

Expected<model::Trace> TraceFile::read(Selection const& selection, uint64_t max_events) const {
  std::vector<IndexEntry> const blocks = state_->select(selection);
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

/// Events, summaries, steps: decoded; of blocks of other types the checksum is what can be checked
/// here.
bool TraceFile::State::is_sound(IndexEntry const& entry, EventDecoder& decoder) const {
  switch (static_cast<BlockType>(entry.header.type)) {
    case BlockType::kEvents: {
      DecodedBlock decoded;
      if (entry.header.track < tracks.size()) decode(entry, {}, {}, decoder, decoded);
      return entry.header.track < tracks.size() && !decoded.damaged;
    }
    case BlockType::kSummary:
      return stored_summary(entry).has_value();
    case BlockType::kSteps:
      return stored_steps(entry).has_value();
    default:
      return block_at(bytes, entry.offset).has_value();
  }
}

std::vector<DamagedPlace> TraceFile::find_damage() const {
  std::vector<DamagedPlace> damage = state_->list.damage;
  static_cast<void>(texts());  // loads them
  damage.insert(damage.end(), state_->damaged_strings.begin(), state_->damaged_strings.end());
  if (!is_sound_file_header(state_->bytes)) damage.push_back({0, kFileHeaderSize, {}, false, true});

  auto const& blocks = state_->list.blocks;
  std::vector<uint8_t> damaged(blocks.size());
  tbb::enumerable_thread_specific<EventDecoder> decoders;
  tbb::parallel_for(size_t{0}, blocks.size(), [&](size_t i) {
    damaged[i] = is_text(blocks[i]) || state_->is_sound(blocks[i], decoders.local()) ? 0 : 1;
  });

  for (size_t i = 0; i < blocks.size(); ++i)
    if (damaged[i] != 0) damage.push_back(damaged_block(blocks[i]));

  if (state_->list.indexed) {
    auto const unclaimed = unclaimed_places(state_->bytes, blocks);
    damage.insert(damage.end(), unclaimed.begin(), unclaimed.end());
  }

  std::sort(damage.begin(), damage.end(),
            [](DamagedPlace const& a, DamagedPlace const& b) { return a.offset < b.offset; });
  return damage;
}

}  // namespace stepscope::file
