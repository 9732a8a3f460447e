// The attributes of NVTX's ranges and marks next to their names, from the recorder to the row.
#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"

namespace stepscope::tracer {
namespace {

using ::testing::ElementsAre;

TEST(RangeDetails, keeps_what_ranges_and_marks_say_beside_their_name) {
  Pipeline pipeline;
  ThreadRecorder& thread = *pipeline.source.attach(1);

  EventArgs args = named("range");
  args.category = 7;
  args.color = 0xFF00FF80;
  thread.push(args);
  thread.pop(kDefaultDomain);

  args = named("mark");
  args.value_type = ValueType::kInt32;
  args.value = static_cast<uint32_t>(-5);
  thread.mark(args);

  args = named("started");
  args.value_type = ValueType::kFloat;
  args.value = std::bit_cast<uint32_t>(0.5F);
  args.handle = pipeline.registry.text("registered");
  args.text = {};
  args.color = 1;
  thread.end(kDefaultDomain, thread.start(args));

  thread.push(named("plain"));
  thread.pop(kDefaultDomain);

  pipeline.finish();
  auto const rows = pipeline.rows();
  ASSERT_THAT(pipeline.names(), ElementsAre("range", "mark", "registered", "plain"));
  EXPECT_EQ(rows[0].kind, model::EventKind::kAnnotatedRange);
  EXPECT_EQ(rows[1].kind, model::EventKind::kAnnotatedMark);
  EXPECT_EQ(rows[2].kind, model::EventKind::kAnnotatedRange);
  EXPECT_EQ(rows[3].kind, model::EventKind::kRange);

  auto const details = pipeline.details<model::RangeDetail>(0);
  ASSERT_EQ(details.size(), 3U);
  EXPECT_EQ(details[0].category, 7U);
  EXPECT_EQ(details[0].color, 0xFF00FF80U);
  EXPECT_EQ(details[0].payload_type, model::NumberType::kNone);
  EXPECT_EQ(details[1].payload_type, model::NumberType::kSigned);
  EXPECT_EQ(static_cast<int64_t>(details[1].payload), -5);
  EXPECT_EQ(details[1].category, 0U);
  EXPECT_EQ(details[2].payload_type, model::NumberType::kReal);
  EXPECT_EQ(std::bit_cast<double>(details[2].payload), 0.5);
  EXPECT_EQ(details[2].color, 1U);
}

TEST(RangeDetails, keeps_the_bytes_and_the_communicator_of_the_ranges_of_nccl) {
  Pipeline pipeline;
  uint16_t const nccl = pipeline.registry.domain("NCCL");
  struct {
    uint64_t communicator = 0xABCD, bytes = 4096;
    int32_t root = 3;
  } const values;
  uint64_t const known =
      pipeline.registry.add_schema(nccl, 0,
                                   {"Broadcast",
                                    {{"NCCL communicator ID", 0, 8, ScalarType::kUnsigned},
                                     {"Message size [bytes]", 8, 8, ScalarType::kUnsigned},
                                     {"Root", 16, 4, ScalarType::kSigned}},
                                    sizeof values});

  ThreadRecorder& thread = *pipeline.source.attach(1);
  for (uint64_t const schema : {known, known + 1}) {
    PayloadView const view = {schema, reinterpret_cast<std::byte const*>(&values), sizeof values,
                              sizeof values};
    EventArgs args = named("ncclBroadcast", nccl);
    args.payloads = {&view, 1};
    thread.push(args);
    thread.pop(nccl);
  }

  pipeline.finish();
  auto const rows = pipeline.rows();
  ASSERT_THAT(pipeline.names(), ElementsAre("NCCL: ncclBroadcast", "NCCL: ncclBroadcast"));
  EXPECT_EQ(rows[0].kind, model::EventKind::kAnnotatedRange);
  EXPECT_EQ(rows[1].kind, model::EventKind::kRange) << "a payload of unknown layout says nothing";

  auto const details = pipeline.details<model::RangeDetail>(0);
  ASSERT_EQ(details.size(), 1U);
  EXPECT_EQ(details[0].bytes, 4096U);
  EXPECT_EQ(details[0].communicator, 0xABCDU);
  EXPECT_EQ(pipeline.store.log.unknown_events, 0U);
}

TEST(RangeDetails, tells_the_names_of_categories_once_the_last_one_counts) {
  Pipeline pipeline;
  pipeline.registry.name_category(kDefaultDomain, 7, "loading");
  pipeline.source.refresh(pipeline.store);
  pipeline.registry.name_category(kDefaultDomain, 7, "input");
  pipeline.registry.name_category(pipeline.registry.domain("NCCL"), 7, "init");
  pipeline.source.refresh(pipeline.store);
  pipeline.finish();
  EXPECT_THAT(pipeline.store.info.facts, ElementsAre(testing::Pair("category 7", "input"),
                                                     testing::Pair("category 7 of NCCL", "init")));
}

}  // namespace
}  // namespace stepscope::tracer
