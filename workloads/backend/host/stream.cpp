// Threads that execute a host device's streams; see stream.h.
#include "workloads/backend/host/stream.h"

#include <utility>

#include "workloads/backend/host/threads.h"
#include "workloads/thread_name.h"

namespace stepscope::workloads::host {

uint64_t next_correlation() {
  static std::atomic<uint64_t> last =
      0;  // unique over all devices and all runs of the process, as the convention asks
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

char const* stream_name(api::StreamKind kind) {
  switch (kind) {
    case api::StreamKind::kCompute:
      return "compute";
    case api::StreamKind::kCopy:
      return "copy";
    case api::StreamKind::kCommunication:
      return "communication";
  }
  return "?";
}

HostStream::HostStream(uint32_t device, std::string const& device_name, api::StreamKind kind,
                       int threads, std::vector<int> const& cores)
    : device_(device), kind_(kind) {
  api::device_mark(api::DeviceSchema::kStream, stream_name(kind),
                   api::StreamPayload{device, id(), kind});
  thread_ = std::thread([this, threads, cores, name = device_name + " " + stream_name(kind)] {
    run(name, threads, cores);
  });
}

HostStream::~HostStream() {
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void HostStream::push(std::function<void()> task) {
  {
    std::lock_guard const lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

std::shared_ptr<HostEvent> HostStream::record() {
  auto event = std::make_shared<HostEvent>(device_, kind_);
  push([event] { event->set(); });
  return event;
}

void HostStream::wait(std::shared_ptr<HostEvent> event) {
  if (event->done()) return;
  push([this, event = std::move(event)] {
    if (event->done()) return;
    api::StreamWaitPayload const payload{next_correlation(), device_, id(), event->device(),
                                         static_cast<uint32_t>(event->stream())};
    api::DeviceRange const range(api::DeviceSchema::kStreamWait, "stream wait", payload);
    event->wait();
  });
}

void HostStream::run(std::string const& thread_name, int threads, std::vector<int> const& cores) {
  name_this_thread(thread_name);
  set_worker_threads(threads);
  stay_on_cores(cores);
  wake_up_soon();

  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> const task = std::move(tasks_.front());
    tasks_.pop_front();

    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace stepscope::workloads::host
