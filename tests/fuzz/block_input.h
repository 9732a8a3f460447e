// The input of fuzz_trace_blocks: blocks without the checksums and the compression that keep a
// fuzzer out of their payloads. Each is u16 type (its highest bit: to be compressed), u16 track,
// u32 rows, u32 size, then the payload. An index without payload is the true one of the blocks
// before it; every index is followed by an end.
#pragma once

#include "trace/base/bytes.h"
#include "trace/file/format.h"

namespace stepscope::fuzz {

/// A .stepscope file of the blocks that `input` describes. A block that is cut is taken as far as
/// it goes.
base::ByteWriter file_of_blocks(base::ByteSpan input);
/// Appends one block to an input.
void put_block(base::ByteWriter& input, file::BlockHeader const& header,
               base::ByteSpan raw_payload);

}  // namespace stepscope::fuzz
