#include "tests/cuda_doubles/cupti/recorder.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "tests/cuda_doubles/cupti/records.h"
#include "tests/cuda_doubles/device/visible_devices.h"

namespace stepscope::cuda_doubles {
namespace {

int64_t clock_ns(clockid_t clock) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

/// CUPTI's own clock is CLOCK_REALTIME on Linux; DOUBLE_CUPTI_AHEAD_NS makes it another one that is
/// ahead of CLOCK_MONOTONIC by that much, as under WSL.
int64_t measure_lead() {
  constexpr int kTries = 100;

  int64_t narrowest = std::numeric_limits<int64_t>::max(), lead = 0;
  for (int i = 0; i < kTries; ++i) {
    int64_t const before = clock_ns(CLOCK_MONOTONIC), theirs = clock_ns(CLOCK_REALTIME),
                  after = clock_ns(CLOCK_MONOTONIC);
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    lead = theirs - before - narrowest / 2;
  }
  return number_of_knob("DOUBLE_CUPTI_AHEAD_NS", lead);
}

CUpti_ActivityKind kind_of(ApiCall const& call) {
  return call.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                    : CUPTI_ACTIVITY_KIND_DRIVER;
}

uint32_t system_thread() { return static_cast<uint32_t>(::syscall(SYS_gettid)); }

}  // namespace

Recorder& recorder() {
  static auto* const one = new Recorder;
  return *one;
}

uint64_t Recorder::time_of(int64_t monotonic_ns) const {
  static int64_t const lead_ns = measure_lead();
  return static_cast<uint64_t>(timestamp_ != nullptr ? monotonic_ns : monotonic_ns + lead_ns);
}

// What the API asks for.

void Recorder::subscribe(CUpti_CallbackFunc callback, void* data) {
  std::lock_guard const lock(mutex_);
  subscriber_ = {callback, data};
}

void Recorder::unsubscribe() {
  std::lock_guard const lock(mutex_);
  subscriber_ = {};
  callbacks_.clear();
  domains_.clear();
}

CUptiResult Recorder::enable_callback(bool is_on, CUpti_CallbackDomain domain,
                                      CUpti_CallbackId function) {
  std::lock_guard const lock(mutex_);
  if (is_on)
    callbacks_.emplace(domain, function);
  else
    callbacks_.erase({domain, function});
  return CUPTI_SUCCESS;
}

CUptiResult Recorder::enable_domain(bool is_on, CUpti_CallbackDomain domain) {
  std::lock_guard const lock(mutex_);
  if (is_on)
    domains_.insert(domain);
  else
    domains_.erase(domain);
  return CUPTI_SUCCESS;
}

void Recorder::register_callbacks(ActivityBuffers::Request request,
                                  ActivityBuffers::Complete complete) {
  std::lock_guard const lock(mutex_);
  buffers_.set_callbacks(std::move(request), std::move(complete));
}

void Recorder::set_attribute(int attribute, std::string value) {
  std::lock_guard const lock(mutex_);
  attributes_[attribute] = std::move(value);
}

std::string Recorder::attribute(int attribute) {
  std::lock_guard const lock(mutex_);
  return attributes_[attribute];
}

/// DOUBLE_CUPTI_ENABLE_MS: the real one takes milliseconds for some kinds. A kind as a whole takes
/// back what was chosen of its functions ("cuptiActivityEnableRuntimeApi").
CUptiResult Recorder::enable(CUpti_ActivityKind kind) {
  if (int64_t const ms = number_of_knob("DOUBLE_CUPTI_ENABLE_MS", 0); ms > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  std::lock_guard const lock(mutex_);
  kinds_.insert(kind);

  bool const is_runtime = kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  if (is_runtime || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    int const domain = is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    std::erase_if(functions_, [&](auto const& chosen) { return chosen.first.first == domain; });
  }
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE && is_driver_up_) add_devices();
  return CUPTI_SUCCESS;
}

void Recorder::disable(CUpti_ActivityKind kind) {
  std::lock_guard const lock(mutex_);
  kinds_.erase(kind);
}

void Recorder::enable_function(CUpti_CallbackDomain domain, CUpti_CallbackId function, bool is_on) {
  std::lock_guard const lock(mutex_);
  functions_[{domain, function}] = is_on;
}

void Recorder::flush(bool is_forced) {
  std::lock_guard const lock(mutex_);
  buffers_.flush(is_forced);
}

size_t Recorder::take_dropped() {
  std::lock_guard const lock(mutex_);
  return buffers_.take_dropped();
}

void Recorder::finalize() {
  std::lock_guard const lock(mutex_);
  buffers_.flush(true);
  kinds_.clear();
  functions_.clear();
  buffers_.set_callbacks(nullptr, nullptr);
  timestamp_ = nullptr;
}

// Callbacks.

Recorder::Listener Recorder::listener_for(CUpti_CallbackDomain domain, CUpti_CallbackId function) {
  std::lock_guard const lock(mutex_);
  bool const is_wanted = domains_.contains(domain) || callbacks_.contains({domain, function});
  return is_wanted ? subscriber_ : Listener{};
}

void Recorder::call_back(CUpti_ApiCallbackSite site, ApiCall const& call) {
  auto const domain = static_cast<CUpti_CallbackDomain>(call.domain);
  auto const [callback, data] = listener_for(domain, call.number);
  if (callback == nullptr) return;

  int result = call.result;
  CUpti_CallbackData info{};
  info.callbackSite = site;
  info.functionName = call.name;
  info.functionReturnValue = &result;
  info.correlationId = call.correlation;
  callback(data, domain, call.number, &info);
}

void Recorder::call_begins(ApiCall const& call) { call_back(CUPTI_API_ENTER, call); }

void Recorder::call_ends(ApiCall const& call) {
  {
    std::lock_guard const lock(mutex_);
    if (wants_call(call)) {
      add(CallLayouts{}, [&](auto& record) {
        record.kind = kind_of(call);
        record.cbid = call.number;
        record.start = time_of(call.start_ns);
        record.end = time_of(call.end_ns);
        record.processId = static_cast<uint32_t>(::getpid());
        record.threadId = system_thread();
        record.correlationId = call.correlation;
        record.returnValue = static_cast<uint32_t>(call.result);
      });
    }
  }

  call_back(CUPTI_API_EXIT, call);
}

void Recorder::driver_initialized() {
  is_driver_up_ = true;
  {
    std::lock_guard const lock(mutex_);
    if (wants(CUPTI_ACTIVITY_KIND_DEVICE)) add_devices();
  }

  auto const [callback, data] =
      listener_for(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
  if (callback == nullptr) return;
  CUpti_ResourceData const resource{};
  callback(data, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, &resource);
}

// Records.

bool Recorder::wants(CUpti_ActivityKind kind) const {
  return buffers_.has_callbacks() && kinds_.contains(kind);
}

bool Recorder::wants_call(ApiCall const& call) const {
  if (!buffers_.has_callbacks()) return false;
  auto const chosen = functions_.find({call.domain, call.number});
  return chosen != functions_.end() ? chosen->second : wants(kind_of(call));
}

template <class Layouts, class Fill>
void Recorder::add(Layouts layouts, Fill&& fill) {
  with_record(layouts, cupti_version(), [&](auto record) {
    fill(record);
    RecordPlace const place = buffers_.reserve(sizeof record);
    if (place.buffer != nullptr) std::memcpy(place.data(), &record, sizeof record);
  });
}

void Recorder::add_devices() {
  bool const is_mig = number_of_knob("DOUBLE_CUDA_MIG", 0) != 0;
  for (int device = 0; device < engine()->device_count(); ++device)
    add(DeviceLayouts{}, [&](auto& record) {
      describe_device(record, device, first_uuid_byte(engine()->number_on_machine(device)), is_mig);
    });
}

void* Recorder::operation_queued(Operation const& operation) {
  std::lock_guard const lock(mutex_);
  CUpti_ActivityKind const kind = kind_of(operation.kind);
  if (!wants(kind)) return nullptr;
  RecordPlace place = buffers_.reserve(bytes_of_record(kind, cupti_version()));
  if (place.buffer == nullptr) return nullptr;

  bool const is_kernel = operation.kind == OperationKind::kKernel;
  char const* const name =
      is_kernel ? kernel_names_.insert(operation.name).first->c_str() : nullptr;
  write_operation(place.data(), operation, name);
  ++place.buffer->under_way;
  return new RecordPlace(std::move(place));
}

/// The fault "zero": CUPTI of CUDA 12.6 to 13.0 loses times of kernels when it uses the tool's
/// clock (its release notes of 13.1); here of every hundredth.
bool Recorder::loses_times() {
  constexpr uint64_t kEvery = 100;
  return timestamp_ != nullptr && knob_lists("DOUBLE_CUPTI_FAULTS", "zero") &&
         ++kernels_done_ % kEvery == 0;
}

void Recorder::operation_done(void* token, Operation const& operation, int64_t start_ns,
                              int64_t end_ns) {
  if (token == nullptr) return;
  std::unique_ptr<RecordPlace> const place(static_cast<RecordPlace*>(token));
  std::lock_guard const lock(mutex_);
  ActivityBuffers::end_operation(*place);
  bool const is_lost = operation.kind == OperationKind::kKernel && loses_times();
  if (place->buffer->is_delivered || is_lost) return;
  write_times(place->data(), operation.kind, time_of(start_ns), time_of(end_ns));
}

void Recorder::operation_dropped(void* token) {
  std::lock_guard const lock(mutex_);
  delete static_cast<RecordPlace*>(token);
}

void Recorder::memory_changed(MemoryEvent const& event) {
  std::lock_guard const lock(mutex_);
  if (!wants(CUPTI_ACTIVITY_KIND_MEMORY2)) return;

  add(MemoryLayouts{}, [&](auto& record) {
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    record.memoryOperationType = event.is_allocation
                                     ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                     : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    record.memoryKind = static_cast<CUpti_ActivityMemoryKind>(event.memory);
    record.correlationId = event.correlation;
    record.address = event.address;
    record.bytes = event.bytes;
    record.timestamp = time_of(now_ns());
    record.processId = static_cast<uint32_t>(::getpid());
    record.deviceId = static_cast<uint32_t>(event.device);
    record.contextId = record.deviceId + 1;
  });
}

void Recorder::waited(Synchronization const& wait) {
  std::lock_guard const lock(mutex_);
  if (!wants(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;

  add(SyncLayouts{}, [&](auto& record) {
    record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    record.type = static_cast<CUpti_ActivitySynchronizationType>(wait.type);
    record.start = time_of(wait.start_ns);
    record.end = time_of(wait.end_ns);
    record.correlationId = wait.correlation;
    record.contextId = wait.context;
    record.streamId = wait.stream;
    record.cudaEventId = wait.event;
  });
}

void Recorder::event_recorded(EventRecord const& event) {
  std::lock_guard const lock(mutex_);
  if (!wants(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) return;
  add(EventLayouts{}, [&](auto& record) {
    record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    record.correlationId = event.correlation;
    record.contextId = event.context;
    record.streamId = event.stream;
    record.eventId = event.event;
  });
}

void Recorder::context_made(int device, uint32_t context) {
  constexpr uint16_t kDefaultStream = 7;
  std::lock_guard const lock(mutex_);
  if (!wants(CUPTI_ACTIVITY_KIND_CONTEXT)) return;

  add(ContextLayouts{}, [&](auto& record) {
    record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    record.contextId = context;
    record.deviceId = static_cast<uint32_t>(device);
    record.nullStreamId = kDefaultStream;
    if constexpr (requires { record.processId; })
      record.processId = static_cast<uint64_t>(::getpid());
  });
}

}  // namespace stepscope::cuda_doubles
