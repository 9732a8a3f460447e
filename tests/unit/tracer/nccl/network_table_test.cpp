#include "tracer/nccl/network_table.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracer/nccl/handle.h"

namespace stepscope::tracer::nccl {
namespace {

using ::testing::ElementsAre;

class NcclNetworkTable : public ::testing::Test {
 protected:
  std::unique_ptr<NetworkTable> table = std::make_unique<NetworkTable>();
};

TEST_F(NcclNetworkTable, sums_what_the_steps_of_an_operation_waited_for) {
  Slot const op = *table->begin_op(7);
  Slot const first = *table->begin_step(op);
  Slot const second = *table->begin_step(op);

  table->wait(first, Wait::kGpu, 100);
  table->wait(second, Wait::kGpu, 110);
  table->wait(first, Wait::kPeer, 130);
  table->wait(first, Wait::kNetwork, 135);
  table->end_step(first, 200);
  table->end_step(second, 210);

  auto const ended = table->end_op(op);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->call, 7U);
  EXPECT_THAT(ended->waited, ElementsAre(30 + 100, 5, 65));
}

TEST_F(NcclNetworkTable, knows_a_handle_that_outlived_its_operation) {
  Slot const op = *table->begin_op(1);
  Slot const step = *table->begin_step(op);
  table->wait(step, Wait::kGpu, 0);
  table->end_op(op);

  Slot const next = *table->begin_op(2);
  EXPECT_EQ(next.place, op.place) << "the place is used again";

  table->end_step(step, 1'000);
  EXPECT_FALSE(table->begin_step(op));
  EXPECT_FALSE(table->end_op(op));
  EXPECT_THAT(table->end_op(next)->waited, ElementsAre(0, 0, 0));
}

TEST_F(NcclNetworkTable, refuses_more_than_it_has_places_for_and_goes_on_afterwards) {
  std::vector<Slot> ops;
  while (auto const op = table->begin_op(1)) ops.push_back(*op);
  EXPECT_EQ(ops.size(), NetworkTable::kMaxOps);

  std::vector<Slot> steps;
  while (auto const step = table->begin_step(ops[0])) steps.push_back(*step);
  EXPECT_EQ(steps.size(), NetworkTable::kMaxSteps);

  table->end_op(ops.back());
  EXPECT_TRUE(table->begin_op(1));
  table->end_step(steps.back(), 0);
  EXPECT_TRUE(table->begin_step(ops[0]));
}

TEST_F(NcclNetworkTable, time_that_goes_back_adds_nothing) {
  Slot const op = *table->begin_op(1);
  Slot const step = *table->begin_step(op);
  table->wait(step, Wait::kNetwork, 500);
  table->end_step(step, 400);
  EXPECT_THAT(table->end_op(op)->waited, ElementsAre(0, 0, 0));
}

TEST(NcclHandle, keeps_type_recorder_and_slot) {
  Slot const slot = {NetworkTable::kMaxSteps - 1, (1U << Slot::kUseBits) - 1};
  uint64_t const handle = make_handle(HandleType::kNetworkStep, 0x1'2345, slot);
  EXPECT_EQ(type_of(handle), HandleType::kNetworkStep);
  EXPECT_EQ(recorder_of(handle), 0x2345U) << "modulo 2^16";
  EXPECT_EQ(slot_of(handle).place, slot.place);
  EXPECT_EQ(slot_of(handle).use, slot.use);
}

}  // namespace
}  // namespace stepscope::tracer::nccl
