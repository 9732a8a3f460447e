// A file of the stream: who writes it, then records of one size, as the steps end
// (docs/reference/STREAM_FORMAT.md). A reader looks at it while it grows, and finds any record by
// its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/base/expected.h"
#include "trace/model/trace.h"
#include "trace/stream/step_record.h"

namespace stepscope::stream {

/// The fact of a trace that was made of a stream: its events are sums, whose order was not
/// recorded.
inline constexpr char kSumsFact[] = "recorded level";
/// More steps share no record.
inline constexpr uint32_t kMostShared = 1 << 20;
/// A record in a file, its checksum included.
inline constexpr size_t kRecordBytes = 256;
/// The description in front of the records is no longer than this.
inline constexpr size_t kMaxDescriptionBytes = size_t{1} << 20;

/// What the file begins with: a whole number of kRecordBytes.
std::vector<std::byte> encode_header(model::TraceInfo const& info);
/// Appends a record to `bytes`.
void encode(StepRecord const& record, std::vector<std::byte>& bytes);
/// A device that later records name; its name is cut where it is longer than a record.
void encode(model::Device const& device, std::vector<std::byte>& bytes);

/// What a process writes last, unless it is killed.
void encode_end(std::vector<std::byte>& bytes);

bool is_stream(base::ByteSpan bytes);

/// What a file tells of its process.
struct StreamHead {
  model::TraceInfo info;
  size_t bytes = 0;  ///< where the records begin
};
/// Errors: not such a file, of a newer version, cut in its head, or damaged.
base::Expected<StreamHead> decode_header(base::ByteSpan bytes, std::string const& name);

/// Records of whole steps, in their order.
struct StreamRecords {
  std::vector<StepRecord> steps;
  std::vector<model::Device> devices;
  bool has_ended = false;      ///< the process says that nothing follows
  bool is_other_file = false;  ///< it has taken the place of the one that was read before
  uint64_t damaged = 0;        ///< records with a wrong checksum or impossible numbers: left out
};
/// Adds the records of `bytes`, which begin with one. A last one that is not whole is left out.
void decode_records(base::ByteSpan bytes, StreamRecords& part);

/// Reads a file again and again, each time what has come since.
class GrowingStream {
 public:
  explicit GrowingStream(std::string path) : path_(std::move(path)) {}

  /// What is new of the last `most` records. Errors: those of reading, and of decode_header(); the
  /// file may be there later.
  base::Expected<StreamRecords> read_new(size_t most);
  [[nodiscard]] std::string const& path() const { return path_; }
  /// After the first read.
  [[nodiscard]] std::optional<StreamHead> const& head() const { return head_; }
  /// Records that the file has, those that were skipped included.
  [[nodiscard]] uint64_t records() const { return records_; }
  /// When it grew last, ns since the Unix epoch by the clock of its file system; 0 = it has no
  /// record.
  [[nodiscard]] int64_t modified_epoch_ns() const { return modified_ns_; }
  /// Records from the `first` one on, whatever was read; as many as there are.
  [[nodiscard]] StreamRecords read_earlier(uint64_t first, uint64_t count) const;

 private:
  /// A descriptor for as long as it is read.
  class OpenFile;
  [[nodiscard]] base::Expected<StreamHead> read_head(OpenFile const& file, uint64_t size) const;
  static uint64_t read_records(OpenFile const& file, uint64_t begin, uint64_t count,
                               StreamRecords& records);

  std::string path_;
  std::optional<StreamHead> head_;
  std::pair<uint64_t, uint64_t> identity_;  ///< device and inode
  int64_t modified_ns_ = 0;
  uint64_t next_ = 0, records_ = 0;  ///< next_: offset in the file
};

}  // namespace stepscope::stream
