// Which collectives are one, case by case, and against a twin that compares every pair.
#include "trace/model/derive/collective_match.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

using ::testing::ElementsAre;

CollectiveDetail collective(CollectiveOp op, uint64_t communicator, uint64_t sequence,
                            uint64_t bytes = 64) {
  return {.bytes = bytes, .communicator = communicator, .sequence = sequence, .op = op};
}
CollectiveDetail message(CollectiveOp op, int32_t rank, int32_t peer, uint64_t bytes = 64) {
  return {.bytes = bytes, .communicator = 7, .op = op, .rank = rank, .peer = peer};
}

/// The numbers of the collectives that each of the devices' entries belongs to.
std::vector<uint32_t> matches_of(std::vector<std::vector<CollectiveDetail>> const& devices) {
  std::vector<DeviceCollective> all;
  for (uint32_t d = 0; d < devices.size(); ++d)
    for (CollectiveDetail const& detail : devices[d]) all.push_back({d, &detail});

  std::vector<std::vector<RecordedCollective>> by_device(devices.size());
  for (uint32_t d = 0; d < devices.size(); ++d)
    for (CollectiveDetail const& detail : devices[d]) by_device[d].push_back({identity_of(detail)});

  std::vector<uint32_t> numbers, numbers_by_device;
  for (CollectiveMatch const& match : match_collectives(all)) numbers.push_back(match.collective);
  for (CollectiveMatch const& match : match_collectives(by_device))
    numbers_by_device.push_back(match.collective);

  EXPECT_EQ(numbers, numbers_by_device);
  return numbers;
}

constexpr auto kReduce = CollectiveOp::kAllReduce;
constexpr auto kSend = CollectiveOp::kSend;
constexpr auto kReceive = CollectiveOp::kReceive;

TEST(CollectiveMatch, TheNumberDecidesWhereThereIsOne) {
  EXPECT_THAT(matches_of({{collective(kReduce, 5, 1), collective(kReduce, 5, 2)},
                          {collective(kReduce, 5, 2)}}),
              ElementsAre(0, 1, 1));
}

TEST(CollectiveMatch, TheSameNumberTwiceOnOneDeviceIsTwoCollectives) {
  EXPECT_THAT(matches_of({{collective(kReduce, 5, 1), collective(kReduce, 5, 1)},
                          {collective(kReduce, 5, 1), collective(kReduce, 5, 1)}}),
              ElementsAre(0, 1, 0, 1));
}

TEST(CollectiveMatch, WithoutANumberOrderOpAndBytesDecide) {
  EXPECT_THAT(
      matches_of(
          {{collective(kReduce, 5, 0), collective(kReduce, 5, 0, 128), collective(kReduce, 5, 0)},
           {collective(kReduce, 5, 0, 128), collective(kReduce, 5, 0), collective(kReduce, 5, 0)}}),
      ElementsAre(0, 1, 2, 1, 0, 2));
}

TEST(CollectiveMatch, CommunicatorsDoNotMix) {
  EXPECT_THAT(matches_of({{collective(kReduce, 5, 1)}, {collective(kReduce, 6, 1)}}),
              ElementsAre(0, 1));
}

TEST(CollectiveMatch, ASendIsMatchedWithTheReceiveOfItsPeer) {
  EXPECT_THAT(matches_of({{message(kSend, 0, 1), message(kReceive, 0, 1), message(kSend, 0, 2)},
                          {message(kReceive, 1, 0), message(kSend, 1, 0)},
                          {message(kReceive, 2, 0)}}),
              ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(CollectiveMatch, TheNthSendMeetsTheNthReceive) {
  EXPECT_THAT(matches_of({{message(kSend, 0, 1), message(kSend, 0, 1)},
                          {message(kReceive, 1, 0), message(kReceive, 1, 0)}}),
              ElementsAre(0, 1, 0, 1));
}

TEST(CollectiveMatch, ASendOfWhichItIsNotKnownWhoReceivesItIsAlone) {
  EXPECT_THAT(
      matches_of({{message(kSend, 0, -1)}, {message(kSend, 1, -1)}, {message(kReceive, -1, 0)}}),
      ElementsAre(0, 1, 2));
}

TEST(CollectiveMatch, OfAnUnknownCommunicatorAllDevicesTakePartOrNobodyKnowsWho) {
  CollectiveDetail half = collective(kReduce, 0, 0);
  half.participants = 2;
  EXPECT_THAT(matches_of({{half}, {half}, {half}, {half}}), ElementsAre(0, 1, 2, 3))
      << "two communicators of two, but which?";
  EXPECT_THAT(matches_of({{half}, {half}}), ElementsAre(0, 0));
  CollectiveDetail const unknown = collective(kReduce, 0, 0);
  EXPECT_THAT(matches_of({{unknown}, {unknown}, {unknown}}), ElementsAre(0, 0, 0));
}

TEST(CollectiveMatch, AKernelThatIsKnownByItsNameAloneIsMatchedWithNone) {
  CollectiveDetail by_name = collective(kReduce, 0, 0, 0);
  by_name.launch = CallLaunch::kNone;
  EXPECT_THAT(matches_of({{by_name}, {by_name}}), ElementsAre(0, 1));
  CollectiveDetail captured = collective(kReduce, 5, 1);
  captured.launch = CallLaunch::kNone;
  EXPECT_THAT(matches_of({{captured}, {captured}}), ElementsAre(0, 0)) << "a call of NCCL";
}

/// All-reduces without numbers of one kind, ends in ms.
struct Recorded {
  DeviceRecording recording;
  std::vector<int64_t> ends_ms;
};

std::vector<CollectiveMatch> match_recorded(std::vector<Recorded> const& devices) {
  static CollectiveDetail const reduce = collective(kReduce, 5, 0);
  std::vector<DeviceCollective> all;
  std::vector<DeviceRecording> recordings;
  for (uint32_t d = 0; d < devices.size(); ++d) {
    for (int64_t const end : devices[d].ends_ms) all.push_back({d, &reduce, end * 1'000'000});
    recordings.push_back(devices[d].recording);
  }
  return match_collectives(all, recordings);
}

std::vector<uint32_t> numbers_of(std::vector<CollectiveMatch> const& matches) {
  std::vector<uint32_t> numbers;
  for (CollectiveMatch const& match : matches) numbers.push_back(match.collective);
  return numbers;
}

TEST(CollectiveMatch, WhoBeganToRecordStepsLaterLacksTheirCollectives) {
  // Two a step; the times say nothing.
  EXPECT_THAT(numbers_of(match_recorded(
                  {{{0, 5, 3}, {0, 1, 2, 3, 4, 5}}, {{1, 6, 3}, {70, 71, 72, 73, 74, 75}}})),
              ElementsAre(0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(numbers_of(match_recorded({{{0, 6, 2}, {0, 1}}, {{1, 5, 2}, {70, 71}}})),
              ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(numbers_of(match_recorded({{{0, 0, 1}, {0, 1}}, {{1, INT64_MAX, 1}, {0, 1}}})),
              ElementsAre(0, 1, 2, 3))
      << "nothing in common, and no memory for what is between";
}

TEST(CollectiveMatch, OfOneClockTheTimesTellWhoBeganLater) {
  EXPECT_THAT(numbers_of(match_recorded({{{}, {10, 20, 30, 40, 50}}, {{}, {20, 30, 40, 51, 60}}})),
              ElementsAre(0, 1, 2, 3, 4, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers_of(match_recorded({{{}, {20, 30, 40}}, {{}, {10, 20, 31, 40, 50}}})),
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 4));
}

TEST(CollectiveMatch, ClocksOfSeveralHostsAreNotBelievedAgainstTheOrder) {
  EXPECT_THAT(numbers_of(match_recorded(
                  {{{.clock = 0}, {10, 20, 30, 40}}, {{.clock = 1}, {20, 30, 40, 50}}})),
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 3))
      << "the clock may be 10 ms late";
}

TEST(CollectiveMatch, WhereNumbersDifferClocksThatAgreeTellWhichAreOne) {
  EXPECT_THAT(numbers_of(match_recorded(
                  {{{.clock = 0}, {100, 200, 300, 400}}, {{.clock = 1}, {201, 301, 401}}})),
              ElementsAre(0, 1, 2, 3, 1, 2, 3));
  EXPECT_THAT(numbers_of(match_recorded(
                  {{{.clock = 0}, {100, 200, 300, 400}}, {{.clock = 1}, {99, 199, 299}}})),
              ElementsAre(0, 1, 2, 3, 0, 1, 2));
}

TEST(CollectiveMatch, WhereNumbersDifferAndClocksDisagreeNothingIsGuessed) {
  auto const matches =
      match_recorded({{{.clock = 0}, {100, 200, 300, 400}}, {{.clock = 1}, {1240, 1340, 1440}}});
  EXPECT_THAT(numbers_of(matches), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_FALSE(matches[0].is_unsure);
  EXPECT_TRUE(matches[6].is_unsure);
}

/// How often a device had one like its n-th before.
size_t order_of(std::vector<CollectiveDetail> const& device, size_t n, bool numbered) {
  size_t order = 0;
  for (size_t i = 0; i < n; ++i) {
    bool const same_number = numbered && device[i].sequence == device[n].sequence;
    bool const same_kind =
        !numbered && device[i].op == device[n].op && device[i].bytes == device[n].bytes;
    order += device[i].communicator == device[n].communicator && (same_number || same_kind) ? 1 : 0;
  }
  return order;
}

TEST(CollectiveMatch, AgreesWithATwinThatComparesEveryPair) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<CollectiveDetail>> devices(4);

    for (auto& device : devices) {
      for (uint64_t i = 0; i < 12; ++i) {
        uint64_t const communicator = 1 + random() % 2;  // 1: without numbers, 2: with
        if (random() % 4 != 0)
          device.push_back(collective(random() % 2 == 0 ? kReduce : CollectiveOp::kAllGather,
                                      communicator, communicator == 2 ? 1 + random() % 6 : 0,
                                      64 * (1 + random() % 2)));
      }
    }
    std::vector<uint32_t> const found = matches_of(devices);

    std::vector<std::pair<size_t, size_t>> places;
    for (size_t d = 0; d < devices.size(); ++d)
      for (size_t i = 0; i < devices[d].size(); ++i) places.emplace_back(d, i);

    for (size_t a = 0; a < places.size(); ++a) {
      for (size_t b = 0; b < places.size(); ++b) {
        CollectiveDetail const& one = devices[places[a].first][places[a].second];
        CollectiveDetail const& other = devices[places[b].first][places[b].second];

        bool const numbered = one.communicator == 2;
        bool const agree = numbered ? one.sequence == other.sequence
                                    : one.op == other.op && one.bytes == other.bytes;
        bool const same = one.communicator == other.communicator && agree &&
                          order_of(devices[places[a].first], places[a].second, numbered) ==
                              order_of(devices[places[b].first], places[b].second, numbered);

        ASSERT_EQ(found[a] == found[b], same) << "seed " << seed << ": " << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace stepscope::model
