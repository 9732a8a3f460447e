// An open .stepscope file. Its index and description alone tell what is in it. Events are decoded
// on demand, many blocks at once: only the wanted tracks, time and columns. The bytes are
// untrusted: every length is checked, damaged blocks are left out and counted. A file without an
// index (killed process) is scanned block by block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"
#include "trace/file/block_list.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/codec/summary_codec.h"
#include "trace/model/trace.h"

namespace stepscope::file {

/// Half-open, in trace time.
struct TimeWindow {
  int64_t begin = INT64_MIN, end = INT64_MAX;
  [[nodiscard]] bool is_everything() const { return begin == INT64_MIN && end == INT64_MAX; }
};

/// The bit of a kind in BlockHeader::kinds and Selection::before.
constexpr uint64_t kind_bit(model::EventKind kind) { return uint64_t{1} << static_cast<int>(kind); }

/// What is read of a file.
struct Selection {
  TimeWindow window;    ///< events that overlap it, uncut
  uint64_t before = 0;  ///< kinds whose events before the window are read too
  std::optional<std::vector<model::TrackId>> tracks;  ///< these; nothing = all
  ColumnSelection columns;
};

/// How many events the machine's memory holds at once (a damaged or hostile file may claim any
/// number).
uint64_t events_that_fit();

/// Whether the calls of communication libraries in a file still have to be merged with their
/// kernels (collective_merge.h).
enum class Calls : uint8_t {
  kToMerge,  ///< as recorders write them; merging what was merged already changes nothing of a
             ///< sound trace
  kMerged,   ///< as write_trace() left them, of a trace of this process: also what a damaged trace
             ///< shows stays as it is
};

/// Immutable; may be read from several threads.
class TraceFile {
 public:
  /// Errors: the file cannot be read, is no .stepscope file, or one of a newer version.
  static base::Expected<TraceFile> open(std::string const& path, Calls calls = Calls::kToMerge);
  /// The same of bytes that outlive the file; `name` is used in messages.
  static base::Expected<TraceFile> open(base::ByteSpan bytes, std::string const& name);

  TraceFile(TraceFile&&) noexcept;
  TraceFile& operator=(TraceFile&&) noexcept;
  ~TraceFile();

  [[nodiscard]] uint64_t size_bytes() const;
  /// Lets the system take the memory of what was read (base::MappedFile::release_pages()).
  void release_pages() const;
  [[nodiscard]] model::TraceInfo const& info() const;
  [[nodiscard]] std::span<model::Device const> devices() const;
  [[nodiscard]] std::span<model::Track const> tracks() const;
  /// What the recorder said that it lost, and what a trace that this one was made of had lost
  /// before. Reading may find more.
  [[nodiscard]] model::ImportLog const& log() const;
  /// Rows of event blocks; what unreadable blocks hold is in it when there is an index.
  [[nodiscard]] uint64_t event_count() const;
  /// First start and last end over all event blocks; {0, 0} when there are none.
  [[nodiscard]] TimeWindow time_range() const;
  /// Every block, in the order of the file.
  [[nodiscard]] std::span<IndexEntry const> blocks() const;
  /// False: the program was killed or is still running, or the file was cut in what was recorded.
  [[nodiscard]] bool is_finished() const;
  /// What is known to be lost without reading events.
  [[nodiscard]] model::ImportLog known_losses() const;
  /// What opening found unreadable; find_damage() looks at everything.
  [[nodiscard]] std::span<DamagedPlace const> damage() const;

  /// The file's texts by id; empty where one is not known. Loaded when first asked for.
  [[nodiscard]] std::span<std::string_view const> texts() const;
  /// Whether the file holds summaries and steps, or they have to be made from its events.
  [[nodiscard]] bool has_summaries() const;
  /// The track at reduced detail, from the file's summary or, without one, from its events. Names
  /// are ids of texts(). Errors: as in read().
  [[nodiscard]] base::Expected<model::TrackSummary> summary(model::TrackId track) const;
  /// Where the steps are, by track and start; from the file's own list or from its events. Errors:
  /// those of read().
  [[nodiscard]] base::Expected<std::vector<StepSpan>> steps() const;

  /// The selected events with all tracks, devices and what is known of the process. Errors: more
  /// events than `max_events`; the file became shorter since it was opened, and some of them are
  /// gone.
  [[nodiscard]] base::Expected<model::Trace> read(Selection const& selection = {},
                                                  uint64_t max_events = events_that_fit()) const;
  /// All events of these kinds (kind_bit) and the launches of the device ops among them, nothing
  /// else. They are not nested, and the log counts only what these rows show. Returns nothing where
  /// a block that may hold them is damaged or collective calls must be merged with kernels. The
  /// same where all events would not fit into memory; read() then knows what to do.
  [[nodiscard]] std::optional<model::Trace> read_kinds(uint64_t kinds) const;
  /// Decodes one event block, for callers that look at every event once and keep few. No nesting,
  /// no links; names are ids of texts(), rows in the order of the file. `out` is replaced. False
  /// when damaged.
  [[nodiscard]] bool decode_block(IndexEntry const& entry, ColumnSelection const& columns,
                                  EventDecoder& decoder, model::EventBatch& out) const;
  /// Marks each row of an event block whose name is wanted. It decodes no other column: the block's
  /// dictionary says what is in it. The ids of texts() index `wanted`; its last entry is for all
  /// other ids. Returns how many rows are marked; with 0, `marks` is meaningless. Returns nothing
  /// when damaged.
  [[nodiscard]] std::optional<size_t> mark_names(IndexEntry const& entry,
                                                 std::span<char const> wanted,
                                                 EventDecoder& decoder,
                                                 std::vector<uint8_t>& marks) const;
  /// Checks every byte and decodes every block.
  [[nodiscard]] std::vector<DamagedPlace> find_damage() const;

 private:
  struct State;
  [[nodiscard]] IndexEntry const* find_block(BlockType type, uint32_t track) const;
  explicit TraceFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepscope::file
