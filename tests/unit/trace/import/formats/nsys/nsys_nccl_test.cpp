// What kernels of NCCL carry, told by the ranges that NCCL pushes: one call, groups, payloads as
// numbers, as text and as bytes.
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/nsys_export.h"
#include "trace/import/formats/nsys/nsys_importer.h"

namespace stepscope::import::nsys {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kCommunicator = 0x8BADF00D12345678;

/// Makes an export call by call.
class NcclExport {
 public:
  explicit NcclExport(int64_t process = 50) : process_(process) {
    sql_ +=
        "INSERT INTO StringIds VALUES (1, 'cuLaunchKernelEx'), (10, "
        "'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (11, "
        "'ncclDevKernel_AllGather_RING_LL'),"
        "(12, 'ncclDevKernel_SendRecv'), (13, 'ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL');"
        // As NCCL registers them: an all-reduce, and a communicator.
        "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 1001, 0, NULL, 18, 'NCCL communicator "
        "ID', NULL, NULL, NULL),"
        "(1, 1001, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8), (1, 1001, 2, NULL, 9001, "
        "'Reduction operation', NULL, "
        "NULL, 16),"
        "(1, 1002, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (1, 1002, 1, NULL, 5, "
        "'No. of ranks', NULL, NULL, 8),"
        "(1, 1002, 2, NULL, 5, 'Rank', NULL, NULL, 12), (1, 1002, 3, NULL, 5, 'CUDA device', NULL, "
        "NULL, 16);";
  }
  void range(int64_t start, int64_t end, std::string const& name, std::string const& json = "",
             std::string const& binary = "") {
    sql_ += fmt::format(
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, jsonText, "
        "binaryData) VALUES ({}, {}, 59, "
        "'{}', {}, 1, {}, {});",
        start, end, name, support::nsys_thread(process_, process_),
        json.empty() ? "NULL" : "'" + json + "'", binary.empty() ? "NULL" : "x'" + binary + "'");
  }
  void message(int64_t start, int64_t end, std::string const& name, uint64_t bytes) {
    range(start, end, name,
          fmt::format(R"({{"NCCL communicator ID": {}, "Message size [bytes]": {}}})",
                      kCommunicator, bytes));
  }
  void communicator(int ranks, int rank, int device) {
    range(1, 2, "ncclCommInitRank", "",
          binary(1002, {kCommunicator,
                        uint64_t{static_cast<uint32_t>(ranks)} | static_cast<uint64_t>(rank) << 32U,
                        static_cast<uint64_t>(device)}));
  }
  /// A kernel, and its launch at `launch`.
  void kernel(int64_t launch, int name, int device = 0) {
    ++correlation_;
    sql_ += fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 1, {}, {}, 1, 0, NULL);", launch,
        launch + 2, support::nsys_thread(process_, process_), correlation_);

    sql_ += fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
        "correlationId, globalPid, "
        "demangledName, shortName, gridX) "
        "VALUES ({}, {}, {}, {}, 7, {}, {}, {}, {}, 16);",
        launch + 1000, launch + 1005, device, device + 1, correlation_,
        support::nsys_process(process_), name, name);
  }
  [[nodiscard]] static std::string binary(uint64_t layout, std::vector<uint64_t> const& words) {
    std::vector<uint64_t> all = {1, layout, words.size() * 8, 32 + words.size() * 8};
    all.insert(all.end(), words.begin(), words.end());
    std::string hex;
    for (uint64_t const word : all)
      for (unsigned i = 0; i < 64; i += 8) hex += fmt::format("{:02X}", word >> i & 0xFFU);
    return hex;
  }
  [[nodiscard]] model::Trace read() const {
    std::string const bytes = support::nsys_database(sql_);
    auto traces = read_nsys_export(Input(std::as_bytes(std::span(bytes)), "report.sqlite"));
    EXPECT_TRUE(traces) << traces.error().message;
    EXPECT_EQ(traces->size(), 1U);
    return std::move(traces->front());
  }
  /// In the order of their launches, which is that of their kernels.
  [[nodiscard]] std::vector<CollectiveDetail> collectives() const {
    model::Trace const trace = read();
    auto const all = trace.details<CollectiveDetail>();
    return {all.begin(), all.end()};
  }

 private:
  int64_t process_;
  int64_t correlation_ = 0;
  std::string sql_ = support::kNsysSchema;
};

auto what(CollectiveDetail const& detail) {
  return std::tuple(detail.op, detail.bytes, detail.communicator);
}

TEST(NsysNccl, AKernelCarriesTheCallInWhoseRangeItWasLaunched) {
  NcclExport made;
  made.message(100, 200, "ncclAllReduce", 4096);
  made.kernel(150, 10);
  made.message(300, 400, "ncclAllReduce", 8192);
  made.kernel(350, 10);
  made.kernel(450, 10);  // in no range

  EXPECT_THAT(
      made.collectives(),
      ElementsAre(
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 4096U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 8192U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 0U, 0U))));

  model::Trace const trace = made.read();
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.name(row) != "ncclAllReduce" || trace.start(row) != 100) continue;
    ASSERT_EQ(trace.kind(row), model::EventKind::kAnnotatedRange);
    EXPECT_EQ(trace.detail<model::RangeDetail>(row).bytes, 4096U);
  }
}

TEST(NsysNccl, APyTorchRangeAroundACallOfNcclTellsNothingThatTheCallDoesNot) {
  NcclExport made;
  made.range(90, 210, "nccl:all_reduce, op_id = 5");
  made.message(100, 200, "ncclAllReduce", 4096);
  made.kernel(150, 10);

  made.range(290, 390, "nccl:all_reduce_coalesced");
  made.range(300, 305, "ncclGroupStart");
  made.range(310, 330, "nccl:all_reduce");
  made.message(315, 325, "ncclAllReduce", 64);
  made.range(340, 380, "ncclGroupEnd");
  made.kernel(350, 10);

  // Nothing of NCCL is inside.
  made.range(500, 600, "nccl:all_to_all, op_id = 6");
  made.kernel(550, 12);

  EXPECT_THAT(
      made.collectives(),
      ElementsAre(
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 4096U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 64U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllToAll, 0U, 0U))));
}

TEST(NsysNccl, PayloadsAreReadAsBytesAndAsTextWithCommas) {
  NcclExport made;
  made.range(100, 200, "ncclAllReduce", "", NcclExport::binary(1001, {kCommunicator, 1 << 20, 0}));
  made.kernel(150, 10);
  made.range(
      300, 400, "ncclAllReduce",
      R"({"NCCL communicator ID": "12,345", "Message size [bytes]": "1,048,576", "more": [1, {"a": null}]})");
  made.kernel(350, 10);
  made.range(500, 600, "ncclAllReduce", "{\"NCCL comm");
  made.kernel(550, 10);
  made.range(700, 800, "ncclAllReduce", "", "0102");
  made.kernel(750, 10);
  made.range(900, 1000, "ncclAllReduce", "",
             NcclExport::binary(1001, {kCommunicator}));  // without the bytes
  made.kernel(950, 10);

  EXPECT_THAT(
      made.collectives(),
      ElementsAre(
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 1048576U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 1048576U, 12345U)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 0U, 0U)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 0U, 0U)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 0U, kCommunicator))));
}

TEST(NsysNccl, BytesAreThoseOfTheWholeArrayWhereEachRankHasAShare) {
  NcclExport made;
  made.message(100, 200, "ncclAllGather", 100);
  made.kernel(150, 11);
  EXPECT_EQ(made.collectives().front().bytes, 0U) << "how many ranks there are is not known";
  made.communicator(8, 5, 0);
  auto const detail = made.collectives().front();
  EXPECT_EQ(detail.bytes, 800U);
  EXPECT_EQ(detail.participants, 8U);
  EXPECT_EQ(detail.rank, 5);
}

TEST(NsysNccl, AGroupsCallsAreTheKernelsThatItsEndLaunches) {
  NcclExport made;
  made.communicator(2, 0, 0);
  made.range(100, 105, "ncclGroupStart");
  made.range(106, 107, "ncclGroupStart");
  made.message(110, 115, "ncclSend", 64);
  made.message(120, 125, "ncclRecv", 64);
  made.range(130, 135, "ncclGroupEnd");
  made.message(140, 145, "ncclAllReduce", 32);
  made.range(150, 200, "ncclGroupEnd");
  made.kernel(160, 12);
  made.kernel(170, 10);

  // Two of a kind: which is whose is not told, but they agree in the communicator.
  made.range(300, 305, "ncclGroupStart");
  made.message(310, 315, "ncclAllReduce", 10);
  made.message(320, 325, "ncclAllReduce", 20);
  made.range(330, 400, "ncclGroupEnd");
  made.kernel(340, 10);
  made.kernel(350, 10);

  EXPECT_THAT(
      made.collectives(),
      ElementsAre(
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kUnknown, 128U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 32U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 0U, kCommunicator)),
          ::testing::ResultOf(what, std::tuple(CollectiveOp::kAllReduce, 0U, kCommunicator))));
}

TEST(NsysNccl, OneKernelOfAGroupOfEqualCallsIsTheirSum) {
  NcclExport made;
  made.range(100, 105, "ncclGroupStart");
  for (int64_t i = 0; i < 3; ++i) made.message(110 + 10 * i, 115 + 10 * i, "ncclReduceScatter", 8);
  made.communicator(4, 1, 0);
  made.range(150, 200, "ncclGroupEnd");
  made.kernel(160, 13);
  auto const detail = made.collectives().front();
  EXPECT_EQ(what(detail), std::tuple(CollectiveOp::kReduceScatter, 96U, kCommunicator));
}

TEST(NsysNccl, AProcessWithSeveralDevicesHasARankForEach) {
  NcclExport made;
  made.communicator(4, 2, 0);
  made.communicator(4, 3, 1);

  made.range(100, 105, "ncclGroupStart");
  made.message(110, 115, "ncclAllReduce", 16);
  made.message(120, 125, "ncclAllReduce", 16);
  made.range(130, 200, "ncclGroupEnd");
  made.kernel(140, 10, 0);
  made.kernel(150, 10, 1);

  auto const details = made.collectives();
  ASSERT_EQ(details.size(), 2U);
  EXPECT_EQ(std::tuple(details[0].rank, details[0].bytes), std::tuple(2, 16U));
  EXPECT_EQ(std::tuple(details[1].rank, details[1].bytes), std::tuple(3, 16U));
}

TEST(NsysNccl, TellsTheRankOfTheProcess) {
  NcclExport made;
  made.communicator(16, 9, 0);
  made.kernel(150, 10);
  model::Trace const trace = made.read();
  EXPECT_EQ(trace.info().rank, 9);
  EXPECT_EQ(trace.info().world_size, 16);
  EXPECT_THAT(trace.log().notes, Not(::testing::Contains(HasSubstr("guess"))));
}

TEST(NsysNccl, WithoutRangesTheKernelsNameTellsTheOperation) {
  NcclExport made;
  made.kernel(150, 11);
  auto const detail = made.collectives().front();
  EXPECT_EQ(detail.op, CollectiveOp::kAllGather);
  EXPECT_EQ(detail.channels, 16U);
  EXPECT_EQ(detail.bytes, 0U);
}

}  // namespace
}  // namespace stepscope::import::nsys
