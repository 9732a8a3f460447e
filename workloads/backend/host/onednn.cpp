// Packed weights; see onednn.h.
#include "workloads/backend/host/onednn.h"

#include <utility>

namespace stepscope::workloads::host {

Expected<PackedWeights> PackedWeights::create(HostDevice& device, dnnl::memory::desc const& plain,
                                              dnnl::memory::desc const& packed,
                                              std::string const& owner) {
  PackedWeights weights;
  weights.device_ = &device;
  weights.plain_ = plain;
  weights.packed_ = packed;
  weights.same_ = plain == packed;
  if (weights.same_) return weights;

  Expected<Buffer> buffer = device.allocate(packed.get_size(), MemoryPurpose::kWorkspace, owner);
  if (!buffer) return base::fail_with(buffer);
  weights.buffer_ = std::move(*buffer);

  dnnl::engine const& engine = device.engine();
  weights.pack_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, plain, engine, packed));
  weights.unpack_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, packed, engine, plain));

  return weights;
}

dnnl::memory PackedWeights::pack(float const* plain) {
  dnnl::memory from = tensor(*device_, plain_, plain);
  if (same_) return from;
  dnnl::memory to = tensor(*device_, packed_, buffer_.data());
  pack_.execute(device_->math(), from, to);
  return to;
}

dnnl::memory PackedWeights::target(float* plain) {
  return same_ ? tensor(*device_, plain_, plain) : tensor(*device_, packed_, buffer_.data());
}

void PackedWeights::unpack(float* plain) {
  if (same_) return;
  dnnl::memory from = tensor(*device_, packed_, buffer_.data());
  dnnl::memory to = tensor(*device_, plain_, plain);
  unpack_.execute(device_->math(), from, to);
}

}  // namespace stepscope::workloads::host
