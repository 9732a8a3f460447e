#include "trace/file/reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "trace/base/mapped_file.h"
#include "trace/file/compression.h"
#include "trace/file/description.h"
#include "trace/file/event_codec.h"
#include "trace/file/format.h"
#include "trace/model/trace_builder.h"

namespace stepscope::file {
namespace {

using base::ByteSpan;
using base::Expected;
using base::fail;

/// The payload as it was before compression.
std::optional<std::vector<std::byte>> payload_of(Block const& block) {
  if (block.header.compressed == 1) return decompress(block.payload, block.header.raw_size);
  if (block.header.compressed != 0 || block.payload.size() != block.header.raw_size) return std::nullopt;
  return std::vector<std::byte>(block.payload.begin(), block.payload.end());
}

/// Where the index block is, when the file has a sound end.
std::optional<uint64_t> index_offset(ByteSpan bytes) {
  if (bytes.size() < kFileHeaderSize + kEndSize) return std::nullopt;
  ByteSpan const end = bytes.last(kEndSize);
  base::ByteReader in(end);
  auto const offset = in.get<uint64_t>();
  auto const checksum = in.get<uint64_t>();
  auto const magic = in.get<uint64_t>();
  if (magic != kEndMagic || checksum != XXH3_64bits(end.data(), sizeof offset)) return std::nullopt;
  return offset;
}

struct BlockList {
  std::vector<Block> blocks;
  uint64_t lost = 0;       ///< damaged places
  bool truncated = false;  ///< no index at the end
};

/// The blocks that the index names.
std::optional<BlockList> indexed_blocks(ByteSpan bytes) {
  auto const offset = index_offset(bytes);
  if (!offset) return std::nullopt;
  auto const index = block_at(bytes, *offset);
  if (!index || index->header.type != static_cast<uint16_t>(BlockType::kIndex)) return std::nullopt;
  auto const payload = payload_of(*index);
  if (!payload) return std::nullopt;
  base::ByteReader in(*payload);
  auto const count = in.get<uint32_t>();
  BlockList list;
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    auto const block_offset = in.get<uint64_t>();
    in.get_bytes(40);  // the rest repeats the block's own header; it is for readers that do not want to touch the blocks
    if (!in.ok()) break;
    if (auto const block = block_at(bytes, block_offset)) {
      list.blocks.push_back(*block);
    } else {
      ++list.lost;
    }
  }
  return list;
}

/// The next place after `from` where a block may begin, or the end.
uint64_t next_magic(ByteSpan bytes, uint64_t from) {
  static constexpr std::array kMagicBytes = {std::byte{'S'}, std::byte{'B'}, std::byte{'L'}, std::byte{'K'}};
  auto const found =
      std::search(bytes.begin() + static_cast<ptrdiff_t>(from), bytes.end(), kMagicBytes.begin(), kMagicBytes.end());
  return static_cast<uint64_t>(found - bytes.begin());
}

/// Every sound block, found by walking the file.
BlockList scanned_blocks(ByteSpan bytes) {
  BlockList list;
  list.truncated = true;
  uint64_t offset = kFileHeaderSize;
  while (offset < bytes.size()) {
    if (auto const block = block_at(bytes, offset)) {
      list.blocks.push_back(*block);
      offset += kBlockHeaderSize + block->header.stored_size;
      continue;
    }
    offset = next_magic(bytes, offset + 1);
    if (offset < bytes.size()) ++list.lost;  // something stood between two blocks
  }
  return list;
}

/// Bits of BlockHeader::kinds that only streams have.
constexpr uint64_t kDeviceKinds = (uint64_t{1} << static_cast<int>(model::EventKind::kKernel)) |
                                  (uint64_t{1} << static_cast<int>(model::EventKind::kMemcpy)) |
                                  (uint64_t{1} << static_cast<int>(model::EventKind::kMemset)) |
                                  (uint64_t{1} << static_cast<int>(model::EventKind::kCollective));

/// Fills a TraceBuilder block by block.
class TraceLoader {
 public:
  void load(BlockList const& list) {
    // Names and descriptions first: a description written later knows more.
    for (Block const& block : list.blocks)
      if (block.header.type != static_cast<uint16_t>(BlockType::kEvents) && !load_texts(block)) ++lost_;
    if (description_.columns.base.empty())
      description_.columns = current_columns();  // lost: what this version writes is the best guess
    for (model::Track const& track : tracks_) builder_.add_track(track);
    for (Block const& block : list.blocks)
      if (block.header.type == static_cast<uint16_t>(BlockType::kEvents) && !load_events(block)) ++lost_;
    finish(list);
  }
  model::Trace take() && { return std::move(builder_).finish(); }

 private:
  bool load_texts(Block const& block) {
    auto const type = static_cast<BlockType>(block.header.type);
    if (type != BlockType::kStrings && type != BlockType::kDescription && type != BlockType::kTracks)
      return true;  // of a newer version
    auto const payload = payload_of(block);
    if (!payload) return false;
    if (type == BlockType::kStrings) return load_strings(*payload);
    if (type == BlockType::kTracks) return decode_tracks(*payload, kMaxTracks, tracks_);
    Description description;
    if (!decode_description(*payload, description)) return false;
    description_ = std::move(description);
    return true;
  }

  bool load_strings(ByteSpan payload) {
    base::ByteReader in(payload);
    auto const first = in.get<uint32_t>();
    auto const count = in.get<uint32_t>();
    base::ByteReader lengths(in.get_bytes(size_t{count} * sizeof(uint32_t)));
    // Ids are given out one after the other; a gap larger than a payload could fill is damage (or a lost block: ids stay
    // unknown).
    if (!in.ok() || first > strings_.size() + kMaxPayloadBytes) return false;
    if (strings_.size() < size_t{first} + count) strings_.resize(size_t{first} + count);
    for (uint32_t i = 0; i < count; ++i) {
      ByteSpan const text = in.get_bytes(lengths.get<uint32_t>());
      if (!in.ok()) return false;
      strings_[first + i] = builder_.intern({reinterpret_cast<char const*>(text.data()), text.size()});
    }
    return true;
  }

  bool load_events(Block const& block) {
    if (block.header.track >= kMaxTracks) return false;
    add_missing_tracks(block.header);
    auto const payload = payload_of(block);
    model::EventBatch batch;
    if (!payload || !decode_events(*payload, block.header.rows, description_.columns, batch, unknown_events_)) return false;
    for (model::StringId& name : batch.name) {
      bool const known = name.value < strings_.size() && strings_[name.value].valid();
      if (!known && name.value != 0) ++unknown_names_;
      name = known ? strings_[name.value] : model::StringId{0};
    }
    builder_.append(model::TrackId{block.header.track}, std::move(batch));
    return true;
  }

  /// Events are worth more than the name of their track: where the description was lost, a track without a name takes them.
  void add_missing_tracks(BlockHeader const& header) {
    while (builder_.track_count() <= header.track) {
      bool const device = (header.kinds & kDeviceKinds) != 0;
      builder_.add_track({.kind = device ? model::TrackKind::kStream : model::TrackKind::kThread,
                          .name = fmt::format("track {} (its description is lost)", builder_.track_count()),
                          .id = static_cast<int64_t>(builder_.track_count()),
                          .device = device ? 0 : -1});
    }
  }

  void finish(BlockList const& list) {
    builder_.info() = description_.info;
    for (model::Device const& device : description_.devices) builder_.add_device(device);
    model::ImportLog& log = builder_.log();
    log = description_.log;
    log.truncated = list.truncated;
    log.lost_blocks += list.lost + lost_;
    log.unknown_events += unknown_events_;
    if (list.truncated)
      log.notes.emplace_back(
          "the file has no end: the program was killed, is still running, or the file was cut; everything written until then is "
          "here");
    if (list.lost + lost_ > 0) log.notes.push_back(fmt::format("{} damaged blocks were left out", list.lost + lost_));
    if (unknown_names_ > 0) log.notes.push_back(fmt::format("{} events have lost their names", unknown_names_));
  }

  model::TraceBuilder builder_;
  Description description_;
  std::vector<model::Track> tracks_;
  std::vector<model::StringId> strings_;
  uint64_t lost_ = 0, unknown_events_ = 0, unknown_names_ = 0;
};

}  // namespace

bool is_stepscope_file(ByteSpan bytes) {
  return bytes.size() >= kFileMagic.size() && std::memcmp(bytes.data(), kFileMagic.data(), kFileMagic.size()) == 0;
}

Expected<model::Trace> read_trace(ByteSpan bytes, std::string const& name) {
  if (bytes.empty()) return fail("{}: is empty, record the run again", name);
  if (!is_stepscope_file(bytes)) return fail("{}: is not a .stepscope file, name a trace that stepscope recorded", name);
  base::ByteReader in(bytes.subspan(kFileMagic.size()));
  auto const version = in.get<uint32_t>();
  if (!in.ok()) return fail("{}: is cut after {} bytes, record the run again", name, bytes.size());
  if (version == 0 || version > kFormatVersion)
    return fail("{}: has format version {}, this program reads up to {}, update stepscope", name, version, kFormatVersion);
  auto const indexed = indexed_blocks(bytes);
  TraceLoader loader;
  loader.load(indexed ? *indexed : scanned_blocks(bytes));
  return std::move(loader).take();
}

Expected<model::Trace> read_trace_file(std::string const& path) {
  auto const mapped = base::MappedFile::open(path);
  if (!mapped) return base::fail_with(mapped);
  return read_trace(mapped->bytes(), path);
}

}  // namespace stepscope::file
