// A process with one device, whose memory calls a test writes one by one.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer::testing_support {

class MemoryRun {
 public:
  static constexpr int64_t kStepNs = 1000;  ///< step i begins at i × kStepNs

  explicit MemoryRun(uint64_t capacity_bytes, int64_t steps = 0) {
    using namespace model;
    builder_.add_device({0, "device", capacity_bytes, 0, 0});
    thread_ = builder_.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
    stream_ = builder_.add_track({TrackKind::kStream, "stream", 0, 0, StreamKind::kCompute, 0});
    for (int64_t step = 0; step < steps; ++step) add_step(step);
  }

  /// Leaves depths out, as a reader does that needs no nesting.
  void leave_out_depth() { builder_.leave_out_depth(); }
  void range(int64_t begin, int64_t end, std::string const& name,
             model::EventKind kind = model::EventKind::kRange) {
    builder_.events(thread_).add(kind, begin, end - begin, builder_.intern(name));
  }
  void launch(int64_t at) {
    builder_.events(thread_).add(model::EventKind::kLaunch, at, 1, builder_.intern("launch"), 0);
  }
  /// A call whose effect another event reports, or none.
  void call(int64_t at, std::string const& name) { add(at, name, model::MemoryDetail()); }
  void api(int64_t at, std::string const& name) { range(at, at + 1, name, model::EventKind::kApi); }
  void pin(int64_t at) {
    model::MemoryDetail detail;
    detail.op = model::MemoryOp::kAllocate;
    detail.memory = model::MemoryKind::kPinned;
    add(at, "cudaHostAlloc", detail);
  }

  struct Block {
    uint64_t address, bytes;
    model::MemoryPurpose purpose = model::MemoryPurpose::kOther;
    std::string name = "allocate";
  };
  /// Totals follow from the blocks, unless set_before() says that there were others.
  void allocate(int64_t at, Block const& block, uint64_t reserved_bytes) {
    allocated_ += block.bytes;
    add(at, block.name, detail_of(block, reserved_bytes, model::MemoryOp::kAllocate));
  }
  void free(int64_t at, Block const& block, uint64_t reserved_bytes) {
    allocated_ -= block.bytes;
    add(at, "free", detail_of(block, reserved_bytes, model::MemoryOp::kFree));
  }
  /// `bytes` were allocated before the recording began.
  void set_before(uint64_t bytes) { allocated_ = bytes; }

  model::Run make() && {
    model::Run run;
    run.ranks.push_back({std::move(builder_).finish(), 0, ""});
    return run;
  }
  MemoryStats facts(AnalyzeOptions const& options = {}) && {
    return analyze(std::move(*this).make(), options).devices.at(0).memory;
  }

 private:
  void add_step(int64_t step) {
    using namespace model;
    int64_t const begin = step * kStepNs;
    auto const correlation = static_cast<uint64_t>(step + 1);
    builder_.events(thread_).add(EventKind::kStep, begin, kStepNs, builder_.intern("step"), 0,
                                 StepDetail{step});
    builder_.events(thread_).add(EventKind::kLaunch, begin + kStepNs - 20, 1,
                                 builder_.intern("launch"), correlation);
    builder_.events(stream_).add(EventKind::kKernel, begin + kStepNs - 10, 10,
                                 builder_.intern("kernel"), correlation, KernelDetail{});
  }
  [[nodiscard]] model::MemoryDetail detail_of(Block const& block, uint64_t reserved_bytes,
                                              model::MemoryOp op) const {
    model::MemoryDetail detail{block.address, block.bytes, allocated_, reserved_bytes, 0, op,
                               block.purpose};
    detail.memory = model::MemoryKind::kDevice;
    return detail;
  }
  void add(int64_t at, std::string const& name, model::MemoryDetail const& detail) {
    builder_.events(thread_).add(model::EventKind::kMemory, at, 0, builder_.intern(name), 0,
                                 detail);
  }

  model::TraceBuilder builder_;
  model::TrackId thread_, stream_;
  uint64_t allocated_ = 0;
};

}  // namespace stepscope::analyzer::testing_support
