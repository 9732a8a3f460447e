// zstd for block payloads, with the limits that untrusted input needs.
#pragma once

#include <optional>
#include <vector>

#include "trace/base/bytes.h"

namespace stepscope::file {

/// The zstd frame of `raw`, or nothing when it would not be smaller.
std::optional<std::vector<std::byte>> compress(base::ByteSpan raw);
/// Exactly `raw_size` bytes, or nothing when the frame is damaged or holds another amount.
std::optional<std::vector<std::byte>> decompress(base::ByteSpan stored, size_t raw_size);

}  // namespace stepscope::file
