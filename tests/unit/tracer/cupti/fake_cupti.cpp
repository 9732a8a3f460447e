#include "tests/unit/tracer/cupti/fake_cupti.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tracer/core/clock.h"

namespace stepscope::tracer {
namespace {

/// Sizes of the records that the fake writes; 0 for other kinds.
size_t record_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy5);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);

    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent);

    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory3);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return sizeof(CUpti_ActivityMemoryPool2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead);

    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice4);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(CUpti_ActivityContext);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_JIT:
      return sizeof(CUpti_ActivityJit2);

    default:
      return 0;
  }
}

constexpr std::array<std::pair<uint32_t, char const*>, 14> kRuntimeNames = {{
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch_v10000"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, "cudaStreamSynchronize_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, "cudaEventSynchronize_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, "cudaEventRecord_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020, "cudaStreamWaitEvent_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, "cudaFree_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, "cudaGetLastError_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, "cudaDeviceReset_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, "cudaProfilerStart_v4000"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, "cudaProfilerStop_v4000"},
}};
constexpr std::array<std::pair<uint32_t, char const*>, 4> kDriverNames = {{
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, "cuStreamSynchronize"},
    {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2"},
    {CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, "cuCtxGetCurrent"},
}};

template <size_t N>
CUptiResult find_name(std::array<std::pair<uint32_t, char const*>, N> const& names,
                      uint32_t function, uint32_t end, char const** name) {
  if (function >= end) return CUPTI_ERROR_INVALID_PARAMETER;
  auto const found = std::find_if(names.begin(), names.end(),
                                  [&](auto const& entry) { return entry.first == function; });
  *name = found == names.end() ? "other" : found->second;
  return CUPTI_SUCCESS;
}

}  // namespace

FakeCupti* FakeCupti::current_ = nullptr;

/// CUPTI's signatures.
struct FakeEntryPoints {
  static FakeCupti& fake() { return *FakeCupti::current_; }
  static CUptiResult get_version(uint32_t* version) {
    *version = kOldestCuptiVersion;
    return fake().note("GetVersion");
  }
  static CUptiResult get_result_string(CUptiResult result, char const** text) {
    *text = "CUPTI_ERROR";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
    return CUPTI_SUCCESS;
  }

  static CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                               void* data) {
    CUptiResult const result = fake().note("Subscribe");
    if (result != CUPTI_SUCCESS) return result;
    *handle = nullptr;
    fake().callback_ = callback;
    fake().callback_data_ = data;
    return result;
  }
  static CUptiResult unsubscribe(CUpti_SubscriberHandle) {
    fake().callback_ = nullptr;
    return fake().note("Unsubscribe");
  }

  static CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle,
                                     CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    fake().callbacks_[{domain, id}] = enable != 0;
    return fake().note("EnableCallback");
  }
  static CUptiResult enable_domain(uint32_t enable, CUpti_SubscriberHandle,
                                   CUpti_CallbackDomain domain) {
    if (enable != 0)
      fake().domains_.insert(domain);
    else
      fake().domains_.erase(domain);
    return fake().note("EnableDomain");
  }

  static CUptiResult set_thread_id_type(CUpti_ActivityThreadIdType type) {
    fake().thread_id_type_ = type;
    return fake().note("SetThreadIdType");
  }
  static CUptiResult set_attribute(CUpti_ActivityAttribute attribute, size_t*, void* value) {
    if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
      fake().wants_zeroed_buffers_ = *static_cast<uint8_t*>(value) != 0;
    fake().attributes_.insert(attribute);
    return fake().note("ActivitySetAttribute");
  }

  static CUptiResult get_timestamp(uint64_t* time) {
    *time = static_cast<uint64_t>(monotonic_ns() + fake().clock_offset_ns);
    auto const answer = fake().answers.find("GetTimestamp");
    return answer == fake().answers.end() ? CUPTI_SUCCESS : answer->second;
  }
  static CUptiResult register_timestamp(CUpti_TimestampCallbackFunc callback) {
    fake().timestamp_ = callback;
    return fake().note("ActivityRegisterTimestampCallback");
  }

  static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) {
    fake().request_ = request;
    fake().complete_ = complete;
    return fake().note("ActivityRegisterCallbacks");
  }

  static CUptiResult enable(CUpti_ActivityKind kind) {
    CUptiResult result = fake().note(fmt::format("ActivityEnable {}", static_cast<int>(kind)));
    if (auto const all = fake().answers.find("ActivityEnable"); all != fake().answers.end())
      result = all->second;
    if (result == CUPTI_SUCCESS) fake().enabled_.insert(kind);
    return result;
  }
  static CUptiResult disable(CUpti_ActivityKind kind) {
    fake().enabled_.erase(kind);
    return fake().note(fmt::format("ActivityDisable {}", static_cast<int>(kind)));
  }

  static CUptiResult get_dropped(CUcontext, uint32_t, size_t* dropped) {
    *dropped = std::exchange(fake().dropped, 0);
    return fake().note("ActivityGetNumDroppedRecords");
  }
  static CUptiResult flush_all(uint32_t flag) {
    CUptiResult const result =
        fake().note(flag == 0 ? "ActivityFlushAll" : "ActivityFlushAll forced");
    if (flag != 0) fake().deliver_held();
    return result;
  }
  static CUptiResult finalize() {
    fake().deliver_held();
    fake().callback_ = nullptr;
    fake().callbacks_.clear();
    fake().domains_.clear();
    return fake().note("Finalize");
  }

  static CUptiResult enable_runtime(CUpti_CallbackId function, uint8_t enable) {
    fake().functions_[{CUPTI_CB_DOMAIN_RUNTIME_API, function}] = enable != 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_driver(CUpti_CallbackId function, uint8_t enable) {
    fake().functions_[{CUPTI_CB_DOMAIN_DRIVER_API, function}] = enable != 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_hw_trace(uint8_t) { return fake().note("ActivityEnableHWTrace"); }

  // A handle is what FakeCupti::stream() makes of its numbers, a context its own number.
  static CUresult get_current_context(CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(uint64_t{fake().current_context});
    return CUDA_SUCCESS;
  }
  static CUptiResult get_context_id(CUcontext context, uint32_t* number) {
    *number = static_cast<uint32_t>(reinterpret_cast<uint64_t>(context));
    return fake().note("GetContextId");
  }
  static CUptiResult get_stream_id(CUcontext context, CUstream stream, uint8_t, uint32_t* number) {
    if (reinterpret_cast<uint64_t>(stream) >> 32 != reinterpret_cast<uint64_t>(context))
      return CUPTI_ERROR_INVALID_STREAM;
    *number = static_cast<uint32_t>(reinterpret_cast<uint64_t>(stream));
    return fake().note("GetStreamIdEx");
  }
  static CUptiResult enable_all_sync(uint8_t) {
    return fake().note("ActivityEnableAllSyncRecords");
  }
};

CUstream FakeCupti::stream(uint32_t context, uint32_t number) {
  return reinterpret_cast<CUstream>(uint64_t{context} << 32 | number);
}

FakeCupti::FakeCupti() {
  EXPECT_EQ(current_, nullptr);
  current_ = this;
}
FakeCupti::~FakeCupti() { current_ = nullptr; }

CuptiApi FakeCupti::api() {
  using Fake = FakeEntryPoints;
  return {.get_version = Fake::get_version,
          .get_result_string = Fake::get_result_string,
          .get_callback_name = get_callback_name,

          .subscribe = Fake::subscribe,
          .unsubscribe = Fake::unsubscribe,
          .enable_callback = Fake::enable_callback,
          .enable_domain = Fake::enable_domain,
          .set_thread_id_type = Fake::set_thread_id_type,
          .set_attribute = Fake::set_attribute,

          .get_timestamp = Fake::get_timestamp,
          .register_timestamp_callback = Fake::register_timestamp,
          .register_callbacks = Fake::register_callbacks,

          .enable = Fake::enable,
          .disable = Fake::disable,
          .get_next_record = get_next_record,
          .get_num_dropped_records = Fake::get_dropped,
          .flush_all = Fake::flush_all,
          .finalize = Fake::finalize,

          .enable_runtime_api = Fake::enable_runtime,
          .enable_driver_api = Fake::enable_driver,
          .enable_hw_trace = Fake::enable_hw_trace,
          .enable_all_sync_records = Fake::enable_all_sync,
          .get_context_id = Fake::get_context_id,
          .get_stream_id = Fake::get_stream_id,
          .get_current_context = Fake::get_current_context,
          .of_subscriber =
              current_ != nullptr && current_->shares ? subscriber_api() : SubscriberApi{}};
}

CUptiResult FakeCupti::note(std::string const& call) {
  {
    std::lock_guard const lock(mutex_);
    calls_.push_back(call);
  }
  if (inside) inside(call);
  auto const answer = answers.find(call);
  return answer == answers.end() ? CUPTI_SUCCESS : answer->second;
}

void FakeCupti::deliver_held() {
  while (!held_.empty()) complete({});
}

bool FakeCupti::request() {
  Buffer buffer;
  size_t max_records = 0;
  request_(&buffer.data, &buffer.size, &max_records);
  EXPECT_FALSE(crashes_without_buffer && buffer.data == nullptr) << "CUPTI crashes";
  if (buffer.data == nullptr) return false;
  requested_bytes_ = buffer.size;
  held_.push_back(buffer);
  return true;
}

void FakeCupti::complete(Buffer const& buffer, RecordBuffer const& records) {
  std::copy(records.bytes().begin(), records.bytes().end(), buffer.data);
  complete_(nullptr, 0, buffer.data, buffer.size, records.bytes().size());
}

void FakeCupti::complete(RecordBuffer const& records) {
  ASSERT_FALSE(held_.empty());
  Buffer const buffer = held_.front();
  held_.erase(held_.begin());
  ASSERT_LE(records.bytes().size(), buffer.size);
  complete(buffer, records);
}

bool FakeCupti::complete_last(RecordBuffer const& records) {
  if (held_.empty() || records.bytes().size() > held_.back().size) return false;
  Buffer const buffer = held_.back();
  held_.pop_back();
  complete(buffer, records);
  return true;
}

bool FakeCupti::play(RecordBuffer const& records) {
  if (!request()) return false;
  complete(records);
  return true;
}

void FakeCupti::callback(CUpti_CallbackDomain domain, CUpti_CallbackId function,
                         CUpti_ApiCallbackSite site) {
  auto const one = callbacks_.find({domain, function});
  bool const wanted = domains_.contains(domain) || (one != callbacks_.end() && one->second);
  if (!wanted || callback_ == nullptr) return;
  CUpti_CallbackData data{};
  data.callbackSite = site;
  get_callback_name(domain, function, &data.functionName);
  callback_(callback_data_, domain, function, &data);
}

void FakeCupti::program_calls(CUpti_runtime_api_trace_cbid function) {
  program_enters(function);
  program_leaves(function);
}

void FakeCupti::program_calls(CUpti_driver_api_trace_cbid function) {
  callback(CUPTI_CB_DOMAIN_DRIVER_API, function, CUPTI_API_ENTER);
  callback(CUPTI_CB_DOMAIN_DRIVER_API, function, CUPTI_API_EXIT);
}

void FakeCupti::program_enters(CUpti_runtime_api_trace_cbid function) {
  callback(CUPTI_CB_DOMAIN_RUNTIME_API, function, CUPTI_API_ENTER);
}

void FakeCupti::program_leaves(CUpti_runtime_api_trace_cbid function) {
  callback(CUPTI_CB_DOMAIN_RUNTIME_API, function, CUPTI_API_EXIT);
}

void FakeCupti::tell_state(CUpti_CallbackIdState state, char const* message) {
  CUpti_StateData data{};
  data.notification = {CUPTI_ERROR_UNKNOWN, message};
  if (callbacks_[{CUPTI_CB_DOMAIN_STATE, state}])
    callback_(callback_data_, CUPTI_CB_DOMAIN_STATE, state, &data);
}

void FakeCupti::driver_is_initialized() {
  CUpti_ResourceData data{};
  if (callbacks_[{CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED}])
    callback_(callback_data_, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
              &data);
}

std::vector<std::string> FakeCupti::calls() const {
  std::lock_guard const lock(mutex_);
  return calls_;
}

size_t FakeCupti::count(std::string const& call) const {
  auto const all = calls();
  return static_cast<size_t>(std::count(all.begin(), all.end(), call));
}

size_t FakeCupti::position(std::string const& call) const {
  auto const all = calls();
  auto const found = std::find(all.begin(), all.end(), call);
  EXPECT_NE(found, all.end()) << call << " was not called";
  return static_cast<size_t>(found - all.begin());
}

std::set<CUpti_ActivityKind> FakeCupti::enabled() const { return enabled_; }

size_t FakeCupti::enabled_functions() const {
  auto const is_on = [](auto const& entry) { return entry.second; };
  auto const drivers = std::count_if(functions_.begin(), functions_.end(), [](auto const& entry) {
    return entry.first.first == CUPTI_CB_DOMAIN_DRIVER_API && entry.second;
  });
  return static_cast<size_t>(drivers + std::count_if(callbacks_.begin(), callbacks_.end(), is_on)) +
         domains_.size();
}

bool FakeCupti::driver_function_enabled(CUpti_driver_api_trace_cbid function) const {
  auto const found = functions_.find({CUPTI_CB_DOMAIN_DRIVER_API, function});
  return found != functions_.end() && found->second;
}

bool FakeCupti::runtime_function_enabled(CUpti_runtime_api_trace_cbid function) const {
  auto const found = functions_.find({CUPTI_CB_DOMAIN_RUNTIME_API, function});
  return found == functions_.end() ? enabled_.contains(CUPTI_ACTIVITY_KIND_RUNTIME) : found->second;
}

CUptiResult FakeCupti::get_next_record(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  size_t at = 0;
  if (*record != nullptr)
    at = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer) +
         record_bytes((*record)->kind);

  if (at + sizeof(CUpti_Activity) > valid_bytes) {
    if (current_ != nullptr) ++current_->buffers_read_;
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }

  auto* const next = reinterpret_cast<CUpti_Activity*>(buffer + at);
  size_t const bytes = record_bytes(next->kind);
  if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
  if (at + bytes > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;

  *record = next;
  return CUPTI_SUCCESS;
}

CUptiResult FakeCupti::get_callback_name(CUpti_CallbackDomain domain, uint32_t function,
                                         char const** name) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API
             ? find_name(kDriverNames, function, CUPTI_DRIVER_TRACE_CBID_SIZE, name)
             : find_name(kRuntimeNames, function, CUPTI_RUNTIME_TRACE_CBID_SIZE, name);
}

}  // namespace stepscope::tracer
