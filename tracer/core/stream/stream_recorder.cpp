#include "tracer/core/stream/stream_recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
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
constexpr int kStreamNameAttempts = 100;

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

  void create(CaptureOptions const& options, model::TraceInfo const& info) {
    std::string const folder = options.folder + "/" + std::string(base::kStreamFolder);
    ::mkdir(folder.c_str(), 0777);  // another rank may have made it

    std::string path;
    for (int attempt = 0; fd_ < 0 && attempt < kStreamNameAttempts; ++attempt) {
      path = folder + "/" + stream_file_name(options, attempt);
      fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (fd_ < 0 && errno != EEXIST) break;
    }
    if (fd_ < 0) return fail(path, "cannot be made");

    {
      std::lock_guard const lock(mutex_);
      path_ = std::move(path);
    }
    write(stream::encode_header(info));
  }

  /// Whole records or nothing: what a full disk left of one is taken back.
  void write(std::vector<std::byte> const& bytes) {
    if (fd_ < 0) return;

    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t const count = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        fail(path(), "cannot be written");
        if (done > 0) [[maybe_unused]]
          int const cut = ::ftruncate(fd_, ::lseek(fd_, 0, SEEK_END) - static_cast<off_t>(done));
        close();
        return;
      }
      done += static_cast<size_t>(count);
    }
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
  void fail(std::string const& path, char const* what) {
    std::string const reason = std::strerror(errno);
    std::lock_guard const lock(mutex_);
    failure_ = fmt::format("{}: {} ({})", path, what, reason);
  }

  int fd_ = -1;
  mutable std::mutex mutex_;  ///< the two below
  std::string path_, failure_;
};

StreamRecorder::StreamRecorder(CaptureOptions const& options, TraceStore& store)
    : options_(options), store_(store), file_(std::make_shared<File>()) {}

file::TraceWriter StreamRecorder::writer_to_nowhere() {
  static Nowhere nowhere;
  return file::TraceWriter::to(nowhere, kUnforkedBlocks);
}

void StreamRecorder::begin(FileThread& thread) {
  thread_ = &thread;
  thread.submit(0, [this, file = file_, info = store_.info](file::TraceWriter&) {
    file->create(options_, info);
    return base::Expected<void>();
  });
}

void StreamRecorder::see(model::TrackId track, RowBatch const& rows) {
  meter_.add(track, store_.track(track), rows.view());
}

/// A device is named in front of its first record, and again when its name changes.
void StreamRecorder::write(std::vector<stream::StepRecord> const& records) {
  if (records.empty()) return;
  std::vector<std::byte> bytes;
  for (model::Device const& device : store_.devices()) {
    auto const known = std::find_if(named_.begin(), named_.end(),
                                    [&](model::Device const& one) { return one.id == device.id; });
    if (known != named_.end() && is_same(*known, device)) continue;
    if (known == named_.end())
      named_.push_back(device);
    else
      *known = device;
    stream::encode(device, bytes);
  }

  for (stream::StepRecord const& record : records) stream::encode(record, bytes);
  thread_->submit(0, [file = file_, bytes = std::move(bytes)](file::TraceWriter&) {
    file->write(bytes);
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
  std::vector<std::byte> end;
  stream::encode_end(end);
  thread_->submit(0, [file = file_, end = std::move(end)](file::TraceWriter&) {
    file->write(end);
    file->close();
    return base::Expected<void>();
  });
}

std::string StreamRecorder::path() const { return file_->path(); }
std::string StreamRecorder::failure() const { return file_->failure(); }

}  // namespace stepscope::tracer
