// A .stepscope file taken apart into its blocks and put together again, so that a fuzzer gets past
// the checksums. It changes what a block holds or claims, and the new file has sound checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/format.h"

namespace stepscope::fuzz {

/// A block without compression.
struct LooseBlock {
  file::BlockHeader header;
  std::vector<std::byte> payload;
};

/// Whether the bytes begin as a .stepscope file with room for a header does.
bool begins_as_trace(base::ByteSpan bytes);

/// Writes the right checksums into the headers of all blocks that a walk finds, and behind each
/// index the right end.
void repair_checksums(std::span<std::byte> file);

/// The blocks that a walk finds, whatever their checksums; indexes are left out.
std::vector<LooseBlock> take_apart(base::ByteSpan file);

/// What the index of a file says.
enum class IndexForm : uint8_t {
  kTrue,   ///< what is there
  kFalse,  ///< of one block something else, chosen by the random numbers
  kNone    ///< there is none, as a killed program leaves it
};
/// The true index three times of four, else a false one or none, equally often.
IndexForm any_index_form(std::mt19937_64& random);

/// A file of these blocks with sound checksums.
std::vector<std::byte> put_together(std::vector<LooseBlock> const& blocks, IndexForm index,
                                    std::mt19937_64& random);

/// One of the numbers that lengths, counts and times are compared with, or one near `old`.
uint64_t edge_number(uint64_t old, std::mt19937_64& random);

/// Changes one thing: what a header claims, a number in a column or in JSON, the blocks' order or
/// bytes of a payload. To change bytes it calls `mutate_bytes(data, size, max_size)`, which
/// returns their new size.
void mutate_blocks(std::vector<LooseBlock>& blocks, std::mt19937_64& random,
                   size_t (*mutate_bytes)(uint8_t* data, size_t size, size_t max_size));

/// Changes one member of a JSON document, somewhere in it. False: it is no JSON, and stays.
bool mutate_json(std::vector<std::byte>& document, std::mt19937_64& random);

}  // namespace stepscope::fuzz
