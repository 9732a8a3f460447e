#include "tracer/core/file_thread.h"

#include <chrono>
#include <utility>

#include "tracer/core/threads/files_of_free.h"
#include "tracer/core/threads/private_descriptors.h"

namespace stepscope::tracer {
namespace {

constexpr char kOutOfMemory[] = "the writer has no memory, free some and record again";
/// Kept from the begin: a path and a reason.
constexpr size_t kMaxFailureBytes = 8192;

}  // namespace

base::Expected<std::unique_ptr<FileThread>> FileThread::start(Open open) {
  auto begun = begin(std::move(open));
  if (!begun) return base::fail_with(begun);
  if (auto const opened = (*begun)->wait_until_open(); !opened) {
    if ((*begun)->did_not_start()) [[maybe_unused]]
      FileThread* const left_alone = begun->release();
    return base::fail_with(opened);
  }
  return std::move(*begun);
}

base::Expected<std::unique_ptr<FileThread>> FileThread::begin(Open open) {
  std::unique_ptr<FileThread> self(new FileThread);
  auto thread = OwnThread::start("stepscope-file",
                                 [file = self.get(), open = std::move(open)] { file->run(open); });
  if (!thread) return base::fail_with(thread);
  self->thread_ = std::move(*thread);
  return self;
}

base::Expected<std::unique_ptr<FileThread>> FileThread::here(Open const& open) {
  std::unique_ptr<FileThread> self(new FileThread);
  auto writer = self->open_privately(open);
  if (!writer) return base::fail_with(writer);
  self->writer_here_.emplace(std::move(*writer));
  return self;
}

base::Expected<void> FileThread::wait_until_open() {
  // A sandbox may end our thread alone: the program must not wait for it for ever.
  constexpr std::chrono::seconds kStartTimeout{30};
  std::unique_lock lock(mutex_);
  did_not_start_ = !room_.wait_for(lock, kStartTimeout, [this] { return opened_.has_value(); });
  if (did_not_start_) return base::fail("the thread that writes the trace did not start in time");
  return *opened_;
}

FileThread::~FileThread() { end_thread(Ending::kWithoutIndex); }

void FileThread::submit(size_t rows, Job job) {
  if (writer_here_) return execute({rows, std::move(job)}, *writer_here_);
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return waiting_rows_ == 0 || waiting_rows_ + rows <= kMaxWaitingRows; });
  queue_.push_back({rows, std::move(job)});
  waiting_rows_ += rows;
  lock.unlock();
  wake_.notify_one();
}

void FileThread::wait_until_idle() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return queue_.empty() && !is_working_; });
}

bool FileThread::is_idle() {
  std::lock_guard const lock(mutex_);
  return opened_ && (!*opened_ || (queue_.empty() && !is_working_));
}

void FileThread::execute(Waiting const& waiting, file::TraceWriter& writer) {
  std::string failure;
  bool is_done = false;
  try {
    if (auto const done = waiting.job(writer); done)
      is_done = true;
    else
      failure = done.error().message;
  } catch (...) {
    // For lack of memory: the words for it have theirs already.
  }

  (is_done ? result_.written_rows : result_.lost_rows) += waiting.rows;
  if (is_done || failed()) return;
  fail_because(failure);
}

/// Takes no memory when `reason` is empty.
void FileThread::fail_because(std::string const& reason) {
  if (reason.empty() || reason.size() > result_.failure.capacity())
    result_.failure = kOutOfMemory;
  else
    result_.failure = reason;
  failed_.store(true, std::memory_order_relaxed);
}

base::Expected<file::TraceWriter> FileThread::open_privately(Open const& open) {
  try {
    result_.failure.reserve(kMaxFailureBytes);
    if (auto const own = take_private_descriptors(); !own) return base::fail_with(own);
    read_files_of_free();
    return open();
  } catch (...) {
    return tl::unexpected(base::Error{"no memory"});  // so short a text takes none
  }
}

/// The writer lives and dies here: its descriptor means nothing, or another file, on any other
/// thread.
void FileThread::run(Open const& open) {
  auto writer = open_privately(open);
  {
    std::lock_guard const lock(mutex_);
    opened_.emplace();
    if (!writer) *opened_ = tl::unexpected(std::move(writer.error()));
  }
  room_.notify_all();
  if (writer) run_jobs(*writer);
}

void FileThread::run_jobs(file::TraceWriter& writer) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ != Ending::kNotYet || !queue_.empty(); });
    if (queue_.empty()) break;

    Waiting waiting = std::move(queue_.front());
    queue_.pop_front();
    is_working_ = true;
    lock.unlock();
    execute(waiting, writer);
    waiting.job = nullptr;  // what it holds is freed before any thread learns that it is done
    lock.lock();
    is_working_ = false;
    waiting_rows_ -= waiting.rows;
    room_.notify_all();
  }
  if (ending_ == Ending::kWithIndex) write_index(writer);
}

void FileThread::write_index(file::TraceWriter& writer) {
  if (failed()) return;
  try {
    if (auto const finished = writer.finish(); !finished) fail_because(finished.error().message);
  } catch (...) {
    fail_because({});
  }
}

void FileThread::begin_to_end() {
  if (!thread_) return;
  {
    std::lock_guard const lock(mutex_);
    ending_ = Ending::kWithIndex;
  }
  wake_.notify_one();
}

bool FileThread::has_ended() const {
  return !thread_ || thread_->wait_until_gone(std::chrono::nanoseconds(0));
}

void FileThread::end_thread(Ending ending) {
  if (writer_here_ && ending == Ending::kWithIndex) write_index(*writer_here_);
  writer_here_.reset();
  if (!thread_) return;

  {
    std::lock_guard const lock(mutex_);
    if (ending_ == Ending::kNotYet) ending_ = ending;
  }
  wake_.notify_one();

  thread_->join();
  thread_.reset();
}

FileThread::Result FileThread::finish() {
  end_with_index();
  return result_;
}

RowBatch FileThread::spare_batch() {
  std::lock_guard const lock(mutex_);
  if (spare_.empty()) return {};
  RowBatch batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

void FileThread::give_back(RowBatch batch) {
  batch.clear();
  std::lock_guard const lock(mutex_);
  if (spare_.size() < kMaxSpareBatches) spare_.push_back(std::move(batch));
}

}  // namespace stepscope::tracer
