// Streams, events and graphs: what is queued in which order, and who waits for whom.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "tests/cuda_doubles/device/activity.h"
#include "tests/cuda_doubles/driver/state.h"

namespace stepscope::cuda_doubles {
namespace {

constexpr char const* kLibrary = "CUDA";
// As CUpti_ActivitySynchronizationType numbers them.
constexpr uint8_t kEventSynchronize = 1, kStreamWait = 2, kStreamSynchronize = 3,
                  kContextSynchronize = 4;
constexpr uint32_t kNoStream = UINT32_MAX;    // CUPTI_SYNCHRONIZATION_INVALID_VALUE
constexpr uint32_t kDefaultStreamNumber = 7;  // that of the null stream in CUPTI's records

constexpr char const* kHost = "host";  // that waits, not a stream

thread_local int captures_of_thread = 0;

/// DOUBLE_CUDA_DELAYS is a list of stream:microseconds; each operation of the stream is later by
/// that much.
std::chrono::microseconds delay_of(uint32_t stream) {
  char const* rest = std::getenv("DOUBLE_CUDA_DELAYS");
  while (rest != nullptr && *rest != '\0') {
    unsigned number = 0;
    int microseconds = 0;
    if (std::sscanf(rest, "%u:%d", &number, &microseconds) == 2 && number == stream)
      return std::chrono::microseconds(microseconds);

    rest = std::strchr(rest, ',');
    if (rest != nullptr) ++rest;
  }
  return {};
}

/// DOUBLE_CUDA_WAITS names a file that gets a line for each wait, as DOUBLE_CUDA_SKIPPED_WAITS
/// spells it: a test learns from it which waits there are to skip.
void note_wait(std::string const& wait) {
  static char const* const path = std::getenv("DOUBLE_CUDA_WAITS");
  if (path == nullptr) return;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::fputs((wait + "\n").c_str(), file);
  std::fclose(file);
}

/// DOUBLE_CUDA_SKIPPED_WAITS lists waits that do not happen. "15<13" is stream 15 that would wait
/// for an event of stream 13, "host<13" a thread that would; "all" is every one of streams.
bool is_skipped(std::string const& waiting, uint32_t awaited) {
  std::string const wait = waiting + "<" + std::to_string(awaited);
  constexpr char const* kSkipped = "DOUBLE_CUDA_SKIPPED_WAITS";
  note_wait(wait);
  if (knob_lists(kSkipped, wait)) return true;
  return waiting != kHost && knob_lists(kSkipped, "all");
}

void reach(Mark& mark) {
  happens_before(&mark);
  HiddenLock const lock(mark.mutex);
  mark.is_reached = true;
  mark.reached_ns = now_ns();
  mark.changed.notify_all();
}

void await(Mark& mark) {
  HiddenScope const hidden;
  std::unique_lock lock(mark.mutex);
  mark.changed.wait(lock, [&] { return mark.is_reached; });
  happens_after(&mark);
}

/// Nothing where it is not reached.
int64_t reached_ns(Mark& mark, bool& is_reached) {
  HiddenLock const lock(mark.mutex);
  is_reached = is_reached && mark.is_reached;
  return mark.reached_ns;
}

}  // namespace

// Streams.

cudaError_t DriverEngine::create_stream(Stream** stream) {
  set_current_device(current_device());
  *stream = start_stream(current_device(), next(streams_made_));
  return cudaSuccess;
}

Stream* DriverEngine::start_stream(int device, uint32_t number) {
  auto* const stream = new Stream;
  stream->device = device;
  stream->number = number;
  stream->thread = std::thread([this, stream] { run_stream(*stream); });
  HiddenLock const lock(mutex_);
  streams_.insert(stream);
  return stream;
}

void DriverEngine::run_stream(Stream& stream) const {
  HiddenScope const hidden;
  std::minstd_rand random(stream.number);
  std::chrono::microseconds const delay = delay_of(stream.number);

  std::unique_lock lock(stream.mutex);
  for (;;) {
    stream.changed.wait(lock, [&] { return stream.is_stopping || !stream.queue.empty(); });
    if (stream.queue.empty()) return;
    auto work = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.is_busy = true;
    lock.unlock();

    if (jitter_us_ > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(static_cast<int64_t>(random()) % jitter_us_));
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    happens_after(work.get());
    (*work)();
    work.reset();
    happens_before(&stream);

    lock.lock();
    stream.is_busy = false;
    if (stream.queue.empty()) stream.changed.notify_all();
  }
}

Stream* DriverEngine::resolve(Stream* stream) {
  if (stream != nullptr) return stream;
  size_t const device = index_of(current_device());
  set_current_device(current_device());
  {
    HiddenLock const lock(mutex_);
    if (default_streams_[device] != nullptr) return default_streams_[device];
  }

  Stream* const made = start_stream(current_device(), kDefaultStreamNumber);
  HiddenLock const lock(mutex_);
  // A second thread that came here at the same time leaves its own unused.
  if (default_streams_[device] == nullptr) default_streams_[device] = made;
  return default_streams_[device];
}

std::vector<Stream*> DriverEngine::streams_of(int device) const {
  HiddenLock const lock(mutex_);
  std::vector<Stream*> result;
  std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(result),
               [&](Stream const* stream) { return stream->device == device; });
  return result;
}

void DriverEngine::check(Stream* stream) const {
  HiddenLock const lock(mutex_);
  if (!streams_.contains(stream)) die(kLibrary, "a stream that is not there");
}

void DriverEngine::check(Event* event) const {
  HiddenLock const lock(mutex_);
  if (!events_.contains(event)) die(kLibrary, "an event that is not there");
}

void DriverEngine::push(Stream& stream, std::function<void()> work) {
  auto queued = std::make_unique<std::function<void()>>(std::move(work));
  happens_before(queued.get());
  HiddenLock const lock(stream.mutex);
  stream.queue.push_back(std::move(queued));
  if (stream.queue.size() == 1) stream.changed.notify_all();
}

void DriverEngine::drain(Stream& stream) {
  HiddenScope const hidden;
  std::unique_lock lock(stream.mutex);
  stream.changed.wait(lock, [&] { return stream.queue.empty() && !stream.is_busy; });
  happens_after(&stream);
}

/// What is queued is still done ("Stream Management", cudaStreamDestroy).
cudaError_t DriverEngine::destroy_stream(Stream* stream) {
  check(stream);
  {
    HiddenLock const lock(mutex_);
    streams_.erase(stream);
  }
  {
    HiddenLock const lock(stream->mutex);
    stream->is_stopping = true;
    stream->changed.notify_all();
  }

  {
    HiddenScope const hidden;  // destroying a stream is no wait for it
    stream->thread.join();
  }
  delete stream;
  return cudaSuccess;
}

cudaError_t DriverEngine::synchronize(Stream* stream) {
  stream = resolve(stream);
  check(stream);
  if (stream->capture) return invalidate(*stream, cudaErrorStreamCaptureUnsupported);
  if (captures_of_thread > 0) return cudaErrorStreamCaptureUnsupported;

  int64_t const start_ns = now_ns();
  drain(*stream);
  if (Observer* const tool = observer_)
    tool->waited({kStreamSynchronize, start_ns, now_ns(), current_correlation(),
                  context_of(stream->device), stream->number, 0});
  return sticky_error();
}

void DriverEngine::synchronize_device() {
  int64_t const start_ns = now_ns();
  for (Stream* const stream : streams_of(current_device())) drain(*stream);
  if (Observer* const tool = observer_)
    tool->waited({kContextSynchronize, start_ns, now_ns(), current_correlation(),
                  context_of(current_device()), kNoStream, 0});
}

uint32_t DriverEngine::number_of(Stream* stream, uint32_t* context) {
  HiddenLock const lock(mutex_);
  if (!streams_.contains(stream)) return 0;
  *context = context_of(stream->device);
  return stream->number;
}

// Operations.

namespace {

void keep_activity(Operation const& operation, int64_t duration_ns) {
  constexpr uint8_t kFromHost = 1, kToHost = 2;  // CUpti_ActivityMemcpyKind
  Activity* const all = activity();
  if (all == nullptr) return;

  int const gpu = driver_engine().number_on_machine(operation.device);
  DeviceActivity& device = all->devices[static_cast<size_t>(gpu)];
  auto const bytes = static_cast<int64_t>(operation.bytes);
  if (operation.kind == OperationKind::kKernel) device.busy_ns += duration_ns;
  if (operation.copy_kind == kFromHost) device.received_bytes += bytes;
  if (operation.copy_kind == kToHost) device.sent_bytes += bytes;
}

}  // namespace

namespace {

/// Counts an operation that is no kernel while it runs. Kernels are left out: those of NCCL wait
/// for others.
class TransferScope {
 public:
  TransferScope(Operation const& operation, std::atomic<int>& running)
      : running_(operation.kind == OperationKind::kKernel ? nullptr : &running) {
    if (running_ != nullptr) ++*running_;
  }
  ~TransferScope() {
    if (running_ == nullptr) return;
    happens_before(running_);
    --*running_;
  }
  TransferScope(TransferScope const&) = delete;
  TransferScope& operator=(TransferScope const&) = delete;

 private:
  std::atomic<int>* running_;
};

}  // namespace

/// Whether this is the kernel that DOUBLE_CUDA_FAIL_AT_KERNEL names.
bool DriverEngine::fails_now(Operation const& operation) {
  return failing_kernel_ > 0 && operation.kind == OperationKind::kKernel &&
         ++kernels_queued_ == failing_kernel_;
}

/// A device whose program went wrong accesses nothing any more when the host learns of it.
cudaError_t DriverEngine::sticky_error() const {
  if (sticky_error_ == cudaSuccess) return cudaSuccess;
  while (transfers_running_ > 0) std::this_thread::yield();
  happens_after(&transfers_running_);
  return sticky_error_;
}

/// After an error that sticks no operation is done, and those that wait for it go on ("Error
/// Handling", errors that leave the process in an inconsistent state).
void DriverEngine::run(Stream& stream, Operation operation) {
  operation.device = stream.device;
  operation.context = context_of(stream.device);
  operation.stream = stream.number;
  operation.correlation = current_correlation();

  Observer* const tool = observer_;
  void* const token = tool == nullptr ? nullptr : tool->operation_queued(operation);
  bool const fails = fails_now(operation);

  push(stream, [this, tool, token, fails, operation = std::move(operation)] {
    if (fails) sticky_error_ = error_of_kernel_;
    TransferScope const transfer(operation, transfers_running_);
    if (sticky_error_ != cudaSuccess) {
      if (tool != nullptr) tool->operation_dropped(token);
      return;
    }
    int64_t const start_ns = now_ns();
    if (operation.work) {
      SeenScope const seen;
      operation.work();
    }
    int64_t const end_ns = now_ns();
    keep_activity(operation, end_ns - start_ns);
    if (tool != nullptr) tool->operation_done(token, operation, start_ns, end_ns);
  });
}

cudaError_t DriverEngine::enqueue(Stream* stream, Operation operation) {
  stream = resolve(stream);
  check(stream);
  if (cudaError_t const error = sticky_error_; error != cudaSuccess) return error;
  if (current_device() != stream->device && operation.kind == OperationKind::kKernel)
    return cudaErrorInvalidResourceHandle;

  if (stream->capture) {
    if (stream->capturer != std::this_thread::get_id())
      return invalidate(*stream, cudaErrorStreamCaptureWrongThread);
    stream->capture->operations.push_back(std::move(operation));
    return cudaSuccess;
  }

  run(*stream, std::move(operation));
  return cudaSuccess;
}

// Events.

cudaError_t DriverEngine::create_event(Event** event) {
  auto made = std::make_unique<Event>();
  made->number = next(events_made_);
  made->device = current_device();
  *event = made.get();
  HiddenLock const lock(mutex_);
  events_.insert(made.release());
  return cudaSuccess;
}

cudaError_t DriverEngine::destroy_event(Event* event) {
  check(event);
  {
    HiddenLock const lock(mutex_);
    events_.erase(event);
  }
  delete event;
  return cudaSuccess;
}

cudaError_t DriverEngine::record(Event* event, Stream* stream) {
  stream = resolve(stream);
  check(event);
  check(stream);
  if (cudaError_t const error = sticky_error(); error != cudaSuccess) return error;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  if (stream->capture) return invalidate(*stream, cudaErrorStreamCaptureUnsupported);

  auto const mark = std::make_shared<Mark>();
  {
    HiddenLock const lock(event->mutex);
    event->last = mark;
    event->stream = stream->number;
  }
  if (Observer* const tool = observer_)
    tool->event_recorded(
        {event->number, context_of(stream->device), stream->number, current_correlation()});
  push(*stream, [mark] { reach(*mark); });
  return cudaSuccess;
}

std::shared_ptr<Mark> DriverEngine::last_mark(Event* event) const {
  check(event);
  HiddenLock const lock(event->mutex);
  return event->last;
}

/// An event that was never recorded is complete ("Event Management", cudaEventQuery).
cudaError_t DriverEngine::query(Event* event) {
  if (captures_of_thread > 0) return cudaErrorStreamCaptureUnsupported;
  if (cudaError_t const error = sticky_error(); error != cudaSuccess) return error;
  HiddenScope const hidden;
  auto const mark = last_mark(event);
  if (mark == nullptr) return cudaSuccess;
  HiddenLock const lock(mark->mutex);
  if (!mark->is_reached) return cudaErrorNotReady;
  happens_after(mark.get());
  return cudaSuccess;
}

cudaError_t DriverEngine::synchronize(Event* event) {
  if (captures_of_thread > 0) return cudaErrorStreamCaptureUnsupported;
  int64_t const start_ns = now_ns();
  auto const mark = last_mark(event);
  if (mark != nullptr && !is_skipped(kHost, event->stream)) await(*mark);
  if (Observer* const tool = observer_)
    tool->waited({kEventSynchronize, start_ns, now_ns(), current_correlation(),
                  context_of(event->device), kNoStream, event->number});
  return sticky_error();
}

cudaError_t DriverEngine::elapsed(float* milliseconds, Event* from, Event* to) {
  auto const first = last_mark(from), second = last_mark(to);
  if (first == nullptr || second == nullptr) return cudaErrorInvalidResourceHandle;

  bool are_reached = true;
  int64_t const begin_ns = reached_ns(*first, are_reached);
  int64_t const end_ns = reached_ns(*second, are_reached);
  if (!are_reached) return cudaErrorNotReady;

  constexpr double kNsPerMs = 1e6;
  *milliseconds = static_cast<float>(static_cast<double>(end_ns - begin_ns) / kNsPerMs);
  return cudaSuccess;
}

/// A wait is for the event's last recording before the call ("Stream Management",
/// cudaStreamWaitEvent); later ones do not matter.
cudaError_t DriverEngine::wait(Stream* stream, Event* event) {
  stream = resolve(stream);
  check(stream);
  if (stream->capture) return invalidate(*stream, cudaErrorStreamCaptureIsolation);
  auto const mark = last_mark(event);
  if (mark != nullptr && is_skipped(std::to_string(stream->number), event->stream))
    return cudaSuccess;

  int64_t const now = now_ns();
  if (Observer* const tool = observer_)
    tool->waited({kStreamWait, now, now, current_correlation(), context_of(stream->device),
                  stream->number, event->number});
  if (mark != nullptr) push(*stream, [mark] { await(*mark); });
  return cudaSuccess;
}

// Graphs.

/// The capture ends with an error ("Stream Management", cudaStreamEndCapture).
cudaError_t DriverEngine::invalidate(Stream& stream, cudaError_t error) {
  stream.is_capture_invalid = true;
  return error;
}

cudaError_t DriverEngine::begin_capture(Stream* stream) {
  check(stream);
  if (stream->capture) return cudaErrorIllegalState;
  stream->capture = std::make_unique<Graph>();
  stream->capture->number = next(graphs_made_);
  stream->capturer = std::this_thread::get_id();
  stream->is_capture_invalid = false;
  ++captures_of_thread;
  return cudaSuccess;
}

cudaError_t DriverEngine::end_capture(Stream* stream, Graph** graph) {
  check(stream);
  if (!stream->capture) return cudaErrorIllegalState;
  --captures_of_thread;
  auto captured = std::move(stream->capture);
  *graph = stream->is_capture_invalid ? nullptr : captured.release();
  return stream->is_capture_invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

bool DriverEngine::is_thread_capturing() const { return captures_of_thread > 0; }

Graph* DriverEngine::create_graph() {
  auto* const graph = new Graph;
  graph->number = next(graphs_made_);
  return graph;
}

void DriverEngine::add_node(Graph* graph, Operation operation) {
  graph->operations.push_back(std::move(operation));
}

Graph* DriverEngine::instantiate(Graph const* graph) {
  auto* const executable = new Graph(*graph);
  executable->number = next(graphs_made_);
  return executable;
}

cudaError_t DriverEngine::launch(Graph* executable, Stream* stream) {
  stream = resolve(stream);
  check(stream);
  if (cudaError_t const error = sticky_error(); error != cudaSuccess) return error;

  uint64_t node = 0;
  for (Operation operation : executable->operations) {
    operation.graph = executable->number;
    operation.graph_node = ++node;
    run(*stream, std::move(operation));
  }
  return cudaSuccess;
}

void DriverEngine::destroy(Graph* graph) { delete graph; }

}  // namespace stepscope::cuda_doubles
