#include "trace/file/writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <xxhash.h>

#include "trace/base/check.h"
#include "trace/file/compression.h"
#include "trace/file/description.h"
#include "trace/file/event_codec.h"
#include "trace/file/format.h"

namespace stepscope::file {
namespace {

using base::Expected;
using base::fail;
using model::EventBatch;

/// Rows first..last of `batch`, sorted by (start, −dur), details along with them.
EventBatch sorted_slice(EventBatch const& batch, std::vector<uint32_t> const& order, std::vector<uint32_t> const& detail_row,
                        size_t first, size_t last) {
  EventBatch out;
  for (size_t i = first; i < last; ++i) {
    uint32_t const row = order[i];
    out.start.push_back(batch.start[row]);
    out.dur.push_back(batch.dur[row]);
    out.name.push_back(batch.name[row]);
    out.kind.push_back(batch.kind[row]);
    out.correlation.push_back(batch.correlation[row]);
    model::copy_detail(batch.details, model::kind_info(batch.kind[row]).table, detail_row[row], out.details);
  }
  return out;
}

}  // namespace

Expected<TraceWriter> TraceWriter::create(std::string const& path) {
  int const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) {
    if (errno == EEXIST) return fail("{}: exists already, choose another name with -o or overwrite with --force", path);
    return fail("{}: cannot create ({}), choose another place with -o", path, std::strerror(errno));
  }
  TraceWriter writer;
  writer.path_ = path;
  writer.fd_ = fd;
  base::ByteWriter header;
  header.put_bytes(std::as_bytes(std::span(kFileMagic)));
  header.put(kFormatVersion);
  header.put(static_cast<uint32_t>(kFileHeaderSize));
  while (header.size() < kFileHeaderSize) header.put(uint8_t{0});
  auto const written = writer.write_raw(header.span());
  if (!written) return base::fail_with(written);
  return writer;
}

TraceWriter::TraceWriter(TraceWriter&& other) noexcept { *this = std::move(other); }

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(failure_, other.failure_);
  std::swap(fd_, other.fd_);
  std::swap(offset_, other.offset_);
  std::swap(index_, other.index_);
  return *this;
}

TraceWriter::~TraceWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Expected<void> TraceWriter::write_strings(uint32_t first_id, std::span<std::string_view const> texts) {
  while (!texts.empty()) {
    size_t count = 0;
    size_t bytes = 0;
    // Half the limit leaves room for the lengths.
    while (count < texts.size() && (count == 0 || bytes + texts[count].size() + 4 < kMaxPayloadBytes / 2))
      bytes += texts[count++].size() + 4;
    if (bytes >= kMaxPayloadBytes) return fail("{}: a name of {} bytes is too long for a trace file, shorten it", path_, bytes);
    base::ByteWriter payload;
    payload.put(first_id);
    payload.put(static_cast<uint32_t>(count));
    for (std::string_view const text : texts.first(count)) payload.put(static_cast<uint32_t>(text.size()));
    for (std::string_view const text : texts.first(count)) payload.put_bytes(std::as_bytes(std::span(text)));
    IndexEntry entry{};
    entry.type = static_cast<uint32_t>(BlockType::kStrings);
    if (auto const written = write_block(entry, payload.span()); !written) return written;
    texts = texts.subspan(count);
    first_id += static_cast<uint32_t>(count);
  }
  return {};
}

Expected<void> TraceWriter::write_description(model::TraceInfo const& info, std::span<model::Device const> devices,
                                              model::ImportLog const& log) {
  std::string const json = encode_description(info, devices, log);
  IndexEntry entry{};
  entry.type = static_cast<uint32_t>(BlockType::kDescription);
  return write_block(entry, std::as_bytes(std::span(json)));
}

Expected<void> TraceWriter::write_tracks(model::TrackId first, std::span<model::Track const> tracks) {
  std::string const json = encode_tracks(first.value, tracks);
  IndexEntry entry{};
  entry.type = static_cast<uint32_t>(BlockType::kTracks);
  return write_block(entry, std::as_bytes(std::span(json)));
}

Expected<void> TraceWriter::write_events(model::TrackId track, EventBatch const& batch) {
  std::vector<uint32_t> const order = batch.sorted_order();
  std::vector<uint32_t> const details = batch.detail_rows();
  for (size_t first = 0; first < batch.size(); first += kMaxBlockRows) {
    EventBatch const slice = sorted_slice(batch, order, details, first, std::min(first + kMaxBlockRows, batch.size()));
    IndexEntry entry{};
    entry.type = static_cast<uint32_t>(BlockType::kEvents);
    entry.track = track.value;
    entry.rows = static_cast<uint32_t>(slice.size());
    entry.min_start = slice.start.front();
    entry.max_end = slice.start.front();
    for (size_t i = 0; i < slice.size(); ++i) {
      entry.max_end = std::max(entry.max_end, slice.start[i] + std::max<int64_t>(slice.dur[i], 0));
      entry.kinds |= uint64_t{1} << static_cast<uint8_t>(slice.kind[i]);
    }
    base::ByteWriter payload;
    encode_events(slice, payload);
    if (auto const written = write_block(entry, payload.span()); !written) return written;
  }
  return {};
}

Expected<void> TraceWriter::finish() {
  base::ByteWriter payload;
  payload.put(static_cast<uint32_t>(index_.size()));
  for (IndexEntry const& entry : index_) {
    payload.put(entry.offset);
    payload.put(entry.size);
    payload.put(entry.type);
    payload.put(entry.track);
    payload.put(entry.rows);
    payload.put(entry.min_start);
    payload.put(entry.max_end);
    payload.put(entry.kinds);
  }
  uint64_t const index_offset = offset_;
  IndexEntry entry{};
  entry.type = static_cast<uint32_t>(BlockType::kIndex);
  if (auto const written = write_block(entry, payload.span()); !written) return written;
  base::ByteWriter end;
  end.put(index_offset);
  end.put(XXH3_64bits(end.span().data(), end.size()));
  end.put(kEndMagic);
  if (auto const written = write_raw(end.span()); !written) return written;
  int const fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) return fail("{}: cannot write ({}), free disk space", path_, std::strerror(errno));
  failure_ = "finished";
  return {};
}

Expected<void> TraceWriter::write_block(IndexEntry entry, base::ByteSpan payload) {
  if (payload.size() > kMaxPayloadBytes) return fail("{}: a block of {} bytes passes the format's limit", path_, payload.size());
  auto const compressed = compress(payload);
  base::ByteSpan const stored = compressed ? base::ByteSpan(*compressed) : payload;
  BlockHeader header;
  header.type = static_cast<uint16_t>(entry.type);
  header.compressed = compressed ? 1 : 0;
  header.stored_size = static_cast<uint32_t>(stored.size());
  header.raw_size = static_cast<uint32_t>(payload.size());
  header.track = entry.track;
  header.rows = entry.rows;
  header.min_start = entry.min_start;
  header.max_end = entry.max_end;
  header.kinds = entry.kinds;
  base::ByteWriter block = encode_block_header(header, stored);
  block.put_bytes(stored);
  entry.offset = offset_;
  entry.size = static_cast<uint32_t>(block.size());
  if (auto const written = write_raw(block.span()); !written) return written;
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
      failure_ = fmt::format("{}: cannot write ({}), free disk space; what was recorded until then is readable", path_,
                             std::strerror(errno));
      // Half a block helps nobody; without it the file ends after a whole one. If even this fails, readers skip the rest.
      [[maybe_unused]] int const ignored = ::ftruncate(fd_, static_cast<off_t>(begin));
      return fail("{}", failure_);
    }
    offset_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace stepscope::file
