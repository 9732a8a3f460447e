// Reads the "args" of Kineto's events into detail rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/import/common/process_groups.h"
#include "trace/model/details.h"

namespace stepscope::import {

/// The arguments of a device op, or of a call that launches one. A value that the event does not
/// have keeps its default.
struct KinetoArguments {
  uint64_t correlation = 0;
  std::optional<int32_t> device;
  std::optional<int64_t> stream;
  std::optional<int64_t> step;            ///< of a range that JAX or TensorFlow marks as a step
  std::optional<int64_t> step_around;     ///< in which the range is (Megatron)
  std::optional<int64_t> sequence;        ///< among ops of its name there (Megatron)
  std::optional<int64_t> model_chunk;     ///< part of the model of a stage with several
  uint64_t bytes = 0;                     ///< of a copy
  model::KernelDetail kernel;             ///< as far as a kernel says
  bool is_collective = false;             ///< says what it communicates
  model::CollectiveDetail collective;     ///< then
  GroupMembers group;                     ///< and whose it is
  std::optional<int64_t> wait_on_stream;  ///< of a wait of a stream
  uint64_t wait_on_correlation = 0;       ///< of the call that recorded the event
  std::string_view sync_kind;             ///< "Stream Wait Event"
  int32_t peer_device = -1;               ///< of a copy between devices
};
/// `arguments`: the object as it stands. What is broken in it is left out.
KinetoArguments read_kineto_arguments(std::string_view arguments);

/// An instant that is named "[memory]", on a device.
struct KinetoMemory {
  int64_t bytes = 0;  ///< < 0: freed
  uint64_t address = 0;
  std::optional<uint64_t> allocated_bytes, reserved_bytes;  ///< missing in old versions
  int64_t device_type = 0;                                  ///< 0 = the host
  int32_t device = -1;

  [[nodiscard]] model::MemoryDetail detail() const;
};
KinetoMemory read_kineto_memory(std::string_view arguments);

/// "Memcpy HtoD (Pinned -> Device)" → the copy's direction, and whether the host's side is
/// page-locked.
model::CopyDetail copy_of_name(std::string_view name);

/// A whole number, quoted or not; nothing for another text.
std::optional<int64_t> parse_integer(std::string_view number);
/// A finite number.
std::optional<double> parse_real(std::string_view number);
/// The last digits of a text: 7 of "stream 7".
std::optional<int64_t> trailing_number(std::string_view text);

}  // namespace stepscope::import
