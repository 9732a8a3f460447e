// A trace file that opens, so that its run is known, and whose events cannot be read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/file/format.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::support {

/// Rewrites the index of the trace at `path`: it claims more events than any memory holds. A file
/// as large as that needs a hole.
inline void make_unreadable(std::string const& path) {
  std::vector<file::IndexEntry> blocks;
  {
    auto const file = file::TraceFile::open(path);
    ASSERT_TRUE(file);
    blocks.assign(file->blocks().begin(), file->blocks().end());
  }

  constexpr size_t kClaimedBlocks = size_t{1} << 16;
  constexpr uintmax_t kHoleBytes = uintmax_t{1} << 31;
  auto const events = std::find_if(blocks.begin(), blocks.end(), [](file::IndexEntry const& block) {
    return block.header.type == static_cast<uint16_t>(file::BlockType::kEvents);
  });
  ASSERT_NE(events, blocks.end());

  file::IndexEntry claimed = *events;
  claimed.header.rows = file::kMaxBlockRows;
  claimed.offset = std::filesystem::file_size(path);
  claimed.size = file::kBlockHeaderSize + claimed.header.stored_size;
  for (size_t i = 0; i < kClaimedBlocks; ++i, claimed.offset += claimed.size)
    blocks.push_back(claimed);
  ASSERT_LT(claimed.offset, kHoleBytes);

  std::filesystem::resize_file(path, kHoleBytes);
  auto writer = file::TraceWriter::append_to(path, blocks);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->finish());
}

}  // namespace stepscope::support
