// Writes the first inputs of the fuzzers of commands and of the viewer: usage make_command_corpus
// FOLDER (tests/fuzz/corpus). Deterministic. Texts stay as they are, so that a fuzzer can change
// them.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/fuzz/mutators/damaged_trace.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/trace/file/sample_trace.h"
#include "trace/base/check.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/codec/summary_codec.h"
#include "trace/file/writer.h"

namespace {

using namespace stepscope;
namespace fs = std::filesystem;

using Blocks = std::vector<fuzz::LooseBlock>;

struct Seed {
  std::string name;
  Blocks blocks;
  uint8_t choice = 0;  ///< index into command_lines()
};

Blocks blocks_of(model::Trace const& trace) {
  fs::path const path = fs::temp_directory_path() / "stepscope-command-corpus.stepscope";
  fs::remove(path);
  auto const written = file::write_trace(trace, path);
  STEPSCOPE_CHECK(written.has_value());
  auto const bytes = base::MappedFile::open(path);
  Blocks blocks = fuzz::take_apart(bytes->bytes());
  fs::remove(path);
  return blocks;
}

bool has_type(fuzz::LooseBlock const& block, file::BlockType type) {
  return block.header.type == static_cast<uint16_t>(type);
}

/// The list of steps names a track that there is not.
Blocks with_steps_of_no_track(Blocks blocks) {
  for (fuzz::LooseBlock& block : blocks) {
    if (!has_type(block, file::BlockType::kSteps)) continue;

    std::vector<file::StepSpan> steps;
    STEPSCOPE_CHECK(file::decode_steps(block.payload, block.header.rows, steps));
    for (file::StepSpan& step : steps) step.track.value = 100'000;

    file::ColumnEncoder columns;
    base::ByteWriter payload;
    file::encode_steps(steps, columns, payload);
    block.payload.assign(payload.span().begin(), payload.span().end());
  }
  return blocks;
}

/// Summaries count more events than their tracks have.
Blocks with_large_summaries(Blocks blocks) {
  for (fuzz::LooseBlock& block : blocks) {
    if (!has_type(block, file::BlockType::kSummary)) continue;

    model::TrackSummary summary;
    STEPSCOPE_CHECK(
        file::decode_summary(block.payload, block.header.rows, block.header.max_end, summary));
    for (uint32_t& starts : summary.starts) starts = UINT32_MAX;

    file::ColumnEncoder columns;
    base::ByteWriter payload;
    file::encode_summary(summary, columns, payload);
    block.payload.assign(payload.span().begin(), payload.span().end());
  }
  return blocks;
}

/// A description of tracks begins far behind all others.
Blocks with_many_tracks(Blocks blocks) {
  std::string const text = R"({"first":60000,"tracks":[{"kind":0,"name":"thread"}]})";
  auto const bytes = std::as_bytes(std::span(text));
  file::BlockHeader const header{.type = static_cast<uint16_t>(file::BlockType::kTracks)};
  blocks.push_back({header, {bytes.begin(), bytes.end()}});
  return blocks;
}

/// A block of events belongs to the last track that a header can name.
Blocks with_last_track(Blocks blocks) {
  for (fuzz::LooseBlock& block : blocks)
    if (has_type(block, file::BlockType::kEvents)) block.header.track = file::kMaxTracks - 1;
  return blocks;
}

std::vector<Seed> seeds() {
  auto const one = support::make_synthetic_run({.devices = 1, .steps = 3, .layers = 1});
  auto const two = support::make_synthetic_run({.devices = 2, .steps = 3, .layers = 2});
  Blocks const small = blocks_of(one.ranks[0].trace);

  std::vector<Seed> all;
  all.push_back({"empty", blocks_of(file::sample_trace(7, 0, 0)), 0});
  all.push_back({"one", blocks_of(file::sample_trace(7, 1, 1)), 6});
  all.push_back({"every-kind", blocks_of(file::sample_trace(7, 3, 24)), 12});
  all.push_back({"one-device", small, 17});
  all.push_back({"two-devices", blocks_of(two.ranks[0].trace), 3});
  all.push_back({"steps-of-no-track", with_steps_of_no_track(small), 2});
  all.push_back({"large-summaries", with_large_summaries(small), 2});
  all.push_back({"many-tracks", with_many_tracks(blocks_of(file::sample_trace(7, 3, 24))), 2});
  all.push_back({"last-track", with_last_track(small), 0});
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
  }

  for (Seed const& seed : seeds()) {
    std::mt19937_64 random(1);
    auto const bytes = fuzz::put_together(seed.blocks, fuzz::IndexForm::kTrue, random);
    for (char const* const target : {"commands", "viewer"}) {
      fs::create_directories(fs::path(argv[1]) / target);
      std::ofstream out(fs::path(argv[1]) / target / seed.name, std::ios::binary);
      out.put(static_cast<char>(seed.choice));
      out.write(reinterpret_cast<char const*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    }
  }

  return 0;
}
