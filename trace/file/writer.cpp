#include "trace/file/writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "trace/base/check.h"
#include "trace/file/description.h"

namespace stepscope::file {
namespace {

using base::Expected;
using base::fail;
using model::EventBatch;

/// What an event block's header says of its rows.
BlockHeader header_of(model::TrackId track, model::EventView const& events) {
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kEvents);
  header.track = track.value;
  header.rows = static_cast<uint32_t>(events.size());
  header.min_start = header.max_end = events.start.front();

  for (size_t i = 0; i < events.size(); ++i) {
    int64_t end = 0;
    if (__builtin_add_overflow(events.start[i], std::max<int64_t>(events.dur[i], 0), &end))
      end = INT64_MAX;
    header.max_end = std::max(header.max_end, end);
    header.kinds |= uint64_t{1} << static_cast<uint8_t>(events.kind[i]);
  }

  return header;
}

}  // namespace

Expected<TraceWriter> TraceWriter::create(std::string const& path,
                                          base::BlockMemory const& memory) {
  int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

  if (fd < 0) {
    if (errno == EEXIST)
      return fail("{}: exists already, choose another name with -o or overwrite with --force",
                  path);
    return fail("{}: cannot create ({}), choose another place with -o", path, std::strerror(errno));
  }

  TraceWriter writer(memory);
  writer.path_ = path;
  writer.fd_ = fd;

  base::ByteWriter header;
  header.put_bytes(std::as_bytes(std::span(kFileMagic)));
  header.put(kFormatVersion);
  header.put(static_cast<uint32_t>(kFileHeaderSize));
  while (header.size() < kFileHeaderSize) header.put(uint8_t{0});

  auto const written = writer.write_raw(header.span());
  if (written) return writer;
  ::unlink(path.c_str());  // it is ours, and empty
  return base::fail_with(written);
}

Expected<TraceWriter> TraceWriter::append_to(std::string const& path,
                                             std::vector<IndexEntry> blocks) {
  int const fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  off_t const size = fd < 0 ? -1 : ::lseek(fd, 0, SEEK_END);

  if (size < 0) {
    int const reason = errno;
    if (fd >= 0) ::close(fd);
    return fail("{}: cannot write ({}), check its permissions", path, std::strerror(reason));
  }

  TraceWriter writer;
  writer.path_ = path;
  writer.fd_ = fd;
  writer.offset_ = static_cast<uint64_t>(size);
  writer.appended_at_ = writer.offset_;

  writer.index_ = std::move(blocks);
  for (IndexEntry const& entry : writer.index_) writer.claims_.add(entry.header);
  return writer;
}

TraceWriter TraceWriter::to(BlockSink& sink, base::BlockMemory const& memory) {
  TraceWriter writer(memory);
  writer.sink_ = &sink;
  return writer;
}

TraceWriter::TraceWriter(TraceWriter&& other) noexcept { *this = std::move(other); }

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(failure_, other.failure_);
  std::swap(fd_, other.fd_);
  std::swap(sink_, other.sink_);
  std::swap(offset_, other.offset_);

  std::swap(appended_at_, other.appended_at_);
  std::swap(index_, other.index_);
  std::swap(claims_, other.claims_);
  std::swap(block_, other.block_);

  std::swap(encoder_, other.encoder_);
  std::swap(columns_, other.columns_);
  std::swap(compressor_, other.compressor_);
  return *this;
}

TraceWriter::~TraceWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Expected<void> TraceWriter::write_strings(uint32_t first_id,
                                          std::span<std::string_view const> texts) {
  while (!texts.empty()) {
    size_t count = 0;
    size_t bytes = 0;

    // Half the limit leaves room for the lengths.
    while (count < texts.size() &&
           (count == 0 || bytes + texts[count].size() + 4 < kMaxPayloadBytes / 2))
      bytes += texts[count++].size() + 4;
    if (bytes >= kMaxPayloadBytes)
      return fail("{}: a name of {} bytes is too long for a trace file, shorten it", path_, bytes);

    base::ByteWriter payload;
    payload.put(first_id);
    payload.put(static_cast<uint32_t>(count));
    for (std::string_view const text : texts.first(count))
      payload.put(static_cast<uint32_t>(text.size()));
    for (std::string_view const text : texts.first(count))
      payload.put_bytes(std::as_bytes(std::span(text)));

    if (auto const written = write_text_block(BlockType::kStrings, payload.span()); !written)
      return written;
    texts = texts.subspan(count);
    first_id += static_cast<uint32_t>(count);
  }
  return {};
}

Expected<void> TraceWriter::write_description(model::TraceInfo const& info,
                                              std::span<model::Device const> devices,
                                              model::ImportLog const& log) {
  std::string const json = encode_description(info, devices, log);
  return write_text_block(BlockType::kDescription, std::as_bytes(std::span(json)));
}

Expected<void> TraceWriter::write_tracks(model::TrackId first,
                                         std::span<model::Track const> tracks) {
  std::string const json = encode_tracks(first.value, tracks);
  claims_.add_tracks(first.value + tracks.size());
  return write_text_block(BlockType::kTracks, std::as_bytes(std::span(json)));
}

Expected<void> TraceWriter::write_events(model::TrackId track, EventBatch const& batch) {
  if (batch.is_sorted()) return write_sorted_events(track, model::EventView(batch));
  EventBatch const sorted = model::sorted_copy(batch);
  return write_sorted_events(track, model::EventView(sorted));
}

Expected<void> TraceWriter::write_sorted_events(model::TrackId track, model::EventView events) {
  while (!events.empty()) {
    model::EventView const rows = events.take_front(std::min(kMaxBlockRows, events.size()));
    begin_block();
    encoder_.encode(rows, block_);
    if (auto const written = write_block(header_of(track, rows)); !written) return written;
  }
  return {};
}

Expected<void> TraceWriter::write_encoded(BlockHeader const& header, base::ByteSpan payload) {
  begin_block();
  block_.put_bytes(payload);
  return write_block(header);
}

Expected<void> TraceWriter::write_summary(model::TrackId track,
                                          model::TrackSummary const& summary) {
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kSummary);
  header.track = track.value;
  header.rows = static_cast<uint32_t>(summary.size());
  header.min_start = summary.size() > 0 ? summary.begin.front() : 0;
  header.max_end = summary.end;

  begin_block();
  encode_summary(summary, columns_, block_);
  return write_block(header);
}

Expected<void> TraceWriter::write_steps(std::vector<StepSpan> const& steps) {
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kSteps);
  header.rows = static_cast<uint32_t>(steps.size());
  begin_block();
  encode_steps(steps, columns_, block_);
  return write_block(header);
}

Expected<void> TraceWriter::finish() {
  if (sink_ != nullptr) return {};
  uint64_t const index_offset = offset_;
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kIndex);
  header.rows = static_cast<uint32_t>(index_.size());
  begin_block();
  encode_index(index_, columns_, block_);
  if (auto const written = write_block(header); !written) return written;

  base::ByteWriter const end = encode_end(index_offset);
  if (auto const written = write_raw(end.span()); !written) return written;

  int const fd = std::exchange(fd_, -1);
  if (::close(fd) != 0)
    return fail("{}: cannot write ({}), free disk space", path_, std::strerror(errno));
  failure_ = "finished";
  return {};
}

Expected<void> TraceWriter::write_text_block(BlockType type, base::ByteSpan payload) {
  BlockHeader header;
  header.type = static_cast<uint16_t>(type);
  header.raw_size = static_cast<uint32_t>(payload.size());
  if (payload.size() > kMaxPayloadBytes)
    return fail("{}: a block of {} bytes passes the format's limit", path_, payload.size());
  begin_block();
  header.compressed = compressor_.compress(payload, block_) > 0 ? 1 : 0;
  if (header.compressed == 0) block_.put_bytes(payload);
  return write_block(header);
}

/// Room for the header, which is known when the payload behind it is.
void TraceWriter::begin_block() {
  block_.clear();
  block_.grow(kBlockHeaderSize);
}

/// Completes the header of the block in block_ and writes it, and what readers need to believe it.
Expected<void> TraceWriter::write_block(BlockHeader header) {
  if (auto const written = write_unpadded(header); !written) return written;
  if (sink_ != nullptr) return {};
  claims_.add(index_.back().header);
  return pad();
}

Expected<void> TraceWriter::pad() {
  BlockHeader header;
  header.type = static_cast<uint16_t>(BlockType::kPadding);
  for (uint64_t const least = claims_.least_file_bytes(); offset_ < least;) {
    begin_block();
    block_.grow(std::min<uint64_t>(least - offset_, kMaxPayloadBytes));
    if (auto const written = write_unpadded(header); !written) return written;
  }
  return {};
}

Expected<void> TraceWriter::write_unpadded(BlockHeader header) {
  base::ByteSpan const payload = block_.span().subspan(kBlockHeaderSize);

  if (payload.size() > kMaxPayloadBytes)
    return fail("{}: a block of {} bytes passes the format's limit", path_, payload.size());

  header.stored_size = static_cast<uint32_t>(payload.size());
  if (header.compressed == 0) header.raw_size = header.stored_size;
  if (sink_ != nullptr) return sink_->add(header, payload);
  block_.patch_bytes(0, encode_block_header(header, payload).span());

  IndexEntry const entry{offset_, block_.size(), header};
  if (auto const written = write_raw(block_.span()); !written) return written;
  index_.push_back(entry);
  return {};
}

Expected<void> TraceWriter::write_raw(base::ByteSpan bytes) {
  if (!failure_.empty()) return fail("{}", failure_);

  uint64_t const begin = offset_;
  while (!bytes.empty()) {
    ssize_t const written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;

    if (written < 0) {
      failure_ = fmt::format("{}: cannot write ({}), free disk space", path_, std::strerror(errno));
      // Removes the partial block, so that the file ends after a whole one. If even this fails,
      // readers skip the rest.
      [[maybe_unused]] int const ignored =
          ::ftruncate(fd_, static_cast<off_t>(appended_at_.value_or(begin)));
      return fail("{}", failure_);
    }

    offset_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace stepscope::file
