// A trace file that opens, so that its run is known, and whose events cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/file/format.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::support {

/// Rewrites the index of the trace at `path`: it claims more events than any memory holds.
inline void make_unreadable(std::string const& path) {
  std::vector<file::IndexEntry> blocks;
  {
    auto const file = file::TraceFile::open(path);
    ASSERT_TRUE(file);
    blocks.assign(file->blocks().begin(), file->blocks().end());
  }
  for (file::IndexEntry& block : blocks)
    if (block.header.type == static_cast<uint16_t>(file::BlockType::kEvents)) block.header.rows = UINT32_MAX;
  auto writer = file::TraceWriter::append_to(path, blocks);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->finish());
}

}  // namespace stepscope::support
