// Streams, memory, copies and element-wise operations of a CUDA device; see cuda_device.h. Layers,
// collectives and graphs are in their own files.
#include "workloads/backend/cuda/cuda_device.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::cuda {
namespace {

constexpr size_t kSlowBytes = 256;  // the head of the scratch memory: when a slowed operation began
constexpr size_t kScratchBytes =
    size_t{4} << 20U;  // partial sums of columns: more would not make them faster

class GpuMemory final : public SystemMemory {
 public:
  explicit GpuMemory(int gpu) : gpu_(gpu) {}
  void* reserve(uint64_t bytes) override {
    void* data = nullptr;
    cudaSetDevice(gpu_);
    if (cudaMalloc(&data, bytes) == cudaSuccess) return data;
    cudaGetLastError();  // told as out of memory, by the arena
    return nullptr;
  }
  void give_back(void* data, uint64_t /*bytes*/) override {
    cudaSetDevice(gpu_);
    cudaFree(data);
  }

 private:
  int gpu_;
};

char const* category_name(MemoryPurpose purpose) {
  switch (purpose) {
    case MemoryPurpose::kWeights:
      return "weights";
    case MemoryPurpose::kGradients:
      return "gradients";
    case MemoryPurpose::kOptimizer:
      return "optimizer";
    case MemoryPurpose::kActivations:
      return "activations";
    case MemoryPurpose::kWorkspace:
      return "workspace";
    case MemoryPurpose::kInput:
      return "input";
    case MemoryPurpose::kOther:
      break;
  }
  return "other";
}

cudaMemcpyKind kind_of(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kHostToDevice:
      return cudaMemcpyHostToDevice;
    case CopyDirection::kDeviceToHost:
      return cudaMemcpyDeviceToHost;
    case CopyDirection::kDeviceToDevice:
      return cudaMemcpyDeviceToDevice;
    case CopyDirection::kHostToHost:
      return cudaMemcpyHostToHost;
    case CopyDirection::kPeerToPeer:
      break;
  }
  return cudaMemcpyDefault;
}

char const* advice_for(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "lower --batch, or end other programs that use the GPU";
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorSystemDriverMismatch:
      return "look at what nvidia-smi and stepscope doctor say, or use --device host";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "this build is for GPUs of compute capability 8.0 and newer, with a driver as new as "
             "its toolkit; use --device host";
    case cudaErrorDevicesUnavailable:
      return "another process holds the GPU exclusively: end it or name another GPU";
    case cudaErrorECCUncorrectable:
    case cudaErrorLaunchTimeout:
      return "the GPU is at fault or is reset: look at what dmesg and nvidia-smi say, then run "
             "again";
    default:
      return "run again under compute-sanitizer to find the operation, and report it if it is ours";
  }
}

}  // namespace

base::Expected<void> to_expected(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  return base::fail("{}: {} ({}), {}", what, cudaGetErrorString(error), cudaGetErrorName(error),
                    advice_for(error));
}

CudaDevice::CudaDevice(CudaDeviceSettings settings, std::shared_ptr<Libraries const> libraries,
                       Exchange& group)
    : settings_(std::move(settings)),
      libraries_(std::move(libraries)),
      group_(group),
      arena_(settings_.name, settings_.capacity_bytes, std::make_unique<GpuMemory>(settings_.gpu)) {
}

Expected<std::unique_ptr<CudaDevice>> CudaDevice::create(CudaDeviceSettings settings,
                                                         std::shared_ptr<Libraries const> libraries,
                                                         Exchange& group) {
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(std::move(settings), std::move(libraries), group));
  if (auto opened = device->open(); !opened)
    return base::fail("{}: {}", device->name(), opened.error().message);
  return device;
}

Expected<void> CudaDevice::open() {
  if (auto set = to_expected(cudaSetDevice(settings_.gpu), "cudaSetDevice"); !set) return set;
  for (cudaStream_t* const stream : {&streams_[0], &streams_[1], &streams_[2], &idle_}) {
    if (auto made = to_expected(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking),
                                "cudaStreamCreate");
        !made)
      return made;
  }

  Cudnn const& dnn = libraries_->cudnn;
  cudnnStatus_t status = dnn.create(&cudnn_);
  if (status == CUDNN_STATUS_SUCCESS) status = dnn.set_stream(cudnn_, stream(StreamKind::kCompute));
  if (status != CUDNN_STATUS_SUCCESS) {
    return base::fail("cuDNN cannot be used ({}), install a cuDNN 9 for the driver's CUDA version",
                      dnn.error_string(status));
  }

  if (cublasStatus_t const made = libraries_->cublas.create(&cublas_);
      made != CUBLAS_STATUS_SUCCESS) {
    return base::fail("cuBLASLt cannot be used ({}), install the one of the driver's CUDA version",
                      libraries_->cublas.status_string(made));
  }

  auto scratch = allocate(kSlowBytes + kScratchBytes, MemoryPurpose::kWorkspace, "scratch");
  if (!scratch) return base::fail_with(scratch);
  scratch_ = std::move(*scratch);

  constexpr int kTries = 100;  // the first ones wait for the driver to get ready
  for (int i = 0; i < kTries && clock_ == nullptr; ++i) clock_ = ClockBase::measure(events_, idle_);
  if (clock_ == nullptr) clock_ = ClockBase::measure(events_, idle_, ClockBase::kSlowToleranceNs);
  clock_measured_ns_ = now_ns();
  if (clock_ == nullptr)
    return base::fail("the GPU does not answer within 5 s, end other programs that use it");
  return to_expected(cudaGetLastError(), "open");
}

CudaDevice::~CudaDevice() {
  activate();
  for (cudaStream_t const stream : streams_) {
    if (stream != nullptr) cudaStreamSynchronize(stream);
  }

  staging_.clear();
  workspace_ = Buffer();
  scratch_ = Buffer();

  if (cudnn_ != nullptr) libraries_->cudnn.destroy(cudnn_);
  if (cublas_ != nullptr) libraries_->cublas.destroy(cublas_);

  for (cudaStream_t const stream : {streams_[0], streams_[1], streams_[2], idle_}) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
}

void CudaDevice::fail(std::string_view operation, std::string_view shape,
                      std::string_view message) {
  std::string const text =
      fmt::format("{}: {}{}{}: {}", name(), operation, shape.empty() ? "" : " of ", shape, message);

  {
    std::lock_guard const lock(failure_mutex_);
    if (failure_) return;
    failure_ = text;
    failed_ = true;
  }

  group_.break_up(text);
}

Expected<void> CudaDevice::failure() const {
  std::lock_guard const lock(failure_mutex_);
  if (!failure_) return {};
  return tl::unexpected<base::Error>(base::Error{*failure_});
}

// Memory.

Expected<Buffer> CudaDevice::allocate(size_t bytes, MemoryPurpose purpose, std::string_view owner) {
  api::MemoryCategory const category(
      category_name(purpose));  // the tracer sees cudaMalloc, where the arena has to grow
  if (settings_.faults.uncached_memory) synchronize();
  Expected<Arena::Block> const block = arena_.allocate(bytes, purpose, owner);
  if (!block) return base::fail_with(block);
  return Buffer(*this, block->data, bytes);
}

void CudaDevice::release(void* data) {
  arena_.release(data);
  if (settings_.faults.uncached_memory) arena_.give_back();
}

Expected<void> CudaDevice::reserve_workspace(size_t bytes, std::string_view owner) {
  if (bytes <= workspace_.bytes()) return {};
  synchronize();
  workspace_ = Buffer();
  Expected<Buffer> grown = allocate(bytes, MemoryPurpose::kWorkspace, owner);
  if (!grown) return base::fail_with(grown);
  workspace_ = std::move(*grown);
  return {};
}

uint64_t* CudaDevice::slow_begin() const { return static_cast<uint64_t*>(scratch_.data()); }

Scratch CudaDevice::scratch() const {
  return {scratch_.floats() + kSlowBytes / sizeof(float), kScratchBytes / sizeof(float)};
}

std::shared_ptr<void> CudaDevice::pin(void const* data, size_t bytes) {
  if (settings_.faults.pageable_copies || bytes == 0) return nullptr;
  void* const memory = const_cast<void*>(data);  // CUDA takes it as mutable and changes nothing
  activate();
  if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess)
    return {memory, cudaHostUnregister};
  cudaGetLastError();  // copies of it are slower then, nothing else
  return nullptr;
}

// Order.

Event CudaDevice::record(StreamKind kind) {
  if (is_refused("an event")) return std::make_shared<CudaEvent>(events_, clock_, nullptr);
  activate();

  cudaEvent_t event = nullptr;
  if (!failed()) {
    if (int64_t const now = now_ns(); now - clock_measured_ns_ > ClockBase::kMaxAgeNs) {
      clock_measured_ns_ = now;
      if (auto fresh = ClockBase::measure(events_, idle_)) clock_ = std::move(fresh);
    }

    event = events_->take();
    cudaError_t const error =
        event == nullptr ? cudaGetLastError() : cudaEventRecord(event, stream(kind));
    if (auto done = to_expected(error, "cudaEventRecord"); !done)
      fail("record event", "", done.error().message);
  }

  return std::make_shared<CudaEvent>(events_, clock_, event);
}

void CudaDevice::wait(StreamKind kind, Event const& event) {
  auto const* const cuda_event = dynamic_cast<CudaEvent const*>(event.get());
  STEPSCOPE_CHECK(cuda_event != nullptr);
  if (failed() || is_refused("a wait for an event") || cuda_event->event() == nullptr) return;
  activate();
  auto done =
      to_expected(cudaStreamWaitEvent(stream(kind), cuda_event->event(), 0), "cudaStreamWaitEvent");
  if (!done) fail("wait for event", "", done.error().message);
}

// After a failure, too: copies that were launched before it still use the caller's memory. fail()
// keeps the first failure only, and has collectives end that would wait for others.
void CudaDevice::synchronize(Event const& event) {
  auto const* const cuda_event = dynamic_cast<CudaEvent const*>(event.get());
  STEPSCOPE_CHECK(cuda_event != nullptr);
  if (is_refused("a wait of the host") || cuda_event->event() == nullptr) return;
  GroupWatch::Waiting const waiting(group_.watch(), settings_.index);
  auto done =
      to_expected(cudaEventSynchronize(cuda_event->event()), "an operation launched before it");
  if (!done) fail("synchronize", "", done.error().message);
}

void CudaDevice::synchronize() {
  if (is_refused("a wait of the host")) return;
  GroupWatch::Waiting const waiting(group_.watch(), settings_.index);
  for (StreamKind const kind :
       {StreamKind::kCompute, StreamKind::kCopy, StreamKind::kCommunication}) {
    activate();
    auto done = to_expected(cudaStreamSynchronize(stream(kind)), "an operation launched before it");
    if (!done) fail("synchronize", "", done.error().message);
  }
}

// Launches.

bool CudaDevice::begin_launch() {
  if (failed()) return false;
  activate();
  if (capture_) return !capture_->refused;

  launches_.fetch_add(1, std::memory_order_relaxed);
  if (settings_.faults.launch_delay_us == 0) return true;

  api::Work const range("busy host");
  int64_t const end = now_ns() + settings_.faults.launch_delay_us * 1000;
  while (now_ns() < end) {  // busy, not asleep: that is what it stands for
  }
  return true;
}

void CudaDevice::after_launch(StreamKind kind, bool is_copy) {
  if (is_capturing()) return;
  DeviceFaults const& faults = settings_.faults;
  if (faults.synchronize_every_op || (is_copy && faults.pageable_copies)) synchronize(record(kind));
}

void CudaDevice::copy(StreamKind kind, char const* name, void* to, void const* from, size_t bytes,
                      CopyDirection direction) {
  if (is_refused(name) || !begin_launch()) return;

  copies_.fetch_add(1, std::memory_order_relaxed);
  if (direction == CopyDirection::kHostToDevice)
    host_to_device_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (direction == CopyDirection::kDeviceToHost)
    device_to_host_bytes_.fetch_add(bytes, std::memory_order_relaxed);

  enqueue(
      kind, name, [=] { return fmt::format("{} bytes", bytes); },
      [=](cudaStream_t stream) {
        return to_expected(cudaMemcpyAsync(to, from, bytes, kind_of(direction), stream),
                           "cudaMemcpyAsync");
      });
  after_launch(kind, true);
}

void CudaDevice::run(char const* name, elementwise::Op const& op, size_t count) {
  size_t const largest = settings_.faults.largest_operation;
  size_t const piece = largest > 0 ? largest : std::max<size_t>(1, count);

  for (size_t first = 0; first < count; first += piece) {
    size_t const last = std::min(count, first + piece);
    launch(
        name, [=] { return fmt::format("{} elements", last - first); },
        [&](cudaStream_t stream) -> Expected<void> {
          run_elements(stream, op, first, last);
          return {};
        });
  }
}

void CudaDevice::run_rows(char const* name, rowwise::Op const& op, int64_t rows) {
  launch(
      name, [=] { return fmt::format("{} rows", rows); },
      [&](cudaStream_t stream) -> Expected<void> {
        cuda::run_rows(stream, op, rows, scratch());
        return {};
      });
}

OpCounts CudaDevice::counts() const {
  return {launches_.load(),
          kernels_.load(),
          copies_.load(),
          collectives_.load(),
          host_to_device_bytes_.load(),
          device_to_host_bytes_.load(),
          collective_bytes_.load(),
          graphs_.load()};
}

}  // namespace stepscope::workloads::cuda
