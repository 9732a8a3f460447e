// Where the blocks of a file are: from its index, or, where a killed program left none, found by walking the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/index.h"

namespace stepscope::file {

/// A place of a file that cannot be read.
struct DamagedPlace {
  uint64_t offset = 0, bytes = 0;
  std::string what;     ///< "65,536 events of track 3 …", "bytes that are no sound block"
  bool is_end = false;  ///< the file ends in it: it was cut, or a program was killed while it wrote
};

struct BlockList {
  std::vector<IndexEntry> blocks;  ///< in the order of the file; from a scan only sound ones
  std::vector<DamagedPlace> damage;
  bool indexed = false;
};

/// `bytes` begin with a sound file header.
BlockList find_blocks(base::ByteSpan bytes);

}  // namespace stepscope::file
