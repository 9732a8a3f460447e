// Blocks with sound checksums that claim what cannot be: numbers of a hostile or damaged file are
// checked before anything trusts them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/mutators/damaged_trace.h"
#include "tests/unit/trace/file/sample_trace.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/trace_file.h"
#include "trace/file/writer.h"

namespace stepscope::file {
namespace {

using Bytes = std::vector<std::byte>;
using Blocks = std::vector<fuzz::LooseBlock>;

bool is_of_type(fuzz::LooseBlock const& block, BlockType type) {
  return block.header.type == static_cast<uint16_t>(type);
}

Blocks sample_blocks() {
  TemporaryFile const file;
  EXPECT_TRUE(write_trace(sample_trace(7, 3, 24), file.path()));
  auto const mapped = base::MappedFile::open(file.path());
  return fuzz::take_apart(mapped->bytes());
}

Bytes file_of(Blocks const& blocks) {
  std::mt19937_64 random(1);
  return fuzz::put_together(blocks, fuzz::IndexForm::kTrue, random);
}

/// A sample with another list of steps than its events have.
Bytes with_steps(std::vector<StepSpan> const& steps) {
  Blocks blocks = sample_blocks();
  for (fuzz::LooseBlock& block : blocks) {
    if (!is_of_type(block, BlockType::kSteps)) continue;

    ColumnEncoder columns;
    base::ByteWriter payload;
    encode_steps(steps, columns, payload);

    block.payload.assign(payload.span().begin(), payload.span().end());
    block.header.rows = static_cast<uint32_t>(steps.size());
  }

  return file_of(blocks);
}

std::vector<StepSpan> steps_of_file(Bytes const& bytes) {
  auto const file = TraceFile::open(bytes, "sample");
  EXPECT_TRUE(file);
  auto const steps = file->steps();
  EXPECT_TRUE(steps);
  return *steps;
}

TEST(DamagedClaims, impossible_steps_are_taken_from_the_events_instead) {
  struct Case {
    char const* what;
    std::vector<StepSpan> steps;
  };
  std::vector<Case> const cases = {
      {"a track that is not there", {{model::TrackId{3}, 0, 10, 0}}},
      {"a start before all time", {{model::TrackId{0}, INT64_MIN, 10, 0}}},
      {"an end behind all time", {{model::TrackId{0}, model::kMaxTime, 1, 0}}},
      {"a negative duration", {{model::TrackId{0}, 0, -1, 0}}},
      {"not by start", {{model::TrackId{0}, 10, 1, 0}, {model::TrackId{0}, 0, 1, 1}}}};

  std::vector<StepSpan> const true_steps = steps_of_file(file_of(sample_blocks()));
  ASSERT_FALSE(true_steps.empty());

  for (Case const& each : cases)
    EXPECT_EQ(steps_of_file(with_steps(each.steps)), true_steps) << each.what;
}

TEST(DamagedClaims, a_summary_counts_no_more_events_than_its_track_has) {
  auto const summary_of = [](Blocks const& blocks) {
    Bytes const bytes = file_of(blocks);
    auto const file = TraceFile::open(bytes, "sample");
    EXPECT_TRUE(file);
    return file->summary(model::TrackId{0});
  };

  Blocks blocks = sample_blocks();
  auto const sound = summary_of(blocks);
  ASSERT_TRUE(sound);

  for (fuzz::LooseBlock& block : blocks) {
    if (!is_of_type(block, BlockType::kSummary) || block.header.track != 0) continue;
    model::TrackSummary summary;
    ASSERT_TRUE(decode_summary(block.payload, block.header.rows, block.header.max_end, summary));
    summary.starts.front() = UINT32_MAX;

    ColumnEncoder columns;
    base::ByteWriter payload;
    encode_summary(summary, columns, payload);
    block.payload.assign(payload.span().begin(), payload.span().end());
  }

  auto const made_anew = summary_of(blocks);
  ASSERT_TRUE(made_anew);
  EXPECT_EQ(made_anew->starts, sound->starts);
}

TEST(DamagedClaims, a_possible_list_of_steps_is_believed) {
  std::vector<StepSpan> const steps = {{model::TrackId{0}, 5, 10, 7},
                                       {model::TrackId{2}, -5, 10, 8}};
  EXPECT_EQ(steps_of_file(with_steps(steps)), steps);
}

TEST(DamagedClaims, a_header_cannot_ask_for_a_million_tracks) {
  Blocks blocks = sample_blocks();
  auto const events = std::find_if(blocks.begin(), blocks.end(),
                                   [](auto const& b) { return is_of_type(b, BlockType::kEvents); });
  ASSERT_NE(events, blocks.end());

  events->header.track = kMaxTracks - 1;

  Bytes const bytes = file_of(blocks);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);

  EXPECT_EQ(file->tracks().size(), 3);
  EXPECT_EQ(file->known_losses().lost_blocks, 1);
  EXPECT_EQ(file->read()->log().lost_blocks, 1);
}

TEST(DamagedClaims, a_description_cannot_ask_for_a_million_tracks) {
  Blocks blocks = sample_blocks();
  std::string const text = R"({"first":1000000,"tracks":[{"kind":0,"name":"thread"}]})";
  auto const bytes_of_text = std::as_bytes(std::span(text));
  blocks.push_back({{.type = static_cast<uint16_t>(BlockType::kTracks)},
                    {bytes_of_text.begin(), bytes_of_text.end()}});

  Bytes const bytes = file_of(blocks);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);

  EXPECT_EQ(file->tracks().size(), 3);
  EXPECT_EQ(file->known_losses().lost_blocks, 1);
}

TEST(DamagedClaims, tracks_cannot_name_more_devices_than_a_process_has) {
  constexpr size_t kTracks = 6000;
  std::string text = R"({"first":0,"tracks":[)";
  for (size_t i = 0; i < kTracks; ++i)
    text += fmt::format(
        R"({}{{"kind":1,"name":"stream of some length, so that the file is large enough","device":{}}})",
        i > 0 ? "," : "", i);
  text += "]}";

  Blocks blocks = sample_blocks();
  auto const bytes_of_text = std::as_bytes(std::span(text));
  blocks.push_back({{.type = static_cast<uint16_t>(BlockType::kTracks)},
                    {bytes_of_text.begin(), bytes_of_text.end()}});

  Bytes const bytes = file_of(blocks);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->tracks().size(), kTracks);

  std::set<int32_t> devices;
  for (model::Track const& track : file->tracks()) devices.insert(track.device);

  EXPECT_LE(devices.size(), 4097);
  EXPECT_EQ(file->tracks()[100].device, 100);
  EXPECT_EQ(file->known_losses().lost_blocks, 1);
}

TEST(DamagedClaims, a_few_bytes_cannot_claim_as_many_events_as_memory_holds) {
  constexpr uint32_t kBlocks = 1000;
  Blocks blocks = sample_blocks();
  auto const events = std::find_if(blocks.begin(), blocks.end(),
                                   [](auto const& b) { return is_of_type(b, BlockType::kEvents); });
  ASSERT_NE(events, blocks.end());

  // A block without columns: all its rows are zeros.
  fuzz::LooseBlock zeros{events->header, {std::byte{0}}};
  zeros.header.rows = kMaxBlockRows;
  blocks.insert(blocks.end(), kBlocks, zeros);

  Bytes const bytes = file_of(blocks);
  ASSERT_LT(bytes.size(), 200'000);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);

  EXPECT_LE(file->event_count(), 1U << 22);
  EXPECT_GE(file->find_damage().size(), kBlocks - (1U << 22) / kMaxBlockRows);
}

TEST(DamagedClaims, a_few_bytes_cannot_claim_millions_of_collectives) {
  constexpr uint32_t kBlocks = 50;
  Blocks blocks = sample_blocks();
  auto const events = std::find_if(blocks.begin(), blocks.end(),
                                   [](auto const& b) { return is_of_type(b, BlockType::kEvents); });
  ASSERT_NE(events, blocks.end());

  fuzz::LooseBlock zeros{events->header, {std::byte{0}}};
  zeros.header.rows = kMaxBlockRows;
  zeros.header.kinds = uint64_t{1} << static_cast<int>(model::EventKind::kCollective);
  blocks.insert(blocks.end(), kBlocks, zeros);

  Bytes const bytes = file_of(blocks);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);

  EXPECT_LE(file->event_count(), (1U << 19) + 1000);
  EXPECT_GT(file->event_count(), (1U << 19) - kMaxBlockRows)
      << "what a file of that size could hold stays";
}

TEST(DamagedClaims, a_block_claims_no_more_rows_than_one_can_have) {
  Blocks blocks = sample_blocks();
  uint32_t lost = 0;
  for (fuzz::LooseBlock& block : blocks) {
    if (!is_of_type(block, BlockType::kEvents)) continue;
    block.header.rows = UINT32_MAX;
    ++lost;
  }

  Bytes const bytes = file_of(blocks);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->event_count(), 0);

  auto const trace = file->read();
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->log().lost_blocks, lost);
}

TEST(DamagedClaims, empty_texts_cost_what_they_take_in_memory) {
  Blocks blocks = sample_blocks();
  constexpr uint32_t kTexts = 8U << 20;

  base::ByteWriter payload;
  payload.put(uint32_t{1});
  payload.put(kTexts);
  payload.grow(size_t{kTexts} * sizeof(uint32_t));
  blocks.push_back({{.type = static_cast<uint16_t>(BlockType::kStrings)},
                    {payload.span().begin(), payload.span().end()}});

  // As if it had been compressed to a few kB.
  base::ByteWriter frame;
  Compressor().compress(blocks.back().payload, frame);
  blocks.back().header.compressed = 1;
  blocks.back().header.raw_size = static_cast<uint32_t>(blocks.back().payload.size());
  blocks.back().payload.assign(frame.span().begin(), frame.span().end());

  Bytes const bytes = file_of(blocks);
  auto const file = TraceFile::open(bytes, "sample");
  ASSERT_TRUE(file);

  EXPECT_LT(file->texts().size(), kTexts);
  EXPECT_EQ(file->find_damage().size(), 1);
}

TEST(DamagedClaims, steps_of_a_whole_that_cannot_be_are_forgotten) {
  for (char const* const member :
       {R"("whole_step_count":-5)", R"("chosen_first_step":-9223372036854775807)",
        R"("whole_step_count":3,"whole_first_step":-9223372036854775807)"}) {
    Blocks blocks = sample_blocks();
    std::string const text = std::string(R"({"info":{)") + member + "}}";
    auto const bytes_of_text = std::as_bytes(std::span(text));
    blocks.push_back({{.type = static_cast<uint16_t>(BlockType::kDescription)},
                      {bytes_of_text.begin(), bytes_of_text.end()}});

    Bytes const bytes = file_of(blocks);
    auto const file = TraceFile::open(bytes, "sample");
    ASSERT_TRUE(file);

    EXPECT_EQ(file->info().whole_steps.count, 0);
    EXPECT_EQ(file->info().whole_steps.first, 0);
    EXPECT_EQ(file->info().whole_steps.chosen_first, 0);
  }
}

/// A file as a writer leaves it, or as it is when its writer was killed before the end.
struct Written {
  TemporaryFile place;
  uint64_t bytes = 0;

  template <class Write>
  Written(Write const& write, bool ends) {
    auto writer = TraceWriter::create(place.path());
    EXPECT_TRUE(writer);
    model::ImportLog const log;
    EXPECT_TRUE(writer->write_description({}, {}, log));

    write(*writer);
    if (ends) {
      EXPECT_TRUE(writer->finish());
    }

    bytes = writer->bytes_written();
  }
};

/// `blocks` full blocks of one track, as regular as can be.
void write_regular(TraceWriter& writer, model::EventKind kind, int blocks) {
  std::vector<model::Track> const tracks = {
      {.kind = model::TrackKind::kThread, .name = "main", .id = 1}};
  EXPECT_TRUE(writer.write_tracks(model::TrackId{0}, tracks));

  constexpr int64_t kPeriodNs = 1000;
  int64_t start = 0;
  for (int block = 0; block < blocks; ++block) {
    model::EventBatch batch;
    for (size_t row = 0; row < kMaxBlockRows; ++row, start += kPeriodNs) {
      if (kind == model::EventKind::kCollective)
        batch.add(kind, start, kPeriodNs / 2, model::StringId{0}, 0, model::CollectiveDetail{});
      else
        batch.add(kind, start, kPeriodNs / 2, model::StringId{0}, 0);
    }

    EXPECT_TRUE(writer.write_events(model::TrackId{0}, batch));
  }
}

TEST(GenuineClaims, perfectly_regular_events_of_a_small_file_are_all_there) {
  struct Case {
    model::EventKind kind;
    int blocks;
    uint64_t most_bytes;  ///< padding included
  };
  // 0.9 million collectives, 5 million ranges.
  for (Case const& each : {Case{model::EventKind::kCollective, 14, 1'000'000},
                           Case{model::EventKind::kRange, 80, 1'500'000}}) {
    for (bool const ends : {true, false}) {
      Written const written(
          [&](TraceWriter& writer) { write_regular(writer, each.kind, each.blocks); }, ends);

      EXPECT_LT(written.bytes, each.most_bytes);
      auto const file = TraceFile::open(written.place.path());
      ASSERT_TRUE(file);

      EXPECT_EQ(file->event_count(), static_cast<uint64_t>(each.blocks) * kMaxBlockRows);
      EXPECT_EQ(file->known_losses().lost_blocks, 0);
      EXPECT_TRUE(file->find_damage().empty());
    }
  }
}

TEST(GenuineClaims, texts_and_tracks_that_are_all_alike_are_all_there) {
  constexpr uint32_t kTexts = 80, kTracks = 100'000;
  std::string const long_text(1 << 20, 'x');

  std::vector<std::string_view> const texts(kTexts, long_text);
  std::vector<model::Track> const tracks(
      kTracks, {.kind = model::TrackKind::kThread, .name = "the same name", .id = 1});

  Written const written(
      [&](TraceWriter& writer) {
        EXPECT_TRUE(writer.write_tracks(model::TrackId{0}, tracks));
        EXPECT_TRUE(writer.write_strings(1, texts));
      },
      true);

  auto const file = TraceFile::open(written.place.path());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->tracks().size(), kTracks);
  EXPECT_EQ(file->known_losses().lost_blocks, 0);

  auto const trace = file->read();
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->log().lost_blocks, 0);
}

}  // namespace
}  // namespace stepscope::file
