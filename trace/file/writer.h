// Writes a .stepscope file: append-only blocks of one track each, strings and descriptions as they
// become known, an index at the end. A file cut anywhere keeps every block written before
// (docs/reference/TRACE_FORMAT.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"
#include "trace/file/claims.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/codec/summary_codec.h"
#include "trace/file/index.h"
#include "trace/model/event_view.h"
#include "trace/model/trace.h"

namespace stepscope::file {

/// Where blocks go that are not for a file yet.
class BlockSink {
 public:
  BlockSink() = default;
  BlockSink(BlockSink const&) = delete;
  BlockSink& operator=(BlockSink const&) = delete;
  virtual ~BlockSink() = default;

  /// A whole block as a file would have it, its header complete; `payload` is only there during the
  /// call. Errors: as a write to a file.
  virtual base::Expected<void> add(BlockHeader const& header, base::ByteSpan payload) = 0;
};

/// Not thread-safe. After the first failed write (disk full, file gone) every further call returns
/// that error and writes nothing: what is in the file stays readable.
class TraceWriter {
 public:
  /// Creates `path`, which must not exist, as a link neither, with the permissions that the umask
  /// leaves. `memory`: for encoding; must outlive the writer. Errors: it exists, or the folder
  /// cannot be written.
  static base::Expected<TraceWriter> create(std::string const& path,
                                            base::BlockMemory const& memory = base::kHeapBlocks);

  /// Goes on behind a finished file with these blocks: for what is only known in the end. finish()
  /// writes a new index. When a write fails the file is made what it was. A link is refused.
  static base::Expected<TraceWriter> append_to(std::string const& path,
                                               std::vector<IndexEntry> blocks);

  /// Makes no file: blocks go to `sink`, which must outlive the writer; finish() gives it no index.
  static TraceWriter to(BlockSink& sink, base::BlockMemory const& memory = base::kHeapBlocks);

  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  TraceWriter(TraceWriter const&) = delete;
  TraceWriter& operator=(TraceWriter const&) = delete;
  ~TraceWriter();  ///< closes without a footer unless finish() was called

  /// Texts get the ids first_id, first_id + 1, …; call before the first block that uses them. Id 0
  /// is the empty text, never written.
  base::Expected<void> write_strings(uint32_t first_id, std::span<std::string_view const> texts);
  /// All that is known of the process and its devices; write again when it changes: the last one
  /// counts.
  base::Expected<void> write_description(model::TraceInfo const& info,
                                         std::span<model::Device const> devices,
                                         model::ImportLog const& log);
  /// What is known of the tracks first, first + 1, …; write one again when it changes: the last one
  /// counts.
  base::Expected<void> write_tracks(model::TrackId first, std::span<model::Track const> tracks);
  /// Events of one track, any order (they are sorted here when they are not); more than
  /// kMaxBlockRows become several blocks.
  base::Expected<void> write_events(model::TrackId track, model::EventBatch const& batch);
  /// The same of events that are sorted by (start, −dur).
  base::Expected<void> write_sorted_events(model::TrackId track, model::EventView events);
  /// A block that another writer gave its sink.
  base::Expected<void> write_encoded(BlockHeader const& header, base::ByteSpan payload);
  /// Writes the track's summary, once a track, after its last events.
  base::Expected<void> write_summary(model::TrackId track, model::TrackSummary const& summary);
  /// Where the steps are; once a file.
  base::Expected<void> write_steps(std::vector<StepSpan> const& steps);
  /// The index; after it nothing may be written.
  base::Expected<void> finish();

  [[nodiscard]] uint64_t bytes_written() const { return offset_; }

 private:
  explicit TraceWriter(base::BlockMemory const& memory = base::kHeapBlocks)
      : encoder_(memory), columns_(memory) {}
  void begin_block();
  base::Expected<void> write_block(BlockHeader header);
  base::Expected<void> write_unpadded(BlockHeader header);
  base::Expected<void> pad();
  base::Expected<void> write_text_block(BlockType type, base::ByteSpan payload);
  base::Expected<void> write_raw(base::ByteSpan bytes);

  std::string path_;
  std::string failure_;
  int fd_ = -1;
  BlockSink* sink_ = nullptr;  ///< instead of a file
  uint64_t offset_ = 0;
  std::optional<uint64_t>
      appended_at_;  ///< size of the finished file behind which this writer goes on
  std::vector<IndexEntry> index_;
  Claims claims_;
  base::ByteWriter block_;  ///< the block being made: room for its header, then its payload
  EventEncoder encoder_;
  ColumnEncoder columns_;
  Compressor compressor_{kNotWorthAContext};
};

/// Writes a whole trace, summaries included, to a new file.
base::Expected<void> write_trace(model::Trace const& trace, std::string const& path);

}  // namespace stepscope::file
