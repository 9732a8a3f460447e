// CUDA graphs of a device's compute stream, by stream capture. Other threads capture, allocate and
// wait meanwhile: the capture forbids unsafe calls to its own thread only.
// https://docs.nvidia.com/cuda/cuda-c-programming-guide/#creating-a-graph-using-stream-capture
#include <utility>

#include "trace/base/check.h"
#include "workloads/backend/cuda/cuda_device.h"

namespace stepscope::workloads::cuda {
namespace {

class CudaGraph final : public LaunchGraph {
 public:
  CudaGraph(char const* name, int gpu, cudaGraphExec_t executable, uint64_t operations,
            void const* workspace)
      : name_(name),
        gpu_(gpu),
        executable_(executable),
        operations_(operations),
        workspace_(workspace) {}
  ~CudaGraph() override {
    cudaSetDevice(gpu_);
    cudaGraphExecDestroy(executable_);
  }
  CudaGraph(CudaGraph const&) = delete;
  CudaGraph& operator=(CudaGraph const&) = delete;

  [[nodiscard]] char const* name() const { return name_; }
  [[nodiscard]] cudaGraphExec_t executable() const { return executable_; }
  [[nodiscard]] uint64_t operations() const { return operations_; }
  /// Operations have been given it: it must still be the device's.
  [[nodiscard]] void const* workspace() const { return workspace_; }

 private:
  char const* name_;
  int gpu_;
  cudaGraphExec_t executable_;
  uint64_t operations_;
  void const* workspace_;
};

}  // namespace

void CudaDevice::count_operation() {
  if (capture_) {
    ++capture_->operations;
  } else {
    kernels_.fetch_add(1, std::memory_order_relaxed);
  }
}

void CudaDevice::refuse(std::string_view why) {
  if (capture_ && !capture_->refused) capture_->refused = std::string(why);
}

bool CudaDevice::is_refused(std::string_view what) {
  if (!capture_) return false;
  refuse(fmt::format("{} cannot be part of a graph", what));
  return true;
}

void CudaDevice::begin_capture() {
  STEPSCOPE_CHECK(!capture_);
  capture_.emplace();

  if (failed()) return refuse("the device has failed");
  if (settings_.faults.synchronize_every_op)
    return refuse("with --pathology sync-every-op the host waits for each operation");

  activate();
  auto const begun = to_expected(
      cudaStreamBeginCapture(stream(StreamKind::kCompute), cudaStreamCaptureModeThreadLocal),
      "cudaStreamBeginCapture");
  capture_->begun = begun.has_value();
  if (!begun) refuse(begun.error().message);
}

Expected<std::unique_ptr<LaunchGraph>> CudaDevice::end_capture(char const* name) {
  STEPSCOPE_CHECK(capture_.has_value());
  activate();
  cudaGraph_t graph = nullptr;

  if (capture_->begun) {
    auto const ended = to_expected(cudaStreamEndCapture(stream(StreamKind::kCompute), &graph),
                                   "cudaStreamEndCapture");
    if (!ended) refuse(ended.error().message);
  }

  cudaGraphExec_t executable = nullptr;
  if (!capture_->refused && capture_->operations > 0) {
    auto const made =
        to_expected(cudaGraphInstantiateWithFlags(&executable, graph, 0), "cudaGraphInstantiate");
    if (!made) refuse(made.error().message);
  }

  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();  // of a capture that was refused: the next launch would be taken for failed
  GraphCapture const capture = *std::exchange(capture_, std::nullopt);

  if (capture.refused) return base::fail("{}", *capture.refused);
  if (executable == nullptr) return std::unique_ptr<LaunchGraph>();
  return std::make_unique<CudaGraph>(name, settings_.gpu, executable, capture.operations,
                                     workspace());
}

void CudaDevice::replay(LaunchGraph& graph) {
  auto const& cuda_graph = dynamic_cast<CudaGraph const&>(graph);
  STEPSCOPE_CHECK(!capture_ && cuda_graph.workspace() == workspace());
  if (!begin_launch()) return;

  graphs_.fetch_add(1, std::memory_order_relaxed);
  kernels_.fetch_add(cuda_graph.operations(), std::memory_order_relaxed);

  enqueue(
      StreamKind::kCompute, cuda_graph.name(),
      [&] { return fmt::format("{} operations", cuda_graph.operations()); },
      [&](cudaStream_t stream) {
        return to_expected(cudaGraphLaunch(cuda_graph.executable(), stream), "cudaGraphLaunch");
      });
  after_launch(StreamKind::kCompute, false);
}

}  // namespace stepscope::workloads::cuda
