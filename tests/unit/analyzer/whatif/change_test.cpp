// Changes as people write them: what each form means, and that every mistake is named with what to
// write instead.
#include "analyzer/whatif/changes/change.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/model/collective_ops.h"
#include "trace/model/trace.h"

namespace stepscope::analyzer {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

WhatIfChange parsed_change(std::string_view text) {
  auto const change = parse_change(text);
  EXPECT_TRUE(change) << text << ": " << change.error().message;
  return change ? *change : WhatIfChange();
}
std::string change_error(std::string_view text) {
  auto const change = parse_change(text);
  return change ? "accepted" : change.error().message;
}

/// A change of how much: what it changes, and the duration that 1,000 ns become.
struct ExpectedChange {
  std::string_view text;
  ChangeKind kind = ChangeKind::kKernel;
  std::string_view selector;
  int64_t of_1000_ns = 1000;
};

TEST(Change, TakesEveryForm) {
  for (ExpectedChange const& expected : std::initializer_list<ExpectedChange>{
           {"kernel:gemm=/2", ChangeKind::kKernel, "gemm", 500},
           {"kernel:^void .*<float>$=0", ChangeKind::kKernel, "^void .*<float>$", 0},
           {"class:compute=/2", ChangeKind::kClass, "compute", 500},
           {"class:communication=off", ChangeKind::kClass, "communication", 0},
           {"class:copy=*3", ChangeKind::kClass, "copy", 3000},
           {"comm:bandwidth=*2", ChangeKind::kBandwidth, "", 500},
           {"comm:latency=5us", ChangeKind::kLatency, "", 5000},
           {"comm:latency=/4", ChangeKind::kLatency, "", 250},
           {"collective:all_reduce=*1.5", ChangeKind::kCollective, "all_reduce", 1500},
           {"overlap", ChangeKind::kOverlap, "", 1000},
           {"straggler=median", ChangeKind::kStraggler, "", 1000},
           {"imbalance=mean", ChangeKind::kImbalance, "", 1000},
           {"host:optimizer=1ms", ChangeKind::kHostRange, "optimizer", 1'000'000},
           {"input=0", ChangeKind::kInput, "", 0},
           {"sync=off", ChangeKind::kSync, "", 0},
           {"copies=/10", ChangeKind::kCopies, "", 100},
           {"alloc=off", ChangeKind::kAllocation, "", 0},
           {"launch=300ns", ChangeKind::kLaunch, "", 300}}) {
    WhatIfChange const change = parsed_change(expected.text);

    EXPECT_EQ(change.kind, expected.kind) << expected.text;
    EXPECT_EQ(change.selector, expected.selector) << expected.text;
    EXPECT_EQ(change.how.of(1000), expected.of_1000_ns) << expected.text;
    EXPECT_EQ(change.rank, std::nullopt) << expected.text;
    EXPECT_EQ(change.text, expected.text);
  }
}

TEST(Change, TakesOtherSpellings) {
  EXPECT_EQ(parsed_change("class:comm=/2").selector, "communication");
  EXPECT_EQ(parsed_change("class:copies=/2").selector, "copy");
  EXPECT_EQ(parsed_change("allocation=0").kind, ChangeKind::kAllocation);
  EXPECT_EQ(parsed_change("sync=0").kind, ChangeKind::kSync);
  EXPECT_EQ(parsed_change("sync=0").how.factor, 0);
  EXPECT_EQ(parsed_change("collective:allreduce=/2").selector, "all_reduce");
  EXPECT_EQ(parsed_change("collective:recv=/2").selector, "receive");
}

TEST(Change, TakesEveryCollectiveOperation) {
  for (model::CollectiveOpInfo const& row : model::kCollectiveTable) {
    std::string const text = "collective:" + std::string(row.name) + "=/2";
    if (row.op == model::CollectiveOp::kUnknown)
      EXPECT_THAT(change_error(text), HasSubstr("unknown is no operation"));
    else
      EXPECT_EQ(parsed_change(text).selector, row.name);
  }
}

TEST(Change, TheLastEqualsSignEndsASelectorAndTheFirstColonBeginsIt) {
  EXPECT_EQ(parsed_change("kernel:a=b:c=/2").selector, "a=b:c");
  EXPECT_EQ(parsed_change("kernel:a=/3=/2").selector, "a=/3");
  EXPECT_EQ(parsed_change("kernel:(?=x)y=0=5us").selector, "(?=x)y=0");
  EXPECT_EQ(parsed_change("host:lr=0.1: step=*2").selector, "lr=0.1: step");
  EXPECT_EQ(parsed_change("host::=/2").selector, ":");

  // Behind the last one is no HOW: the ones before it are not tried.
  EXPECT_THAT(change_error("host:lr=/2=b"), HasSubstr("b tells no change"));
}

TEST(Change, TakesARankAsStraggler) {
  EXPECT_EQ(parsed_change("straggler=0").rank, 0);
  EXPECT_EQ(parsed_change("straggler=2147483647").rank, 2147483647);
  EXPECT_EQ(parsed_change("straggler=3").kind, ChangeKind::kStraggler);

  for (std::string const value : {"-1", "2147483648", "3x", "1.5", "mean", "", "+1"})
    EXPECT_THAT(change_error("straggler=" + value),
                AllOf(StartsWith("straggler=" + value + ": "), HasSubstr(" is no rank"),
                      HasSubstr("write straggler=median or a rank")));
}

TEST(Change, TakesFactors) {
  EXPECT_EQ(parsed_change("input=/1.5").how.factor, 1 / 1.5);
  EXPECT_EQ(parsed_change("input=*2").how.factor, 2);
  EXPECT_EQ(parsed_change("input=*0").how.factor, 0);
  EXPECT_EQ(parsed_change("input=*1e6").how.factor, 1e6);
  EXPECT_EQ(parsed_change("input=/1e-6").how.factor, 1e6);
  EXPECT_EQ(parsed_change("input=/1e300").how.factor, 1 / 1e300);
  EXPECT_EQ(parsed_change("input=*.5").how.factor, 0.5);

  for (char const* off : {"input=0", "input=off", "input=*2"})
    EXPECT_EQ(parsed_change(off).how.amount_ns, std::nullopt) << off;
}

TEST(Change, ABandwidthDividesDurations) {
  EXPECT_EQ(parsed_change("comm:bandwidth=*2").how.factor, 0.5);
  EXPECT_EQ(parsed_change("comm:bandwidth=/2").how.factor, 2);
  EXPECT_EQ(parsed_change("comm:bandwidth=/49").how.factor, 49);
  EXPECT_EQ(parsed_change("comm:bandwidth=*1e9").how.factor, 1e-9);
  EXPECT_EQ(parsed_change("comm:bandwidth=*1e-6").how.factor, 1e6);

  for (std::string const how : {"0", "off", "*0", "/0"})
    EXPECT_THAT(change_error("comm:bandwidth=" + how),
                HasSubstr("a bandwidth of " + how + " is not possible, write *2 or /2"));
  for (std::string const how : {"5us", "2", "", "twice"})
    EXPECT_THAT(change_error("comm:bandwidth=" + how),
                HasSubstr("a bandwidth changes by a factor, write for example comm:bandwidth=*2"));
  EXPECT_THAT(change_error("comm:bandwidth=/2e6"), HasSubstr("more than 1000000 times as long"));
  EXPECT_THAT(change_error("comm:bandwidth=*1e-300"), HasSubstr("more than 1000000 times"));
}

TEST(Change, TakesTimesOfEveryUnit) {
  for (auto const& [how, ns] : std::initializer_list<std::pair<std::string, int64_t>>{
           {"300ns", 300},
           {"5us", 5000},
           {"5\u00B5s", 5000},
           {"5\u03BCs", 5000},
           {"2.5ms", 2'500'000},
           {"1e1s", 10'000'000'000},
           {"0us", 0},
           {"0.4ns", 0},
           {"0.5ns", 1},
           {"1.4999us", 1500},
           {"2305843009213693952ns", model::kMaxTime}})
    EXPECT_EQ(parsed_change("launch=" + how).how.amount_ns, ns) << how;
}

TEST(Change, RefusesImpossibleAmounts) {
  for (auto const& [how, mistake] : std::initializer_list<std::pair<std::string, std::string>>{
           {"5", "5 has neither a sign nor a unit, write for example *2, /2 or 5us"},
           {"0.0", "0.0 has neither a sign nor a unit"},
           {"5min", "5min has an unknown unit, write ns, us, µs, ms or s, or for a factor *2"},
           {"2x", "2x has an unknown unit"},
           {"5 us", "5 us has an unknown unit"},
           {"0x5us", "0x5us has an unknown unit"},
           {"-5us", "-5us is not possible, write *2, /2, off or a time such as 5us"},
           {"-20%", "-20% is not possible"},
           {"nan", "nan is not possible"},
           {"infs", "infs is not possible"},
           {"1e999s", "1e999s is not possible"},
           {"74e9s", "74e9s is not possible, write a time of at most 73 years"},
           {"1e300s", "1e300s is not possible, write a time of at most 73 years"},
           {"", "\"\" tells no change, write *2, /2, off or a time such as 5us"},
           {"none", "none tells no change"},
           {"+5us", "+5us tells no change"},
           {"us", "us tells no change"},
           {"OFF", "OFF tells no change"}})
    EXPECT_THAT(change_error("input=" + how),
                AllOf(StartsWith("input=" + how + ": "), HasSubstr(mistake)));
}

TEST(Change, RefusesImpossibleFactors) {
  for (auto const& [how, mistake] : std::initializer_list<std::pair<std::string, std::string>>{
           {"*", "* is no factor, write a number behind the sign, such as *2 or /1.5"},
           {"/", "/ is no factor"},
           {"*two", "*two is no factor"},
           {"/2us", "/2us is no factor"},
           {"**2", "**2 is no factor"},
           {"*-2", "*-2 is not possible, write a factor from 0 to 1000000"},
           {"/-2", "/-2 is not possible"},
           {"*nan", "*nan is not possible"},
           {"/inf", "/inf is not possible"},
           {"*1e999", "*1e999 is not possible"},
           {"/0", "/0 divides by zero, write *0 for no time at all"},
           {"/-0", "/-0 divides by zero"},
           {"*1000001", "*1000001 makes a duration more than 1000000 times as long"},
           {"/1e-7", "/1e-7 makes a duration more than 1000000 times as long"}})
    EXPECT_THAT(change_error("input=" + how),
                AllOf(StartsWith("input=" + how + ": "), HasSubstr(mistake)));
}

TEST(Change, RefusesWrongNamesWithTheRightOnes) {
  EXPECT_THAT(change_error("class:kernels=/2"),
              AllOf(HasSubstr("kernels is no class of device ops"),
                    HasSubstr("write compute, communication or copy")));
  EXPECT_THAT(change_error("class:=/2"), HasSubstr("\"\" is no class"));
  EXPECT_THAT(change_error("comm:speed=*2"),
              HasSubstr("speed is no part of communication, write bandwidth or latency"));
  EXPECT_THAT(change_error("collective:gossip=/2"),
              AllOf(HasSubstr("gossip is no operation, write one of all_reduce, reduce_scatter"),
                    EndsWith("receive, barrier")));

  EXPECT_THAT(change_error("host:=0"), HasSubstr("no range is named, write for example host:"));
  EXPECT_THAT(change_error("kernel:=0"),
              HasSubstr("no kernel is named, write for example kernel:gemm=/2, or kernel:.*=/2"));
  EXPECT_THAT(change_error("imbalance=max"), HasSubstr("write imbalance=mean"));
  EXPECT_THAT(change_error("sync=/2"), HasSubstr("write sync=off"));
}

TEST(Change, RefusesAWrongFormWithTheRightOne) {
  for (auto const& [text, form] : std::initializer_list<std::pair<std::string, std::string>>{
           {"kernel", "kernel:REGEX=HOW, write for example kernel:gemm=/1.5"},
           {"kernel:gemm", "kernel:REGEX=HOW"},
           {"kernel=/2", "kernel:REGEX=HOW"},
           {"class=/2", "class:compute|communication|copy=HOW"},
           {"comm=*2", "comm:bandwidth|latency=HOW"},
           {"collective:", "collective:OP=HOW"},
           {"overlap=1", "overlap, write for example overlap"},
           {"overlap:all=1", "overlap,"},
           {"overlap=", "overlap,"},
           {"straggler", "straggler=median|RANK, write for example straggler=median"},
           {"straggler:3", "straggler=median|RANK"},
           {"imbalance:mean", "imbalance=mean"},
           {"host", "host:NAME=HOW"},
           {"input", "input=HOW, write for example input=0"},
           {"input:loader=0", "input=HOW"},
           {"sync", "sync=off"},
           {"copies", "copies=HOW"},
           {"alloc", "alloc=HOW"},
           {"launch:", "launch=HOW"}})
    EXPECT_THAT(change_error(text), StartsWith(text + ": not of the form " + form));
}

TEST(Change, MicroBatchesKeepTheBatchOrTheirSize) {
  auto const batch = parse_change("micro-batches=16");
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->kind, ChangeKind::kMicroBatches);
  EXPECT_EQ(batch->micro_batches, 16U);
  EXPECT_TRUE(batch->keeps_batch);

  auto const size = parse_change("micro-batches=4:same-size");
  ASSERT_TRUE(size);
  EXPECT_EQ(size->micro_batches, 4U);
  EXPECT_FALSE(size->keeps_batch);

  for (std::string const value : {"0", "-1", "4097", "16:same-batch", "16:", ":same-size", "x", ""})
    EXPECT_THAT(change_error("micro-batches=" + value),
                HasSubstr("write for example micro-batches=16, or micro-batches=16:same-size"));
}

TEST(Change, RanksKeepTheirWorkOrTheBatch) {
  auto const work = parse_change("ranks=16");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->ranks, 16U);
  EXPECT_FALSE(work->keeps_batch);

  auto const batch = parse_change("ranks=8:same-batch");
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->ranks, 8U);
  EXPECT_TRUE(batch->keeps_batch);

  for (std::string const value : {"0", "8:same-size", "8:", "8:same-batch:", "eight"})
    EXPECT_THAT(change_error("ranks=" + value), HasSubstr("write for example ranks=16"));
}

TEST(Change, ABatchIsOfTheRunTheProbeAndTheQuestion) {
  auto const change = parse_change("batch:32,64=128");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->kind, ChangeKind::kBatch);
  EXPECT_EQ(change->batch.run, 32);
  EXPECT_EQ(change->batch.probe, 64);
  EXPECT_EQ(change->batch.asked, 128);

  for (std::string const text : {"32=128", "32,=128", ",64=128", "0,64=128", "32,-1=128",
                                 "32,64=", "32,64=x", "32,64,96=128", "32,64=nan", "32,64=1e300"})
    EXPECT_THAT(change_error("batch:" + text), HasSubstr("write for example batch:32,64=128"));
  EXPECT_THAT(change_error("batch:32,32=64"), HasSubstr("give a probe with another one"));
  EXPECT_THAT(change_error("batch=64"), HasSubstr("not of the form batch:RUN,PROBE=N"));
}

TEST(Change, StagesAreOnlyBalanced) {
  auto const change = parse_change("stages=balanced");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->kind, ChangeKind::kStages);
  EXPECT_THAT(change_error("stages=8"), HasSubstr("write stages=balanced"));
  EXPECT_THAT(change_error("stages"), HasSubstr("not of the form stages=balanced"));
}

TEST(Change, RefusesUnknownWordsWithTheKnownOnes) {
  EXPECT_THAT(change_error("kernels:gemm=/2"),
              AllOf(StartsWith("kernels:gemm=/2: no change is called kernels, write one of "),
                    HasSubstr("kernel:REGEX=HOW, "), HasSubstr("class:compute|"),
                    HasSubstr("comm:bandwidth|latency=HOW, "), HasSubstr("collective:OP=HOW, "),
                    HasSubstr("bucket=SIZE, "), HasSubstr("ranks=N[:same-batch], "),
                    HasSubstr("micro-batches=N[:same-size], "), HasSubstr("batch:RUN,PROBE=N, "),
                    HasSubstr("stages=balanced, "), HasSubstr("overlap, "),
                    HasSubstr("straggler=median|RANK, "), HasSubstr("imbalance=mean, "),
                    HasSubstr("host:NAME=HOW, "), HasSubstr("input=HOW, "), HasSubstr("sync=off, "),
                    HasSubstr("copies=HOW, "), HasSubstr("alloc=HOW, "),
                    HasSubstr("launch=HOW, where HOW is *2, /2, off")));

  EXPECT_THAT(change_error("=/2"), HasSubstr("no change is called \"\""));
  EXPECT_THAT(change_error("Kernel:gemm=/2"), HasSubstr("no change is called Kernel"));
  EXPECT_THAT(change_error(""), StartsWith("the change is empty, write one of kernel:REGEX=HOW"));
}

TEST(Change, RefusesWrongRegularExpressionsWithTheReason) {
  for (std::string const pattern : {"(gemm", "gemm)", "[a-", "*gemm", "a{2", "[z-a]", "\\2"})
    EXPECT_THAT(change_error("kernel:" + pattern + "=/2"),
                AllOf(HasSubstr("the regular expression " + pattern + " is wrong ("),
                      HasSubstr("write a backslash before each sign that stands for itself")));
}

TEST(Change, RefusesLargeRegularExpressions) {
  EXPECT_EQ(parsed_change("kernel:" + std::string(256, 'a') + "=/2").selector.size(), 256U);
  EXPECT_THAT(change_error("kernel:" + std::string(257, '(') + "=/2"),
              HasSubstr("the regular expression has 257 bytes, write one of at most 256"));

  for (std::string const pattern :
       {"a{1000}", "a{1,1000}", "a{1000,}", "(a)\\1000", "a{99999999999999999999}", "\\\\{1000"})
    EXPECT_THAT(change_error("kernel:" + pattern + "=/2"),
                HasSubstr("a number in the regular expression has more than 3 digits"));
  for (std::string const pattern : {"a{999}", "fused_12345", "64,4096", "\\{1000", "(a)\\1"})
    EXPECT_EQ(parsed_change("kernel:" + pattern + "=/2").selector, pattern);

  // Nested repeats multiply: std::regex refuses more than 100,000 states.
  EXPECT_THAT(change_error("kernel:((a{999}){999}){999}=/2"), HasSubstr(" is wrong ("));
}

TEST(Change, AMistakeIsShownWithoutWhatATerminalObeys) {
  for (std::string const text : {"ker\033[31mnel:a=/2", "kernel:(\033[31m=/2", "input=\033[31m",
                                 "input=*\033", "class:\033=/2", "comm:\033=/2",
                                 "collective:\033=/2", "straggler=\033", "comm:bandwidth=*\033"})
    EXPECT_THAT(change_error(text), AllOf(Not(HasSubstr("\033")), HasSubstr("\uFFFD")));
  EXPECT_LT(change_error("input=" + std::string(100'000, 'x')).size(), 500U);
}

TEST(HowMuch, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(HowMuch{.factor = 0.5}.of(3), 2);
  EXPECT_EQ(HowMuch{.factor = 1 / 3.0}.of(1000), 333);
  EXPECT_EQ(HowMuch{.factor = 2 / 3.0}.of(1000), 667);
  EXPECT_EQ(HowMuch{.factor = 0}.of(1000), 0);
  EXPECT_EQ(HowMuch{.factor = 1e-300}.of(model::kMaxTime), 0);
  EXPECT_EQ(HowMuch{}.of((int64_t{1} << 60) + 1), (int64_t{1} << 60) + 1);
}

TEST(HowMuch, StaysWithinPossibleTimes) {
  EXPECT_EQ(HowMuch{.factor = 1e6}.of(model::kMaxTime), model::kMaxTime);
  EXPECT_EQ(HowMuch{.factor = 1.5}.of(model::kMaxTime - 1), model::kMaxTime);
  EXPECT_EQ(HowMuch{.factor = INFINITY}.of(0), model::kMaxTime);
  EXPECT_EQ(HowMuch{}.of(INT64_MAX), model::kMaxTime);
}

TEST(HowMuch, AnAmountTakesTheDurationsPlace) {
  HowMuch const how{.factor = 2, .amount_ns = 700};
  EXPECT_EQ(how.of(0), 700);
  EXPECT_EQ(how.of(model::kMaxTime), 700);
}

std::vector<std::string> texts_of(std::string_view text) {
  auto const changes = parse_changes(text);
  EXPECT_TRUE(changes) << text << ": " << changes.error().message;
  std::vector<std::string> texts;
  if (changes)
    for (WhatIfChange const& change : *changes) texts.push_back(change.text);
  return texts;
}

TEST(Changes, StandBetweenBlanksAndOnLines) {
  EXPECT_THAT(texts_of(""), testing::IsEmpty());
  EXPECT_THAT(texts_of(" \n\t "), testing::IsEmpty());
  EXPECT_THAT(texts_of("input=0"), testing::ElementsAre("input=0"));
  EXPECT_THAT(texts_of(" input=0  overlap\nclass:compute=/2 "),
              testing::ElementsAre("input=0", "overlap", "class:compute=/2"));
}

TEST(Changes, WithBlanksStandInQuotes) {
  EXPECT_THAT(texts_of("'host:forward pass=0' \"kernel:void (a|b)=/2\""),
              testing::ElementsAre("host:forward pass=0", "kernel:void (a|b)=/2"));
  EXPECT_THAT(texts_of("host:'forward pass'=0"), testing::ElementsAre("host:forward pass=0"));
  EXPECT_FALSE(parse_changes("'host:forward pass=0"));
  EXPECT_THAT(parse_changes("'host:forward pass=0").error().message, HasSubstr("never closed"));
}

TEST(Changes, NameTheFirstMistake) {
  auto const changes = parse_changes("input=0 inputs=0 outputs=0");
  ASSERT_FALSE(changes);
  EXPECT_THAT(changes.error().message, AllOf(HasSubstr("inputs"), Not(HasSubstr("outputs="))));
}

TEST(Changes, AreReadAsTheyWereWritten) {
  std::vector<std::string> const texts = {"input=0", "host:forward pass=0", "kernel:it's=/2",
                                          "kernel:\"a\" 'b'=/2"};
  EXPECT_EQ(texts_of(written_changes(texts)), texts);
  EXPECT_EQ(written_changes(std::vector<std::string>{"input=0", "overlap"}), "input=0 overlap");
}

}  // namespace
}  // namespace stepscope::analyzer
