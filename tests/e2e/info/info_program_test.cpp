// `stepscope info` as a user runs it: says what is there without reading it.
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "trace/file/format.h"
#include "trace/file/trace_file.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class Info : public Program {
 protected:
  void SetUp() override { ASSERT_EQ(stepscope("synth --ranks 2 --events 12000 -o run").code, 0); }
};

TEST_F(Info, TellsWhatTheTracesHold) {
  json const info = json::parse(stepscope("info run --json").output);
  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run);
  ASSERT_EQ(info.size(), run->ranks.size());

  for (size_t r = 0; r < info.size(); ++r) {
    model::Trace const& trace = run->ranks[r].trace;
    EXPECT_EQ(info[r]["rank"], trace.info().rank);
    EXPECT_EQ(info[r]["events"], trace.event_count());
    EXPECT_EQ(info[r]["steps"]["first"], 0);
    EXPECT_EQ(info[r]["steps"]["last"].get<int>() + 1, info[r]["steps"]["count"].get<int>());
    EXPECT_EQ(info[r]["duration_ns"], trace.time_range().second - trace.time_range().first);
    ASSERT_EQ(info[r]["tracks"].size(), trace.tracks().size());
    for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
      EXPECT_EQ(info[r]["tracks"][track]["name"], trace.tracks()[track].name);
      EXPECT_EQ(info[r]["tracks"][track]["events"], trace.rows_of(model::TrackId{track}).size());
    }
  }
}

TEST_F(Info, ReadsNoEvents) {
  std::string const before = stepscope("info run --json").output;
  std::vector<uint64_t> payloads;
  for (file::IndexEntry const& block :
       file::TraceFile::open(path("run/rank-0.stepscope"))->blocks())
    if (block.header.type == static_cast<uint16_t>(file::BlockType::kEvents))
      payloads.push_back(block.offset + file::kBlockHeaderSize);
  ASSERT_FALSE(payloads.empty());

  std::fstream bytes(path("run/rank-0.stepscope"), std::ios::in | std::ios::out | std::ios::binary);
  for (uint64_t const place : payloads)
    bytes.seekp(static_cast<std::streamoff>(place)).put('\x5A').put('\xA5');
  bytes.close();

  EXPECT_EQ(stepscope("info run --json").output, before);
  EXPECT_NE(stepscope("doctor run").code, 0) << "they are damaged";
}

TEST_F(Info, SaysThatAProgramWasKilled) {
  std::filesystem::resize_file(path("run/rank-1.stepscope"),
                               std::filesystem::file_size(path("run/rank-1.stepscope")) / 2);
  Outcome const outcome = stepscope("info run");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.output.find("rank-1.stepscope: the file has no end"), std::string::npos)
      << outcome.output;
  json const info = json::parse(stepscope("info run --json 2>/dev/null").output);
  EXPECT_EQ(info[0]["truncated"], false);
  EXPECT_EQ(info[1]["truncated"], true);
}

}  // namespace
}  // namespace stepscope::e2e
