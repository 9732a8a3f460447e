// `stepscope slice` as a user runs it: the part analyzes as it does in the whole, nothing private
// is left, and messages explain wrong use.
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/fuzz/mutators/damaged_trace.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/codec/summary_codec.h"
#include "trace/file/trace_file.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

/// Every text that a file holds, wherever it is.
std::set<std::string> texts_of(std::string const& path) {
  auto const file = file::TraceFile::open(path);
  EXPECT_TRUE(file) << path;

  std::set<std::string> texts;
  for (std::string_view const text : file->texts()) texts.emplace(text);
  for (model::Track const& track : file->tracks()) texts.insert(track.name);
  for (model::Device const& device : file->devices()) texts.insert(device.name);
  texts.insert({file->info().tool, file->info().host, file->info().command});
  for (auto const& [key, value] : file->info().facts) texts.insert({key, value});
  for (std::string const& note : file->log().notes) texts.insert(note);

  texts.erase("");
  return texts;
}

/// The document with every text blank, and without numbers that say whose it is.
json without_names(json document) {
  if (document.is_string()) return "";
  if (document.is_object()) {
    // Values that the analysis takes from names of kernels, counters and allocating ranges.
    for (char const* const key :
         {"process", "metrics", "subjects", "tensor_cores", "slow_ns", "health", "peak_owners"})
      document.erase(key);
  }
  if (document.is_structured())
    for (json& member : document) member = without_names(member);
  return document;
}

class Slice : public Program {
 protected:
  void make(std::string const& pattern) const {
    ASSERT_EQ(
        stepscope("synth --ranks 2 --events 12000 --pattern " + pattern + " -o run --force").code,
        0);
  }
  void SetUp() override { make("dp"); }

  /// Everything that `analyze` says of the steps; the run's name, begin and end are not theirs.
  [[nodiscard]] json analysis_of(std::string const& run, std::string const& steps) const {
    Outcome const outcome = stepscope("analyze " + run + " --json --steps " + steps);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    json analysis = json::parse(outcome.output);
    for (char const* const key : {"name", "begin_ns", "end_ns"}) analysis["run"].erase(key);
    return analysis;
  }
  void expect_part_analyzes_as_in_the_whole(std::string const& steps) const {
    ASSERT_EQ(stepscope("slice run --steps " + steps + " -o part --force").code, 0);
    json const whole = analysis_of("run", steps);
    EXPECT_FALSE(whole.at("steps").empty());
    json const difference = json::diff(whole, analysis_of("part", steps));
    EXPECT_TRUE(difference.empty()) << steps << " " << difference.dump(1).substr(0, 2000);
  }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("slice " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
  [[nodiscard]] uint64_t events_of(std::string const& run) const {
    auto const opened = import::open_run(path(run));
    EXPECT_TRUE(opened);
    uint64_t events = 0;
    for (model::RankTrace const& rank : opened->ranks) events += rank.trace.event_count();
    return events;
  }
};

TEST_F(Slice, OfStepsAnalyzesAsTheseStepsInTheWholeRun) {
  for (char const* const pattern : {"dp", "pipeline", "moe"}) {
    SCOPED_TRACE(pattern);
    make(pattern);
    for (char const* const steps : {"3:5", "0:1", "2:2", "0:4"})
      expect_part_analyzes_as_in_the_whole(steps);
  }
  make("dp");
  ASSERT_EQ(stepscope("slice run --steps 3:5 -o part --force").code, 0);
  EXPECT_LT(events_of("part"), events_of("run") / 2);
}

TEST_F(Slice, OfARecordedTrainingAnalyzesAsInTheWhole) {
  ASSERT_EQ(
      stepscope("record -o run --force -- " + program() + " run cifar10 --device host:2" + kSmall)
          .code,
      0);
  for (char const* const steps : {"4:8", "0:3"}) expect_part_analyzes_as_in_the_whole(steps);
}

/// Without being asked for them; what is around them only led to them.
TEST_F(Slice, IsAnalyzedAsTheStepsThatItWasMadeFor) {
  ASSERT_EQ(
      stepscope("record -o run --force -- " + program() + " run cifar10 --device host:2" + kSmall)
          .code,
      0);
  ASSERT_EQ(stepscope("slice run --steps 5:6 -o part").code, 0);
  json analysis = json::parse(stepscope("analyze part --json").output);
  for (char const* const key : {"name", "begin_ns", "end_ns"}) analysis["run"].erase(key);

  // A part that is chosen from a whole run has no gains by replay.
  json asked = analysis_of("part", "5:6");
  for (json* const document : {&analysis, &asked})
    for (json& finding : (*document)["findings"])
      for (char const* const key : {"gain_alone", "gain_after_above"}) finding.erase(key);
  EXPECT_TRUE(json::diff(asked, analysis).empty()) << json::diff(asked, analysis).dump(1);

  EXPECT_NE(stepscope("info part").output.find("; cut out for 5 to 6, the others are context"),
            std::string::npos);
  EXPECT_EQ(json::parse(stepscope("info part --json").output)[0]["cut_out_for_steps"]["first"], 5);
}

TEST_F(Slice, HasTheKernelsWithMostTimeOfItsSteps) {
  ASSERT_EQ(stepscope("slice run --steps 2:3 -o part").code, 0);
  auto const top = [&](std::string const& of) {
    Outcome const outcome = stepscope("top " + of + " --format csv --limit 1000");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.output;
  };
  EXPECT_EQ(top("part"), top("run --steps 2:3"));
  EXPECT_NE(top("part"), top("run"));
}

TEST_F(Slice, OfASliceKnowsTheStepsOfTheWholeRun) {
  ASSERT_EQ(stepscope("slice run --steps 2:9 -o larger").code, 0);
  ASSERT_EQ(stepscope("slice larger --steps 2:5 -o smaller").code, 0);
  EXPECT_TRUE(json::diff(analysis_of("run", "2:5"), analysis_of("smaller", "2:5")).empty());
}

TEST_F(Slice, AnonymousOneAnalyzesTheSameAndHoldsNoName) {
  ASSERT_EQ(stepscope("slice run --steps 3:5 --anonymize -o part").code, 0);
  json const difference = json::diff(without_names(analysis_of("run", "3:5")),
                                     without_names(analysis_of("part", "3:5")));
  EXPECT_TRUE(difference.empty()) << difference.dump(1).substr(0, 2000);

  std::regex const pseudonym(
      "(host-)?[a-z_]+-[0-9]+( \\([A-Za-z_.0-9]+\\))?|step "
      "[0-9]+|cores|[0-9]+|DataLoader.__next__|stepscope slice --anonymize");
  std::regex const of_vendor("(cuda|cu|hip|nccl)[A-Z][A-Za-z0-9_]*|Mem(cpy|set) [A-Za-z ()>-]+");
  for (char const* const name : {"rank-0.stepscope", "rank-1.stepscope"}) {
    std::set<std::string> const texts = texts_of(path("part/") + name);
    std::set<std::string> const source = texts_of(path("run/") + name);
    EXPECT_GT(texts.size(), 20U);
    for (std::string const& text : texts) {
      if (std::regex_match(text, of_vendor)) continue;
      EXPECT_TRUE(std::regex_match(text, pseudonym)) << text;
      EXPECT_TRUE(!source.contains(text) || text == "cores" ||
                  text.find_first_not_of("0123456789") == std::string::npos)
          << text;
    }
  }

  EXPECT_NE(stepscope("analyze part --json").output.find("kernel-1 (compute)"), std::string::npos);
}

TEST_F(Slice, OfTimeAndRankKeepsTheseOnly) {
  // What is not asked for is not even read.
  std::filesystem::resize_file(path("run/rank-0.stepscope"),
                               std::filesystem::file_size(path("run/rank-0.stepscope")) / 2);

  Outcome const outcome = stepscope("slice run --time 0.05:0.08 --rank 1 -o part");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.output.find(" events of 1 rank, in part"), std::string::npos) << outcome.output;

  auto const part = import::open_run(path("part"));
  ASSERT_TRUE(part);
  ASSERT_EQ(part->ranks.size(), 1U);
  EXPECT_EQ(part->ranks[0].trace.info().rank, 1);
  EXPECT_LT(events_of("part"), events_of("run") / 4);
  EXPECT_EQ(stepscope("analyze part").code, 0);
}

/// A step that the time cuts is no step to measure: its numbers would be those of a part of it.
TEST_F(Slice, OfTimeMeasuresItsWholeStepsAlone) {
  auto const steps_of = [&](std::string const& run) {
    json const analysis = json::parse(stepscope("analyze " + run + " --json").output);
    std::map<int64_t, json> steps;
    for (json const& step : analysis.at("steps"))
      if (step.at("device") == 0 && step.at("rank") == 0) steps[step.at("step")] = step;
    return steps;
  };
  auto const whole = steps_of("run");
  ASSERT_GT(whole.size(), 9U);

  // From the middle of step 3 to that of step 7, as the host has them, since the first event.
  auto const begin =
      json::parse(stepscope("analyze run --json").output).at("run").at("begin_ns").get<int64_t>();
  auto const middle = [&](int64_t step) {
    return whole.at(step).at("host_begin_ns").get<int64_t>() - begin +
           whole.at(step).at("host_dur_ns").get<int64_t>() / 2;
  };
  std::string const time = std::to_string(middle(3)) + "ns:" + std::to_string(middle(7)) + "ns";
  ASSERT_EQ(stepscope("slice run --time " + time + " -o part").code, 0);

  size_t measured = 0;
  for (auto const& [number, step] : steps_of("part")) {
    EXPECT_EQ(step.at("warmup"), number < 4 || number > 6) << number;
    if (step.at("warmup")) continue;
    ++measured;
    for (char const* const key : {"compute_ns", "exposed_comm_ns", "host_dur_ns"})
      EXPECT_EQ(step.at(key), whole.at(number).at(key)) << number << " " << key;
  }
  EXPECT_EQ(measured, 3U);

  // A part of the part cuts no less.
  for (char const* const further : {"--time 0:100s", "--anonymize"}) {
    ASSERT_EQ(stepscope(std::string("slice part ") + further + " -o further --force").code, 0);
    for (auto const& [number, step] : steps_of("further"))
      EXPECT_EQ(step.at("warmup"), number < 4 || number > 6) << further << " " << number;
  }

  std::string const within =
      std::to_string(middle(4)) + "ns:" + std::to_string(middle(4) + 2'000'000) + "ns";
  ASSERT_EQ(stepscope("slice run --time " + within + " -o moment").code, 0);
  auto const moment = steps_of("moment");
  EXPECT_FALSE(moment.empty());
  for (auto const& [number, step] : moment) EXPECT_EQ(step.at("warmup"), true);
  EXPECT_FALSE(json::parse(stepscope("analyze moment --json").output).at("kernels").empty());
  EXPECT_NE(stepscope("info moment").output.find("; none of them whole"), std::string::npos);
}

TEST_F(Slice, TakesStepsWithAnOpenEndAndTimesWithUnits) {
  ASSERT_EQ(stepscope("slice run --steps 12: -o last").code, 0);
  ASSERT_EQ(stepscope("slice run --steps 12:14 -o same").code, 0);
  EXPECT_EQ(events_of("last"), events_of("same"));
  ASSERT_EQ(stepscope("slice run --time 50ms:0.08s -o units").code, 0);
  ASSERT_EQ(stepscope("slice run --time 0.05:0.08 -o seconds").code, 0);
  EXPECT_EQ(events_of("units"), events_of("seconds"));
}

TEST_F(Slice, WhatIsNotThereIsSaidWithWhatIs) {
  expect_refused("run --steps 900:901 -o part", "steps 0 to 14");
  expect_refused("run --steps 5:3 -o part", "5:3");
  expect_refused("run --time 3:2 -o part", "3:2");
  expect_refused("run --time a:b -o part", "a:b");
  expect_refused("run --steps : -o part", "first:last");
  expect_refused("run --steps 1:x -o part", "first:last");
  expect_refused("run --steps -1:2 -o part", "first:last");
  expect_refused("run --time 100:200 -o part", "behind the run's end");
  expect_refused("run --rank 7 -o part", "2 ranks from 0 to 1");
  expect_refused("run --rank -3 -o part", "from 0 to 2147483647");
  expect_refused("run --rank 99999999999 -o part", "from 0 to 2147483647");

  expect_refused("run --steps 1:2 --time 1:2 -o part", "--time");
  expect_refused("run -o part", "--steps");
  expect_refused("run --steps 1:2", "--output");
  expect_refused("nosuch --steps 1:2 -o part", "nosuch");

  EXPECT_FALSE(std::filesystem::exists(path("part")));
}

TEST_F(Slice, TheRunItselfIsNeverTheOutput) {
  expect_refused("run --steps 1:2 -o run --force", "another folder");
  expect_refused("run/rank-0.stepscope --steps 1:2 -o run --force", "another folder");
  EXPECT_TRUE(std::filesystem::exists(path("run/rank-0.stepscope")));
}

TEST_F(Slice, AnotherRunIsOverwrittenOnlyWithForce) {
  ASSERT_EQ(stepscope("slice run --steps 1:2 -o part").code, 0);
  expect_refused("run --rank 0 -o part", "--force");
  ASSERT_EQ(stepscope("slice run --rank 0 -o part --force").code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("part/rank-1.stepscope")));
}

/// A rank's file with its blocks changed and sound checksums.
template <class Change>
void rewrite(std::string const& path, Change const& change) {
  std::vector<fuzz::LooseBlock> blocks;
  {
    auto const mapped = base::MappedFile::open(path);
    ASSERT_TRUE(mapped);
    blocks = fuzz::take_apart(mapped->bytes());
  }
  change(blocks);

  std::mt19937_64 random(1);
  auto const bytes = fuzz::put_together(blocks, fuzz::IndexForm::kTrue, random);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<char const*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST_F(Slice, StepsOfATrackThatIsNotThereAreNotBelieved) {
  ASSERT_EQ(stepscope("slice run --steps 2:3 -o sound").code, 0);
  rewrite(path("run/rank-0.stepscope"), [](std::vector<fuzz::LooseBlock>& blocks) {
    for (fuzz::LooseBlock& block : blocks) {
      if (block.header.type != static_cast<uint16_t>(file::BlockType::kSteps)) continue;
      std::vector<file::StepSpan> steps;
      ASSERT_TRUE(file::decode_steps(block.payload, block.header.rows, steps));
      for (file::StepSpan& step : steps) step.track.value = 1'000'000;

      file::ColumnEncoder columns;
      base::ByteWriter payload;
      file::encode_steps(steps, columns, payload);
      block.payload.assign(payload.span().begin(), payload.span().end());
    }
  });

  for (char const* const part : {"--steps 2:3", "--time 0:1ms"}) {
    Outcome const outcome = stepscope(std::string("slice run ") + part + " -o part --force");
    EXPECT_EQ(outcome.code, 0) << part << "\n" << outcome.output;
  }

  ASSERT_EQ(stepscope("slice run --steps 2:3 -o part --force").code, 0);
  EXPECT_EQ(events_of("part"), events_of("sound"));
  EXPECT_EQ(stepscope("export run --format chrome --steps 2:3 -o part.json").code, 0);
}

}  // namespace
}  // namespace stepscope::e2e
