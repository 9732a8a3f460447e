#include "trace/file/trace_file.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/format.h"
#include "trace/file/claims.h"
#include "trace/file/codec/compression.h"
#include "trace/file/reader.h"
#include "trace/file/summaries.h"
#include "trace/file/trace_file_state.h"

namespace stepscope::file {
namespace {

using base::ByteSpan;
using base::Expected;
using base::fail;

/// Bits of BlockHeader::kinds that only streams have.
constexpr uint64_t kDeviceKinds =
    kind_bit(model::EventKind::kKernel) | kind_bit(model::EventKind::kMemcpy) |
    kind_bit(model::EventKind::kMemset) | kind_bit(model::EventKind::kCollective);

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

}  // namespace

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
void TraceFile::release_pages() const { state_->mapped.release_pages(); }
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
