// Where the blocks of a file are: from its index, or, where a killed program left none, found by
// walking the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/index.h"
#include "trace/model/trace.h"

namespace stepscope::file {

/// A place of a file that cannot be read.
struct DamagedPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  BlockHeader header;   ///< of the block that is there; type 0 = not even that is known
  bool is_end = false;  ///< the file ends in it: it was cut, or a program was killed while it wrote
  bool is_derived = false;  ///< nothing recorded was in it, only what follows from that: summaries,
                            ///< steps, an index
};

struct BlockList {
  std::vector<IndexEntry>
      blocks;  ///< in the order of the file, indexes not among them; from a walk only sound ones
  std::vector<DamagedPlace> damage;  ///< what the walk passed over
  bool indexed = false;              ///< from the index at the end: nothing but that was read
  bool finished =
      false;  ///< the recorder came to its end: behind the blocks of this list nothing was recorded
};

/// `bytes` begin with a sound file header.
BlockList find_blocks(base::ByteSpan bytes);

/// A block as a place that is damaged.
DamagedPlace damaged_block(IndexEntry const& entry);

/// What is lost there, for people: "65,536 events of stream compute, from 0.1 s to 5.37 s".
std::string describe(DamagedPlace const& place, std::span<model::Track const> tracks);

/// The places of an indexed file that no block of its index and no replaced index takes.
std::vector<DamagedPlace> unclaimed_places(base::ByteSpan bytes,
                                           std::vector<IndexEntry> const& blocks);

}  // namespace stepscope::file
