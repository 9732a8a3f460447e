// Writes the first inputs of the trace fuzzers: usage make_trace_corpus FOLDER (tests/fuzz/corpus).
// Deterministic.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/fuzz/block_input.h"
#include "tests/unit/trace/file/sample_trace.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/codec/compression.h"
#include "trace/file/format.h"
#include "trace/file/writer.h"

namespace {

using namespace stepscope;

void write_bytes(std::filesystem::path const& path, base::ByteSpan bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char const*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// The file's blocks as input of fuzz_trace_blocks.
base::ByteWriter blocks_of(base::ByteSpan file) {
  base::ByteWriter out;
  uint64_t offset = file::kFileHeaderSize;
  while (auto const block = file::block_at(file, offset)) {
    auto const raw = block->header.compressed == 1
                         ? file::Decompressor().decompress(block->payload, block->header.raw_size)
                         : std::nullopt;
    base::ByteSpan payload = raw ? base::ByteSpan(*raw) : block->payload;
    // An index without payload stands for the true one.
    if (block->header.type == static_cast<uint16_t>(file::BlockType::kIndex)) payload = {};

    fuzz::put_block(out, block->header, payload);
    offset += file::kBlockHeaderSize + block->header.stored_size;
  }
  return out;
}

/// The payloads of the trace's events in blocks of up to 200 rows, as input of fuzz_event_payload.
void write_payloads(std::filesystem::path const& folder, std::string const& name,
                    model::Trace const& trace) {
  file::EventEncoder encoder;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    model::EventView events = trace.events_of(model::TrackId{track});
    model::EventView const rows = events.take_front(std::min<size_t>(events.size(), 200));

    base::ByteWriter out;
    out.put(static_cast<uint8_t>(rows.size()));
    encoder.encode(rows, out);
    write_bytes(folder / fmt::format("{}-{}", name, track), out.span());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
  }

  std::filesystem::path const folder = argv[1];
  struct Sample {
    char const* name;
    int tracks, events;
  };

  for (Sample const& sample : {Sample{"empty", 0, 0}, Sample{"one", 1, 1}, Sample{"small", 3, 24},
                               Sample{"larger", 2, 150}}) {
    std::filesystem::path const path =
        folder / "trace_reader" / fmt::format("{}.stepscope", sample.name);
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::remove(path);
    if (auto const done =
            file::write_trace(file::sample_trace(7, sample.tracks, sample.events), path);
        !done) {
      fmt::print(stderr, "{}\n", done.error().message);
      return 1;
    }

    write_payloads(folder / "event_payload", sample.name,
                   file::sample_trace(7, sample.tracks, sample.events));
    auto const bytes = base::MappedFile::open(path);
    write_bytes(folder / "trace_blocks" / sample.name, blocks_of(bytes->bytes()).span());
    // As a killed process leaves it: no index, half a block at the end.
    write_bytes(folder / "trace_reader" / fmt::format("{}_cut.stepscope", sample.name),
                bytes->bytes().first(bytes->bytes().size() * 3 / 4));
  }

  return 0;
}
