// How a program tells Stepscope (or any NVTX tool) what its training loop is doing: steps, phases,
// waiting for input, and what memory is for. Header-only over NVTX 3: without a tool attached a
// range costs about a nanosecond; nothing is linked.
//
//   for (int64_t i = 0; i < steps; ++i) {
//     stepscope::api::Step step(i);
//     { stepscope::api::InputWait wait; batch = loader.next(); }
//     { stepscope::api::Phase phase("forward"); ... }
//   }
//
// On the wire: push/pop ranges in the NVTX domain "stepscope" whose category says what the range
// means (AnnotationCategory). Other languages can push the same ranges; docs/guide/ANNOTATIONS.md
// documents them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sys/syscall.h>
#include <unistd.h>

#if !__has_include(<nvtx3/nvToolsExt.h>)
#error "stepscope needs the headers of NVTX 3: -I/usr/local/cuda/include, or pip's nvidia-nvtx"
#endif
#include <nvtx3/nvToolsExt.h>

namespace stepscope::api {

/// NVTX category ids of the domain "stepscope".
enum class AnnotationCategory : uint32_t {
  kNone = 0,   ///< a range with a name and no further meaning
  kStep = 1,   ///< one training step; payload: int64, the step's index
  kPhase = 2,  ///< a named part of a step: forward, backward, optimizer, evaluate, checkpoint, ...
  kInputWait = 3,  ///< the thread waits for training data
  kMemory = 4,     ///< allocations made inside belong to the category named by the message
};

inline nvtxDomainHandle_t annotation_domain() {
  static nvtxDomainHandle_t const domain = nvtxDomainCreateA("stepscope");
  return domain;
}

/// A push/pop range on the calling thread for the lifetime of the object. Not movable: NVTX ranges
/// nest per thread.
class Range {
 public:
  Range(AnnotationCategory category, char const* message) { push(category, message, nullptr); }
  Range(AnnotationCategory category, char const* message, int64_t payload) {
    push(category, message, &payload);
  }
  ~Range() { nvtxDomainRangePop(annotation_domain()); }
  Range(Range const&) = delete;
  Range& operator=(Range const&) = delete;

 private:
  static void push(AnnotationCategory category, char const* message, int64_t const* payload) {
    nvtxEventAttributes_t attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = static_cast<uint32_t>(category);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = message;

    if (payload != nullptr) {
      attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
      attributes.payload.llValue = *payload;
    }

    nvtxDomainRangePushEx(annotation_domain(), &attributes);
  }
};

/// One training step on the calling thread; `index` counts from 0 over the whole job (a resumed job
/// goes on counting).
class Step : public Range {
 public:
  explicit Step(int64_t index) : Range(AnnotationCategory::kStep, "step", index) {}
};

/// A named part of a step. `name` is copied by the tool; it only has to live through the call.
class Phase : public Range {
 public:
  explicit Phase(char const* name) : Range(AnnotationCategory::kPhase, name) {}
};

/// Anything else worth seeing on the calling thread's track: "decode batch", "write checkpoint".
class Work : public Range {
 public:
  explicit Work(char const* name) : Range(AnnotationCategory::kNone, name) {}
};

namespace detail {

/// A mark with a number on the calling thread's track.
inline void mark_number(char const* name, nvtxPayloadType_t type,
                        decltype(nvtxEventAttributes_t::payload) value) {
  nvtxEventAttributes_t attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;

  attributes.payloadType = type;
  attributes.payload = value;
  nvtxDomainMarkEx(annotation_domain(), &attributes);
}

}  // namespace detail

/// A number worth seeing at this moment on the calling thread's track: a mark, and a point of the
/// curve `name`. The name is copied. Integers and numbers with a fraction are kept exactly.
inline void note(char const* name, int64_t value) {
  decltype(nvtxEventAttributes_t::payload) payload;
  payload.llValue = value;
  detail::mark_number(name, NVTX_PAYLOAD_TYPE_INT64, payload);
}
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void note(char const* name, Number value) {
  [[maybe_unused]] decltype(nvtxEventAttributes_t::payload) payload;

  if constexpr (std::is_floating_point_v<Number>) {
    payload.dValue = static_cast<double>(value);
    detail::mark_number(name, NVTX_PAYLOAD_TYPE_DOUBLE, payload);
  } else if constexpr (std::is_unsigned_v<Number> && sizeof(Number) == sizeof(uint64_t)) {
    payload.ullValue = value;
    detail::mark_number(name, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, payload);
  } else {
    note(name, static_cast<int64_t>(value));
  }
}

/// The calling thread waits for training data; `name` says for what.
class InputWait : public Range {
 public:
  explicit InputWait(char const* name = "wait for batch")
      : Range(AnnotationCategory::kInputWait, name) {}
};

/// Device memory allocated inside belongs to `category`: weights, gradients, optimizer,
/// activations, workspace, input or other.
class MemoryCategory : public Range {
 public:
  explicit MemoryCategory(char const* category) : Range(AnnotationCategory::kMemory, category) {}
};

/// Names the calling thread in traces; the name is copied.
inline void name_this_thread(char const* name) {
  nvtxNameOsThreadA(static_cast<uint32_t>(::syscall(SYS_gettid)), name);
}

}  // namespace stepscope::api
