#include "tracer/core/stream/stream_recorder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/files/run_folder.h"

namespace stepscope::tracer {
namespace {

/// What happened so long ago has come: rows wait two periods of flushes at most, and CUPTI
/// keeps records for a tenth of a second.
constexpr int64_t kSettledNs = 5 * TraceStore::kMaxAgeNs;
constexpr int kStreamNameAttempts = 100, kFolderAttempts = 8;

class Nowhere : public file::BlockSink {
 public:
  base::Expected<void> add(file::BlockHeader const& /*header*/,
                           base::ByteSpan /*payload*/) override {
    return {};
  }
};

std::string stream_file_name(CaptureOptions const& options, int64_t attempt) {
  std::string name = trace_file_name(options, ::getpid(), attempt);
  name.resize(name.size() - base::kTraceSuffix.size());
  return name + std::string(base::kStreamSuffix);
}

bool is_same(model::Device const& a, model::Device const& b) {
  return a.id == b.id && a.name == b.name && a.capacity_bytes == b.capacity_bytes;
}

}  // namespace

/// The file belongs to the thread that writes it; any thread may ask what became of it.
class StreamRecorder::File {
 public:
  // The descriptor goes with the thread that has it: on another one it means nothing.
  File() = default;
  File(File const&) = delete;
  File& operator=(File const&) = delete;

  /// Any thread: room for so many bytes on their way to the disk. False where it hangs.
  bool reserve(size_t bytes) {
    if (waiting_bytes_.fetch_add(bytes) + bytes <= kMostWaitingBytes) return true;
    waiting_bytes_.fetch_sub(bytes);
    fail("the file system did not take them in time");
    return false;
  }

  /// Whole records or nothing. What fails is lost, and later records are tried again.
  void write(CaptureOptions const& options, model::TraceInfo const& info,
             std::vector<std::byte> const& bytes) {
    if (fd_ < 0) create(options, info);
    if (fd_ >= 0) append(bytes);
    waiting_bytes_.fetch_sub(bytes.size());
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  [[nodiscard]] std::string path() const {
    std::lock_guard const lock(mutex_);
    return path_;
  }
  [[nodiscard]] std::string failure() const {
    std::lock_guard const lock(mutex_);
    return failure_;
  }

 private:
  static constexpr size_t kMostWaitingBytes = 1 << 20;

  void create(CaptureOptions const& options, model::TraceInfo const& info) {
    std::string const folder = options.folder + "/" + std::string(base::kStreamFolder);
    std::string path;
    for (int attempt = 0, made = 0; attempt < kStreamNameAttempts;) {
      path = folder + "/" + stream_file_name(options, attempt);
      fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (fd_ >= 0) break;

      // Another rank may make the folder, or take it away while it clears the run.
      bool const has_no_folder = errno == ENOENT && made < kFolderAttempts;
      if (has_no_folder && (::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST))
        ++made;
      else if (errno == EEXIST)
        ++attempt;
      else
        break;
    }
    if (fd_ < 0) return fail(fmt::format("{}: cannot be made ({})", path, std::strerror(errno)));

    set_path(path);
    if (append(stream::encode_header(info))) return;

    // Records without a head could not be read. The next ones try again.
    ::unlink(path.c_str());
    close();
    set_path({});
  }
  void set_path(std::string path) {
    std::lock_guard const lock(mutex_);
    path_ = std::move(path);
  }

  /// False where nothing of it is in the file.
  bool append(std::vector<std::byte> const& bytes) {
    size_t done = 0;

    while (done < bytes.size()) {
      ssize_t const count = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        fail(fmt::format("{}: cannot be written ({})", path(), std::strerror(errno)));
        take_back(done);
        return false;
      }
      done += static_cast<size_t>(count);
    }
    return true;
  }
  void take_back(size_t bytes) const {
    off_t const end = ::lseek(fd_, 0, SEEK_END) - static_cast<off_t>(bytes);
    if (bytes > 0 && end >= 0) [[maybe_unused]]
      int const cut = ::ftruncate(fd_, end);
  }
  /// The first reason counts.
  void fail(std::string reason) {
    std::lock_guard const lock(mutex_);
    if (failure_.empty()) failure_ = std::move(reason);
  }

  int fd_ = -1;
  std::atomic<size_t> waiting_bytes_{0};
  mutable std::mutex mutex_;  ///< the two below
  std::string path_, failure_;
};

StreamRecorder::StreamRecorder(CaptureOptions const& options, TraceStore& store)
    : options_(options), store_(store), file_(std::make_shared<File>()) {}

file::TraceWriter StreamRecorder::writer_to_nowhere() {
  static Nowhere nowhere;
  return file::TraceWriter::to(nowhere, kUnforkedBlocks);
}

bool StreamRecorder::begin(FileThread* shared) {
  thread_ = shared;
  if (shared != nullptr) return true;

  auto own =
      FileThread::begin([]() -> base::Expected<file::TraceWriter> { return writer_to_nowhere(); });
  if (!own) return false;
  own_thread_ = std::move(*own);
  thread_ = own_thread_.get();
  threads_ = 1;
  return true;
}

void StreamRecorder::see(model::TrackId track, RowBatch const& rows) {
  meter_.add(track, store_.track(track), rows.view());
}

/// A device is named in front of its first record, when its name changes, and again at times: who
/// opens a long file reads its end.
void StreamRecorder::write(std::vector<stream::StepRecord> const& records) {
  if (records.empty()) return;
  constexpr uint64_t kNamedAgain = 128;
  bool const names_all = records_ >= kNamedAgain * std::max<size_t>(named_.size(), 1);
  records_ = (names_all ? 0 : records_) + records.size();

  std::vector<std::byte> bytes;
  for (model::Device const& device : store_.devices()) {
    auto const known = std::find_if(named_.begin(), named_.end(),
                                    [&](model::Device const& one) { return one.id == device.id; });
    if (known != named_.end() && is_same(*known, device) && !names_all) continue;
    if (known == named_.end())
      named_.push_back(device);
    else
      *known = device;
    stream::encode(device, bytes);
  }

  for (stream::StepRecord const& record : records) stream::encode(record, bytes);
  submit(std::move(bytes));
}

void StreamRecorder::submit(std::vector<std::byte> bytes) {
  if (!file_->reserve(bytes.size())) return;
  thread_->submit(
      0, [this, file = file_, info = store_.info, bytes = std::move(bytes)](file::TraceWriter&) {
        file->write(options_, info, bytes);
        return base::Expected<void>();
      });
}

void StreamRecorder::look(int64_t now_ns, uint64_t dropped) {
  meter_.set_dropped(dropped);
  write(meter_.take(now_ns - kSettledNs));
}

void StreamRecorder::finish(uint64_t dropped) {
  meter_.set_dropped(dropped);
  write(meter_.take_rest());
  if (records_ > 0) {
    std::vector<std::byte> end;
    stream::encode_end(end);
    submit(std::move(end));
  }
  thread_->submit(0, [file = file_](file::TraceWriter&) {
    file->close();
    return base::Expected<void>();
  });

  thread_->wait_until_idle();
  if (own_thread_) static_cast<void>(own_thread_->finish());
  threads_ = 0;
}

std::string StreamRecorder::path() const { return file_->path(); }
std::string StreamRecorder::failure() const { return file_->failure(); }

}  // namespace stepscope::tracer
