// oneDNN in this backend's terms: memory descriptors of the layouts of backend.h, tensors over
// device pointers, weights in a layout that a primitive chooses, and errors as Expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <dnnl.hpp>

#include "workloads/backend/host/host_device.h"
#include "workloads/backend/host/onednn_versions.h"
#include "workloads/backend/host/threads.h"

namespace stepscope::workloads::host {

using Arguments = std::unordered_map<int, dnnl::memory>;

/// oneDNN's dimension order is batch, channels, height, width whatever the layout.
inline dnnl::memory::desc images(int64_t batch, int64_t height, int64_t width, int64_t channels) {
  return {{batch, channels, height, width},
          dnnl::memory::data_type::f32,
          dnnl::memory::format_tag::nhwc};
}
inline dnnl::memory::desc any_layout(dnnl::memory::dims const& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}
inline dnnl::memory::desc vector_of(int64_t count) {
  return {{count}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a};
}
inline dnnl::memory::desc matrix(int64_t rows, int64_t columns) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab};
}

/// oneDNN takes every pointer as mutable; it writes only to what the primitive writes to.
inline dnnl::memory tensor(HostDevice const& device, dnnl::memory::desc const& desc,
                           void const* data) {
  return {desc, device.engine(), const_cast<void*>(data)};
}

/// Scratch memory comes from the device's workspace, so that it is counted as device memory.
inline dnnl::primitive_attr workspace_attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops after;
    append_function(after, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(after);
  }
  return attributes;
}

/// Weights that a primitive wants packed: `pack` fills the packed copy from the plain weights,
/// `unpack` the other way. Without a difference in layout nothing is copied.
class PackedWeights {
 public:
  static Expected<PackedWeights> create(HostDevice& device, dnnl::memory::desc const& plain,
                                        dnnl::memory::desc const& packed, std::string const& owner);
  dnnl::memory pack(float const* plain);
  /// Where the primitive writes; call unpack() afterwards.
  dnnl::memory target(float* plain);
  void unpack(float* plain);

 private:
  HostDevice* device_ = nullptr;
  dnnl::memory::desc plain_, packed_;
  bool same_ = true;
  Buffer buffer_;
  dnnl::reorder pack_, unpack_;
};

/// Runs `make` (which may throw dnnl::error) with the device's threads; errors name the layer.
template <class Make>
auto plan(HostDevice const& device, std::string_view layer, Make make)
    -> Expected<decltype(make())> {
  ScopedWorkerThreads const threads(device.threads());

  try {
    return make();
  } catch (dnnl::error const& error) {
    return base::fail(
        "{}: {}: oneDNN has no implementation for this shape ({}), use another --batch",
        device.name(), layer, error.what());
  }
}

}  // namespace stepscope::workloads::host
