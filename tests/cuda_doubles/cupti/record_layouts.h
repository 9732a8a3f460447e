// The structure that each version of CUPTI writes for each kind of record: THE table.
//
// A version writes the newest structure of its headers. Which headers have which structure is
// known from two sources. One is NVIDIA's "CUPTI Release Notes" (docs.nvidia.com/cupti). The other
// is the bindings of CUDA.jl, which its authors generate from the headers of each CUDA toolkit
// (JuliaGPU/CUDA.jl, libcupti.jl, one commit a toolkit). Structures up to CUDA 13.0 are those of
// the installed headers. Newer ones are spelled out here, with the sizes of those bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cupti.h>

namespace stepscope::cuda_doubles {

/// Releases of CUDA as cuptiGetVersion() numbers them.
inline constexpr uint32_t k12v0 = 19, k12v2 = 20, k12v3 = 21, k12v4 = 22, k12v5 = 23, k12v6 = 24,
                          k12v8 = 26, k12v9 = 27, k13v0 = 130'000, k13v0Update1 = 130'001,
                          k13v1 = 130'100, k13v2 = 130'200, k13v3 = 130'300, k13v4 = 130'400;

// Newer than the headers of CUDA 13.0. Each adds its fields behind the others.

struct Kernel11 : CUpti_ActivityKernel10 {
  int32_t priority;
  uint32_t padding4;
};
struct Kernel12 : Kernel11 {
  uint32_t executionModel;
  uint32_t padding5;
};
struct Kernel13 : Kernel12 {
  uint32_t sourceGraphId;
  uint32_t padding6;
  uint64_t sourceGraphNodeId;
};
struct Memcpy7 : CUpti_ActivityMemcpy6 {
  uint32_t sourceGraphId;
  uint32_t pad3;
  uint64_t sourceGraphNodeId;
};
struct Memset5 : CUpti_ActivityMemset4 {
  uint32_t sourceGraphId;
  uint32_t pad3;
  uint64_t sourceGraphNodeId;
};
struct Device6 : CUpti_ActivityDevice5 {
  uint32_t numTpcs;
  uint32_t reserved0;
};
struct Context4 : CUpti_ActivityContext3 {
  uint64_t processId;
};

static_assert(sizeof(Kernel11) == 224 && sizeof(Kernel12) == 232 && sizeof(Kernel13) == 248);
static_assert(sizeof(Memcpy7) == 112 && sizeof(Memset5) == 104);
static_assert(sizeof(Device6) == 192 && sizeof(Context4) == 40);

/// From that version on CUPTI writes this structure, up to the next one's version.
template <uint32_t kFirst, class Structure>
struct Layout {
  using Record = Structure;
  static constexpr uint32_t first = kFirst;
};

/// The structures of one kind, newest first.
template <class... Structures>
struct Layouts {};

// 13.4, 13.1, 13.0 and 12.0: release notes of each. 13.3: CUDA.jl 7f47c1d2. The sizes of 13.1 to
// 13.4: CUDA.jl 06c04635, 7f47c1d2 and 4def2e6e.
using KernelLayouts =
    Layouts<Layout<k13v4, Kernel13>, Layout<k13v3, Kernel12>, Layout<k13v1, Kernel11>,
            Layout<k13v0, CUpti_ActivityKernel10>, Layout<k12v0, CUpti_ActivityKernel9>>;
// 12.8: release notes. 13.4: CUDA.jl 4def2e6e, and the "CUPTI API Reference" of 13.4 Update 1.
using CopyLayouts = Layouts<Layout<k13v4, Memcpy7>, Layout<k12v8, CUpti_ActivityMemcpy6>,
                            Layout<k12v0, CUpti_ActivityMemcpy5>>;
// No newer one up to 13.4: CUDA.jl aca936bc (12.0) to 4def2e6e (13.4).
using PeerCopyLayouts = Layouts<Layout<k12v0, CUpti_ActivityMemcpyPtoP4>>;
// As copies.
using FillLayouts = Layouts<Layout<k13v4, Memset5>, Layout<k12v0, CUpti_ActivityMemset4>>;
// No newer one up to 13.4: CUDA.jl, as above.
using CallLayouts = Layouts<Layout<k12v0, CUpti_ActivityAPI>>;
// 12.8: CUDA.jl 69b2809d; later headers call the older one "deprecated in CUDA 12.8".
using SyncLayouts = Layouts<Layout<k12v8, CUpti_ActivitySynchronization2>,
                            Layout<k12v0, CUpti_ActivitySynchronization>>;
// 12.8: release notes.
using EventLayouts =
    Layouts<Layout<k12v8, CUpti_ActivityCudaEvent2>, Layout<k12v0, CUpti_ActivityCudaEvent>>;
// 12.6: release notes.
using MemoryLayouts =
    Layouts<Layout<k12v6, CUpti_ActivityMemory4>, Layout<k12v0, CUpti_ActivityMemory3>>;
// 13.0: release notes.
using PoolLayouts =
    Layouts<Layout<k13v0, CUpti_ActivityMemoryPool3>, Layout<k12v0, CUpti_ActivityMemoryPool2>>;
// 12.4: release notes. 12.3: CUDA.jl e677de33; later headers call the oldest one deprecated since
// 12.2, but those of 12.2 have no other (CUDA.jl 74af1495).
using OverheadLayouts =
    Layouts<Layout<k12v4, CUpti_ActivityOverhead3>, Layout<k12v3, CUpti_ActivityOverhead2>,
            Layout<k12v0, CUpti_ActivityOverhead>>;
// 13.2: release notes. 12.2: CUDA.jl 74af1495.
using DeviceLayouts = Layouts<Layout<k13v2, Device6>, Layout<k12v2, CUpti_ActivityDevice5>,
                              Layout<k12v0, CUpti_ActivityDevice4>>;
// 12.5 and 12.4: release notes. 13.1: CUDA.jl 06c04635, and the "CUPTI API Reference" of 13.1
// Update 1.
using ContextLayouts =
    Layouts<Layout<k13v1, Context4>, Layout<k12v5, CUpti_ActivityContext3>,
            Layout<k12v4, CUpti_ActivityContext2>, Layout<k12v0, CUpti_ActivityContext>>;
// No newer ones up to 13.4: CUDA.jl, as above.
using ExternalLayouts = Layouts<Layout<k12v0, CUpti_ActivityExternalCorrelation>>;
using StreamLayouts = Layouts<Layout<k12v0, CUpti_ActivityStream>>;
using AttributeLayouts = Layouts<Layout<k12v0, CUpti_ActivityDeviceAttribute>>;

/// Calls `use` with an empty record, in the structure that this version writes.
template <class Newest, class... Older, class Use>
decltype(auto) with_record(Layouts<Newest, Older...> /*layouts*/, uint32_t version, Use&& use) {
  if constexpr (sizeof...(Older) > 0)
    if (version < Newest::first)
      return with_record(Layouts<Older...>{}, version, std::forward<Use>(use));
  return use(typename Newest::Record{});
}

/// Calls `use` with the layouts of that kind, or returns `otherwise` where none are known.
template <class Result, class Use>
Result with_layouts(CUpti_ActivityKind kind, Result otherwise, Use&& use) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return use(KernelLayouts{});
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return use(CopyLayouts{});
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return use(PeerCopyLayouts{});
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return use(FillLayouts{});

    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return use(CallLayouts{});
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return use(SyncLayouts{});
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return use(EventLayouts{});
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return use(MemoryLayouts{});
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return use(PoolLayouts{});
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return use(OverheadLayouts{});

    case CUPTI_ACTIVITY_KIND_DEVICE:
      return use(DeviceLayouts{});
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return use(ContextLayouts{});
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return use(ExternalLayouts{});
    case CUPTI_ACTIVITY_KIND_STREAM:
      return use(StreamLayouts{});
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
      return use(AttributeLayouts{});
    default:
      return otherwise;
  }
}

/// Bytes of a record as that version writes it; 0 = no such kind here.
inline size_t bytes_of_record(CUpti_ActivityKind kind, uint32_t version) {
  return with_layouts(kind, size_t{0}, [&](auto layouts) {
    return with_record(layouts, version, [](auto const& record) { return sizeof record; });
  });
}

/// "cuptiActivityGetNextRecord" of that version: the next record behind `record`, or the first
/// where it is null. A record of no kind ends the reading for good, as the real libcupti of CUDA
/// 13.0 does on a hand-made buffer.
inline CUptiResult next_record_of(uint32_t version, uint8_t* buffer, size_t valid_bytes,
                                  CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  size_t offset = 0;
  if (*record != nullptr)
    offset = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer) +
             bytes_of_record((*record)->kind, version);
  if (offset + sizeof(CUpti_Activity) > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;

  auto* const next = reinterpret_cast<CUpti_Activity*>(buffer + offset);
  size_t const size = bytes_of_record(next->kind, version);
  if (size == 0) return CUPTI_ERROR_INVALID_KIND;
  if (offset + size > valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = next;
  return CUPTI_SUCCESS;
}

}  // namespace stepscope::cuda_doubles
