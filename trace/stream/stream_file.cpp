#include "trace/stream/stream_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "trace/file/description.h"

namespace stepscope::stream {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are");

constexpr std::array<char, 8> kMagic = {'s', 't', 'p', 's', 't', 'r', 'e', 'm'};
constexpr uint32_t kVersion = 1;

struct Head {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t record_bytes;
  uint32_t head_bytes;  ///< where the records begin
  uint32_t description_bytes;
  uint64_t checksum;  ///< of the description
};
static_assert(sizeof(Head) == 32);

enum class RecordKind : uint32_t { kStep = 1, kDevice = 2, kEnd = 3 };

/// A record of kind kStep as it lies in the file; the rest of its bytes are zeros.
struct StoredStep {
  uint32_t kind, steps;
  int64_t step, begin_ns, length_ns, longest_ns, between_ns;
  std::array<int64_t, kTimeParts> parts;
  int64_t comm_ns, input_ns;
  uint64_t comm_bytes, copied_in_bytes;
  uint32_t collectives, kernels;
  int64_t peak_bytes, reserved_bytes, power_mw;
  uint64_t dropped;
  int64_t late_ns;
  int32_t device;
  uint32_t unused;
};
struct StoredDevice {
  uint32_t kind;
  int32_t device;
  uint64_t capacity_bytes;
  uint32_t name_bytes, unused;
  std::array<char, 200> name;
};
constexpr size_t kSummedBytes = kRecordBytes - sizeof(uint64_t);
static_assert(sizeof(StoredStep) <= kSummedBytes && sizeof(StoredDevice) <= kSummedBytes);

template <class Stored>
void put_record(Stored const& stored, std::vector<std::byte>& bytes) {
  size_t const begin = bytes.size();
  bytes.resize(begin + kRecordBytes);
  std::memcpy(bytes.data() + begin, &stored, sizeof stored);
  uint64_t const checksum = XXH3_64bits(bytes.data() + begin, kSummedBytes);
  std::memcpy(bytes.data() + begin + kSummedBytes, &checksum, sizeof checksum);
}

template <class Stored>
Stored stored_at(std::byte const* record) {
  Stored stored;
  std::memcpy(&stored, record, sizeof stored);
  return stored;
}

/// 13 days: sums of some thousand such times are numbers, too.
constexpr int64_t kLongestNs = int64_t{1} << 50;
/// The Unix time of no computer is beyond.
constexpr int64_t kLatestEpochNs = int64_t{1} << 62;

bool is_time(int64_t ns) { return ns >= -model::kMaxTime / 2 && ns <= model::kMaxTime / 2; }
bool is_span(int64_t ns, int64_t most) { return ns >= 0 && ns <= most; }

/// A file with a good checksum may have numbers that were made up.
std::optional<StepRecord> checked(StoredStep const& stored) {
  bool good = stored.steps > 0 && stored.steps <= kMostShared && is_time(stored.begin_ns) &&
              stored.step >= 0 && stored.step <= INT64_MAX - stored.steps && stored.device >= -1 &&
              is_span(stored.length_ns, kLongestNs) && is_span(stored.late_ns, kLongestNs);
  for (int64_t const ns : {stored.longest_ns, stored.between_ns, stored.comm_ns, stored.input_ns})
    good = good && is_span(ns, stored.length_ns);

  int64_t left = stored.length_ns;
  for (int64_t const part : stored.parts) {
    good = good && is_span(part, left);
    if (good) left -= part;
  }
  if (!good || left != 0) return {};

  StepRecord record;
  record.step = stored.step;
  record.begin_ns = stored.begin_ns;
  record.length_ns = stored.length_ns;
  record.longest_ns = stored.longest_ns;
  record.between_ns = stored.between_ns;
  record.steps = stored.steps;
  record.device = stored.device;

  record.parts = stored.parts;
  record.comm_ns = stored.comm_ns;
  record.input_ns = stored.input_ns;
  record.comm_bytes = stored.comm_bytes;
  record.copied_in_bytes = stored.copied_in_bytes;
  record.collectives = stored.collectives;
  record.kernels = stored.kernels;

  record.peak_bytes = std::max<int64_t>(stored.peak_bytes, -1);
  record.reserved_bytes = std::max<int64_t>(stored.reserved_bytes, -1);
  record.power_mw = std::max<int64_t>(stored.power_mw, -1);
  record.dropped = stored.dropped;
  record.late_ns = stored.late_ns;
  return record;
}

void decode_record(std::byte const* record, StreamRecords& part) {
  uint64_t checksum = 0;
  std::memcpy(&checksum, record + kSummedBytes, sizeof checksum);
  if (checksum != XXH3_64bits(record, kSummedBytes)) {
    ++part.damaged;
    return;
  }

  switch (static_cast<RecordKind>(stored_at<uint32_t>(record))) {
    case RecordKind::kStep:
      if (auto const step = checked(stored_at<StoredStep>(record)))
        part.steps.push_back(*step);
      else
        ++part.damaged;
      break;
    case RecordKind::kDevice: {
      auto const stored = stored_at<StoredDevice>(record);
      model::Device device;
      device.id = stored.device;
      device.capacity_bytes = stored.capacity_bytes;
      device.name.assign(stored.name.data(),
                         std::min<size_t>(stored.name_bytes, stored.name.size()));
      if (device.id >= 0) part.devices.push_back(std::move(device));
      break;
    }
    case RecordKind::kEnd:
      part.has_ended = true;
      break;
    default:
      break;  // of a newer version
  }
}

bool is_of_one_process(model::TraceInfo const& a, model::TraceInfo const& b) {
  return a.process_id == b.process_id && a.host == b.host && a.origin_epoch_ns == b.origin_epoch_ns;
}

}  // namespace

std::vector<std::byte> encode_header(model::TraceInfo const& info) {
  std::string text = file::encode_description(info, {}, {});
  if (text.size() > kMaxDescriptionBytes) {  // a command line of that length
    model::TraceInfo brief = info;
    brief.command.clear();
    brief.facts.clear();
    text = file::encode_description(brief, {}, {});
  }

  size_t const size = (sizeof(Head) + text.size() + kRecordBytes - 1) / kRecordBytes * kRecordBytes;
  Head const head = {kMagic,
                     kVersion,
                     kRecordBytes,
                     static_cast<uint32_t>(size),
                     static_cast<uint32_t>(text.size()),
                     XXH3_64bits(text.data(), text.size())};
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, text.data(), text.size());
  return bytes;
}

void encode(StepRecord const& record, std::vector<std::byte>& bytes) {
  put_record(StoredStep{static_cast<uint32_t>(RecordKind::kStep),
                        record.steps,
                        record.step,
                        record.begin_ns,
                        record.length_ns,
                        record.longest_ns,
                        record.between_ns,
                        record.parts,
                        record.comm_ns,
                        record.input_ns,
                        record.comm_bytes,
                        record.copied_in_bytes,
                        record.collectives,
                        record.kernels,
                        record.peak_bytes,
                        record.reserved_bytes,
                        record.power_mw,
                        record.dropped,
                        record.late_ns,
                        record.device,
                        0},
             bytes);
}

void encode(model::Device const& device, std::vector<std::byte>& bytes) {
  StoredDevice stored{};
  stored.kind = static_cast<uint32_t>(RecordKind::kDevice);
  stored.device = device.id;
  stored.capacity_bytes = device.capacity_bytes;
  stored.name_bytes = static_cast<uint32_t>(std::min(device.name.size(), stored.name.size()));
  std::copy_n(device.name.begin(), stored.name_bytes, stored.name.begin());
  put_record(stored, bytes);
}

void encode_end(std::vector<std::byte>& bytes) {
  put_record(static_cast<uint32_t>(RecordKind::kEnd), bytes);
}

bool is_stream(base::ByteSpan bytes) {
  return bytes.size() >= sizeof kMagic &&
         std::memcmp(bytes.data(), kMagic.data(), sizeof kMagic) == 0;
}

base::Expected<StreamHead> decode_header(base::ByteSpan bytes, std::string const& name) {
  if (!is_stream(bytes)) return base::fail("{}: not a stream of steps", name);
  if (bytes.size() < sizeof(Head)) return base::fail("{}: cut in its head", name);

  auto const head = stored_at<Head>(bytes.data());
  if (head.version != kVersion || head.record_bytes != kRecordBytes)
    return base::fail("{}: written by a newer Stepscope (version {} of the format), update", name,
                      head.version);
  bool const fits = head.description_bytes <= kMaxDescriptionBytes &&
                    head.head_bytes % kRecordBytes == 0 &&
                    head.head_bytes >= sizeof(Head) + head.description_bytes &&
                    head.head_bytes <= sizeof(Head) + kMaxDescriptionBytes + kRecordBytes;
  if (!fits) return base::fail("{}: its head is damaged", name);
  if (bytes.size() < head.head_bytes) return base::fail("{}: cut in its head", name);

  base::ByteSpan const text = bytes.subspan(sizeof(Head), head.description_bytes);
  file::Description description;
  bool const is_whole = XXH3_64bits(text.data(), text.size()) == head.checksum &&
                        file::decode_description(text, description);
  if (!is_whole) return base::fail("{}: its head is damaged", name);
  int64_t& origin = description.info.origin_epoch_ns;
  if (origin < 0 || origin > kLatestEpochNs) origin = 0;
  return StreamHead{std::move(description.info), head.head_bytes};
}

void decode_records(base::ByteSpan bytes, StreamRecords& part) {
  for (size_t begin = 0; begin + kRecordBytes <= bytes.size(); begin += kRecordBytes)
    decode_record(bytes.data() + begin, part);
}

/// A descriptor for as long as it is read.
class GrowingStream::OpenFile {
 public:
  explicit OpenFile(std::string const& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(OpenFile const&) = delete;
  OpenFile& operator=(OpenFile const&) = delete;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// Nothing where that is not known, or it is no file.
  [[nodiscard]] std::optional<struct stat> about() const {
    struct stat about {};
    bool const is_file = ::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode);
    return is_file ? std::optional(about) : std::nullopt;
  }
  /// As many bytes as there are.
  [[nodiscard]] std::vector<std::byte> read(uint64_t begin, size_t bytes) const {
    std::vector<std::byte> content(bytes);
    size_t done = 0;

    while (done < bytes) {
      ssize_t const count =
          ::pread(fd_, content.data() + done, bytes - done, static_cast<off_t>(begin + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    content.resize(done);
    return content;
  }

 private:
  int const fd_;
};

base::Expected<StreamRecords> GrowingStream::read_new(size_t most) {
  OpenFile const file(path_);
  auto const about = file.is_open() ? file.about() : std::nullopt;
  if (!about) return base::fail("{}: cannot be read ({})", path_, std::strerror(errno));
  auto const size = static_cast<uint64_t>(about->st_size);
  std::pair<uint64_t, uint64_t> const identity = {about->st_dev, about->st_ino};

  StreamRecords records;
  if (!head_ || identity != identity_ || size < next_) {
    auto head = read_head(file, size);
    if (!head) return base::fail_with(head);
    records.is_other_file = head_ && !is_of_one_process(head_->info, head->info);
    if (!head_ || records.is_other_file) {
      head_ = std::move(*head);
      next_ = head_->bytes;
      modified_ns_ = 0;
    }
    identity_ = identity;
  }

  // A file server may report an earlier size for a while.
  if (size < next_ + kRecordBytes) return records;
  modified_ns_ = int64_t{about->st_mtim.tv_sec} * 1'000'000'000 + about->st_mtim.tv_nsec;
  uint64_t const all = (size - head_->bytes) / kRecordBytes;
  uint64_t const first = all - std::min<uint64_t>(all, most);
  next_ = std::max(next_, head_->bytes + first * kRecordBytes);
  next_ += read_records(file, next_, all - (next_ - head_->bytes) / kRecordBytes, records);
  records_ = (next_ - head_->bytes) / kRecordBytes;
  return records;
}

base::Expected<StreamHead> GrowingStream::read_head(OpenFile const& file, uint64_t size) const {
  constexpr size_t kUsualBytes = 4096;
  constexpr size_t kMostBytes = sizeof(Head) + kMaxDescriptionBytes + kRecordBytes;
  auto const bytes = file.read(0, std::min<size_t>(size, kUsualBytes));
  auto head = decode_header(bytes, path_);
  if (head || bytes.size() == size) return head;
  return decode_header(file.read(0, std::min<size_t>(size, kMostBytes)), path_);
}

/// Bytes of whole records that were there.
uint64_t GrowingStream::read_records(OpenFile const& file, uint64_t begin, uint64_t count,
                                     StreamRecords& records) {
  constexpr uint64_t kAtOnce = 4096;
  uint64_t done = 0;

  while (count > 0) {
    uint64_t const some = std::min(count, kAtOnce);
    auto bytes = file.read(begin + done, some * kRecordBytes);
    bytes.resize(bytes.size() - bytes.size() % kRecordBytes);
    decode_records(bytes, records);
    done += bytes.size();
    if (bytes.size() < some * kRecordBytes) break;
    count -= some;
  }
  return done;
}

StreamRecords GrowingStream::read_earlier(uint64_t first, uint64_t count) const {
  StreamRecords records;
  OpenFile const file(path_);
  if (file.is_open() && head_)
    read_records(file, head_->bytes + first * kRecordBytes, count, records);
  return records;
}

}  // namespace stepscope::stream
