#include "tracer/core/file_thread.h"

#include <exception>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace stepscope::tracer {

FileThread::FileThread(file::TraceWriter writer) : writer_(std::move(writer)) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (std::system_error const&) {
    // Slower, and nothing else: jobs are executed by the thread that submits them.
  }
}

FileThread::~FileThread() { end_thread(); }

void FileThread::submit(size_t rows, Job job) {
  if (!thread_.joinable()) return execute({rows, std::move(job)});
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return waiting_rows_ == 0 || waiting_rows_ + rows <= kMaxWaitingRows; });
  queue_.push_back({rows, std::move(job)});
  waiting_rows_ += rows;
  lock.unlock();
  wake_.notify_one();
}

void FileThread::execute(Waiting const& waiting) {
  std::string failure;
  try {
    if (auto const done = waiting.job(writer_); !done) failure = done.error().message;
  } catch (std::exception const& error) {
    failure = fmt::format("the writer stopped ({}), free memory and record again", error.what());
  }
  (failure.empty() ? result_.written_rows : result_.lost_rows) += waiting.rows;
  if (failure.empty() || failed()) return;
  result_.failure = std::move(failure);
  failed_.store(true, std::memory_order_relaxed);
}

void FileThread::run() {
  ::pthread_setname_np(::pthread_self(), "stepscope-file");
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_requested_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Waiting const waiting = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    execute(waiting);
    lock.lock();
    waiting_rows_ -= waiting.rows;
    room_.notify_one();
  }
}

void FileThread::end_thread() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const lock(mutex_);
    stop_requested_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

FileThread::Result FileThread::finish() {
  end_thread();
  if (result_.failure.empty()) {
    if (auto const finished = writer_.finish(); !finished) result_.failure = finished.error().message;
  }
  return result_;
}

model::EventBatch FileThread::spare_batch() {
  std::lock_guard const lock(mutex_);
  if (spare_.empty()) return {};
  model::EventBatch batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

void FileThread::give_back(model::EventBatch batch) {
  batch.clear();
  std::lock_guard const lock(mutex_);
  if (spare_.size() < kMaxSpareBatches) spare_.push_back(std::move(batch));
}

}  // namespace stepscope::tracer
