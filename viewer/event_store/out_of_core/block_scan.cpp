#include "viewer/event_store/out_of_core/block_scan.h"

#include "trace/file/format.h"

namespace stepscope::viewer {

std::vector<file::IndexEntry> blocks_of(import::TraceSource const& source, uint32_t track,
                                        ScanWindow const& window) {
  std::vector<file::IndexEntry> blocks;
  model::ClockDrift const& drift = source.drift();

  for (file::IndexEntry const& entry : source.file()->blocks()) {
    file::BlockHeader const& header = entry.header;
    if (header.type != static_cast<uint16_t>(file::BlockType::kEvents) || header.track != track)
      continue;
    if ((header.kinds & window.kinds) == 0) continue;
    if (drift.corrected(header.min_start) >= window.end ||
        drift.corrected(header.max_end) < window.begin)
      continue;

    blocks.push_back(entry);
  }
  return blocks;
}

}  // namespace stepscope::viewer
