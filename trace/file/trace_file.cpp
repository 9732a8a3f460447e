#include "trace/file/trace_file.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <unistd.h>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/mapped_file.h"
#include "trace/file/compression.h"
#include "trace/file/description.h"
#include "trace/file/format.h"
#include "trace/file/reader.h"
#include "trace/file/summaries.h"
#include "trace/model/trace_builder.h"

namespace stepscope::file {
namespace {

using base::ByteSpan;
using base::Expected;
using base::fail;

/// Bits of BlockHeader::kinds that only streams have.
constexpr uint64_t kDeviceKinds = (uint64_t{1} << static_cast<int>(model::EventKind::kKernel)) |
                                  (uint64_t{1} << static_cast<int>(model::EventKind::kMemcpy)) |
                                  (uint64_t{1} << static_cast<int>(model::EventKind::kMemset)) |
                                  (uint64_t{1} << static_cast<int>(model::EventKind::kCollective));

bool has_type(IndexEntry const& entry, BlockType type) { return entry.header.type == static_cast<uint16_t>(type); }

/// A text block's payload as it was before compression; nothing when it is damaged.
std::optional<std::vector<std::byte>> text_of(ByteSpan bytes, IndexEntry const& entry) {
  auto const block = block_at(bytes, entry.offset);
  if (!block || block->header.type != entry.header.type) return std::nullopt;
  if (block->header.compressed == 1) return Decompressor().decompress(block->payload, block->header.raw_size);
  if (block->header.compressed != 0 || block->payload.size() != block->header.raw_size) return std::nullopt;
  return std::vector<std::byte>(block->payload.begin(), block->payload.end());
}

DamagedPlace damaged_block(IndexEntry const& entry, std::string what) { return {entry.offset, entry.size, std::move(what)}; }

/// The texts of a file by their ids.
class FileStrings {
 public:
  /// False when the payload is damaged. Views point into it.
  bool add(std::vector<std::byte> payload) {
    payloads_.push_back(std::move(payload));
    base::ByteReader in(payloads_.back());
    auto const first = in.get<uint32_t>();
    auto const count = in.get<uint32_t>();
    base::ByteReader lengths(in.get_bytes(size_t{count} * sizeof(uint32_t)));
    // Ids are given out one after the other. After a lost block some stay unknown; a gap that no program's names fill is damage.
    constexpr size_t kMaxGap = 1U << 22;
    if (!in.ok() || first > texts_.size() + kMaxGap) return false;
    if (texts_.size() < size_t{first} + count) texts_.resize(size_t{first} + count);
    for (uint32_t i = 0; i < count; ++i) {
      ByteSpan const text = in.get_bytes(lengths.get<uint32_t>());
      if (!in.ok()) return false;
      texts_[first + i] = {reinterpret_cast<char const*>(text.data()), text.size()};
    }
    return true;
  }
  [[nodiscard]] std::span<std::string_view const> texts() const { return texts_; }

 private:
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<std::string_view> texts_;  ///< data() is null where the text is not known
};

/// Id in the file → id in a trace; invalid where the text is not known.
std::vector<model::StringId> intern_all(std::span<std::string_view const> texts, model::TraceBuilder& builder) {
  std::vector<model::StringId> ids(texts.size());
  for (size_t id = 0; id < texts.size(); ++id)
    if (texts[id].data() != nullptr) ids[id] = builder.intern(texts[id]);
  return ids;
}

/// Replaces the file's ids; returns how many names are not known.
uint64_t translate(std::span<model::StringId const> ids, std::vector<model::StringId>& names) {
  uint64_t unknown = 0;
  for (model::StringId& name : names) {
    bool const known = name.value < ids.size() && ids[name.value].valid();
    if (!known && name.value != 0) ++unknown;
    name = known ? ids[name.value] : model::StringId{0};
  }
  return unknown;
}

/// Keeps the rows of which any part lies in the window.
void keep_window(model::EventBatch& batch, TimeWindow window) {
  auto const inside = [&](size_t row) {
    int64_t const start = batch.start[row];
    if (start >= window.begin) return start < window.end;
    // The distance in 64 unsigned bits: a damaged file's times must not overflow.
    return batch.dur[row] > 0 &&
           static_cast<uint64_t>(batch.dur[row]) > static_cast<uint64_t>(window.begin) - static_cast<uint64_t>(start);
  };
  std::vector<uint32_t> const details = batch.detail_rows();
  model::EventBatch kept;
  for (size_t row = 0; row < batch.size(); ++row) {
    if (!inside(row)) continue;
    kept.start.push_back(batch.start[row]);
    kept.dur.push_back(batch.dur[row]);
    kept.name.push_back(batch.name[row]);
    kept.kind.push_back(batch.kind[row]);
    kept.correlation.push_back(batch.correlation[row]);
    model::copy_detail(batch.details, model::kind_info(batch.kind[row]).table, details[row], kept.details);
  }
  batch = std::move(kept);
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
  return std::min<uint64_t>(pages * page_bytes / kBytesAnEvent, UINT32_MAX - 1);  // row numbers have 32 bits
}

struct TraceFile::State {
  std::string name;
  base::MappedFile mapped;  ///< empty when the bytes are somebody else's
  ByteSpan bytes;
  BlockList list;
  Description description;
  std::vector<model::Track> tracks;
  uint64_t lost_descriptions = 0;
  mutable std::once_flag strings_loaded;
  mutable FileStrings strings;
  mutable std::vector<DamagedPlace> damaged_strings;

  void load_descriptions();
  void load_strings() const;
  void add_missing_tracks();
  [[nodiscard]] std::vector<IndexEntry> select(Selection const& selection) const;
  void decode(IndexEntry const& entry, Selection const& selection, std::span<model::StringId const> ids, EventDecoder& decoder,
              DecodedBlock& out) const;
  [[nodiscard]] model::ImportLog log_of(uint64_t lost_blocks, uint64_t unknown_events, uint64_t unknown_names) const;
};

TraceFile::TraceFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceFile::TraceFile(TraceFile&&) noexcept = default;
TraceFile& TraceFile::operator=(TraceFile&&) noexcept = default;
TraceFile::~TraceFile() = default;

Expected<TraceFile> TraceFile::open(std::string const& path) {
  auto mapped = base::MappedFile::open(path);
  if (!mapped) return base::fail_with(mapped);
  auto file = open(mapped->bytes(), path);
  if (file) file->state_->mapped = std::move(*mapped);
  return file;
}

Expected<TraceFile> TraceFile::open(ByteSpan bytes, std::string const& name) {
  if (bytes.empty()) return fail("{}: is empty, record the run again", name);
  if (!is_stepscope_file(bytes)) return fail("{}: is not a .stepscope file, name a trace that stepscope recorded", name);
  base::ByteReader in(bytes.subspan(kFileMagic.size()));
  auto const version = in.get<uint32_t>();
  if (!in.ok()) return fail("{}: is cut after {} bytes, record the run again", name, bytes.size());
  if (version == 0 || version > kFormatVersion)
    return fail("{}: has format version {}, this program reads up to {}, update stepscope", name, version, kFormatVersion);
  auto state = std::make_unique<State>();
  state->name = name;
  state->bytes = bytes;
  state->list = find_blocks(bytes);
  state->load_descriptions();
  state->add_missing_tracks();
  return TraceFile(std::move(state));
}

/// Descriptions and tracks; one written later knows more.
void TraceFile::State::load_descriptions() {
  for (IndexEntry const& entry : list.blocks) {
    bool const is_tracks = has_type(entry, BlockType::kTracks);
    if (!is_tracks && !has_type(entry, BlockType::kDescription)) continue;
    auto const text = text_of(bytes, entry);
    Description next;
    bool const good = text && (is_tracks ? decode_tracks(*text, kMaxTracks, tracks) : decode_description(*text, next));
    if (!good) {
      list.damage.push_back(damaged_block(entry, is_tracks ? "a block of track descriptions" : "a description of the process"));
      ++lost_descriptions;
    } else if (!is_tracks) {
      description = std::move(next);
    }
  }
  // Lost: what this version writes is the best guess.
  if (description.columns.base.empty()) description.columns = current_columns();
}

/// Events are worth more than the name of their track: where the description was lost, a track without a name takes them.
void TraceFile::State::add_missing_tracks() {
  for (IndexEntry const& entry : list.blocks) {
    if (!has_type(entry, BlockType::kEvents) || entry.header.track >= kMaxTracks) continue;
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
bool TraceFile::has_index() const { return state_->list.indexed; }
std::span<DamagedPlace const> TraceFile::damage() const { return state_->list.damage; }

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
    auto text = text_of(bytes, entry);
    if (!text || !strings.add(std::move(*text))) damaged_strings.push_back(damaged_block(entry, "a block of names"));
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

Expected<model::TrackSummary> TraceFile::summary(model::TrackId track) const {
  uint64_t events = 0;
  for (IndexEntry const& entry : blocks())
    if (has_type(entry, BlockType::kEvents) && entry.header.track == track.value)
      events += std::min<uint64_t>(entry.header.rows, kMaxBlockRows);
  if (IndexEntry const* const entry = find_block(BlockType::kSummary, track.value)) {
    auto const block = block_at(state_->bytes, entry->offset);
    model::TrackSummary summary;
    if (block && block->header.rows <= max_bins(events) &&
        decode_summary(block->payload, block->header.rows, block->header.max_end, summary))
      return summary;
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
    auto const block = block_at(state_->bytes, entry->offset);
    std::vector<StepSpan> steps;
    if (block && decode_steps(block->payload, block->header.rows, steps)) return steps;
  }
  // Only tracks with steps, and of those only what tells a step.
  Selection selection{
      .columns = {.name = false, .correlation = false, .tables = 1U << static_cast<int>(model::DetailTable::kSteps)}};
  selection.tracks.emplace();
  for (IndexEntry const& entry : blocks())
    if (has_type(entry, BlockType::kEvents) && (entry.header.kinds >> static_cast<int>(model::EventKind::kStep) & 1) != 0)
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
    if (!has_type(entry, BlockType::kEvents) || entry.header.track >= tracks.size() || !wanted[entry.header.track]) continue;
    if (entry.header.min_start < selection.window.end && entry.header.max_end >= selection.window.begin) blocks.push_back(entry);
  }
  return blocks;
}

void TraceFile::State::decode(IndexEntry const& entry, Selection const& selection, std::span<model::StringId const> ids,
                              EventDecoder& decoder, DecodedBlock& out) const {
  auto const block = block_at(bytes, entry.offset);
  if (!block || block->header.compressed != 0 || block->header.track != entry.header.track ||
      block->header.rows != entry.header.rows ||
      !decoder.decode(block->payload, block->header.rows, description.columns, selection.columns, out.events,
                      out.unknown_events)) {
    out.events.clear();
    out.damaged = true;
    return;
  }
  if (!selection.window.is_everything()) keep_window(out.events, selection.window);
  out.unknown_names = translate(ids, out.events.name);
}

model::ImportLog TraceFile::State::log_of(uint64_t lost_blocks, uint64_t unknown_events, uint64_t unknown_names) const {
  model::ImportLog log = description.log;
  log.truncated = !list.indexed;
  log.lost_blocks += lost_blocks;
  log.unknown_events += unknown_events;
  if (log.truncated)
    log.notes.emplace_back(
        "the file has no end: the program was killed, is still running, or the file was cut; everything written until then is "
        "here");
  if (lost_blocks > 0) log.notes.push_back(fmt::format("{} damaged blocks were left out", lost_blocks));
  if (unknown_names > 0) log.notes.push_back(fmt::format("{} events have lost their names", unknown_names));
  return log;
}

Expected<model::Trace> TraceFile::read(Selection const& selection, uint64_t max_events) const {
  std::vector<IndexEntry> const blocks = state_->select(selection);
  uint64_t rows = 0;
  for (IndexEntry const& entry : blocks) rows += entry.header.rows;
  if (rows > max_events)
    return fail("{}: {} events are more than the {} that fit into memory, take a part with stepscope slice --steps or --time",
                state_->name, rows, max_events);

  model::TraceBuilder builder;
  auto const ids = intern_all(texts(), builder);
  uint64_t lost = state_->lost_descriptions + state_->damaged_strings.size();
  for (model::Track const& track : state_->tracks) builder.add_track(track);
  for (model::Device const& device : state_->description.devices) builder.add_device(device);

  std::vector<DecodedBlock> decoded(blocks.size());
  tbb::enumerable_thread_specific<EventDecoder> decoders;
  tbb::parallel_for(size_t{0}, blocks.size(),
                    [&](size_t i) { state_->decode(blocks[i], selection, ids, decoders.local(), decoded[i]); });

  // A place between blocks that only a scan passes over counts as one lost block; the end of a killed program's file does not.
  for (DamagedPlace const& place : state_->list.damage)
    if (!state_->list.indexed && !place.is_end) ++lost;
  uint64_t unknown_events = 0;
  uint64_t unknown_names = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    lost += decoded[i].damaged ? 1 : 0;
    unknown_events += decoded[i].unknown_events;
    unknown_names += decoded[i].unknown_names;
    builder.append(model::TrackId{blocks[i].header.track}, std::exchange(decoded[i].events, {}));
  }
  builder.info() = state_->description.info;
  builder.log() = state_->log_of(lost, unknown_events, unknown_names);
  return std::move(builder).finish();
}

std::vector<DamagedPlace> TraceFile::find_damage() const {
  std::vector<DamagedPlace> damage = state_->list.damage;
  static_cast<void>(texts());  // loads them
  damage.insert(damage.end(), state_->damaged_strings.begin(), state_->damaged_strings.end());
  auto const& blocks = state_->list.blocks;
  std::vector<uint8_t> damaged(blocks.size());
  tbb::enumerable_thread_specific<EventDecoder> decoders;
  tbb::parallel_for(size_t{0}, blocks.size(), [&](size_t i) {
    if (!has_type(blocks[i], BlockType::kEvents)) return;
    DecodedBlock decoded;
    decoded.damaged = blocks[i].header.track >= state_->tracks.size();
    if (!decoded.damaged) state_->decode(blocks[i], {}, {}, decoders.local(), decoded);
    damaged[i] = decoded.damaged ? 1 : 0;
  });
  for (size_t i = 0; i < blocks.size(); ++i)
    if (damaged[i] != 0)
      damage.push_back(
          damaged_block(blocks[i], fmt::format("{} events of track {}", blocks[i].header.rows, blocks[i].header.track)));
  std::sort(damage.begin(), damage.end(), [](DamagedPlace const& a, DamagedPlace const& b) { return a.offset < b.offset; });
  return damage;
}

}  // namespace stepscope::file
