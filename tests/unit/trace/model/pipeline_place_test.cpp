// Names of a pipeline's workers, and which pass a message belongs to.
#include "trace/model/derive/pipeline_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

std::vector<size_t> passes_with_messages(std::vector<PassOfMessage> const& passes) {
  std::vector<size_t> result;
  for (PassOfMessage const& pass : passes)
    if (!pass.is_empty) result.push_back(pass.pass);
  return result;
}

TEST(PipelinePlace, IsReadFromTheNameThatItIsWrittenAs) {
  for (PipelinePlace const place : {PipelinePlace{0, 0, 0}, PipelinePlace{3, 17, 1}})
    EXPECT_EQ(pipeline_place_of(device_name_of(place)), place);
}

TEST(PipelinePlace, OtherNamesHaveNone) {
  for (std::string_view const name :
       {"", "GPU 0", "PP rank 1", "PP rank 1, DP rank 2", "PP rank 1, DP rank 2, TP rank ",
        "PP rank -1, DP rank 0, TP rank 0", "PP rank 1, DP rank 2, TP rank 3 <b>",
        "PP rank 99999999999, DP rank 0, TP rank 0"})
    EXPECT_FALSE(pipeline_place_of(name)) << name;
}

TEST(PipelinePlace, APartOfTheModelIsInTheNameOfAnOperation) {
  EXPECT_EQ(name_of_chunk("forward-compute", 0), "forward-compute");
  EXPECT_EQ(name_of_chunk("forward-compute", 2), "forward-compute, chunk 2");

  ChunkOperation const named = chunk_operation_of("forward-compute, chunk 2");
  EXPECT_EQ(named.operation, "forward-compute");
  EXPECT_EQ(named.chunk, 2);
  EXPECT_EQ(chunk_operation_of("x, chunk two").operation, "x, chunk two");
}

TEST(PipelineShape, TheModelsEndsHaveNoMessages) {
  PipelineShape const shape{4, 2};
  MessageDirection const send{true, false}, receive{true, true}, gradients{false, false},
      receive_gradients{false, true};

  EXPECT_FALSE(shape.crosses(0, 0, receive));
  EXPECT_TRUE(shape.crosses(0, 1, receive));  // from the last stage's first part
  EXPECT_TRUE(shape.crosses(3, 0, send));
  EXPECT_FALSE(shape.crosses(3, 1, send));
  EXPECT_FALSE(shape.crosses(0, 0, gradients));
  EXPECT_FALSE(shape.crosses(3, 1, receive_gradients));
}

TEST(PassesOfMessages, AreThoseWithMessagesOrAll) {
  std::vector<uint8_t> const crosses = {0, 1, 0, 1};

  auto const of_each = passes_of_messages(4, crosses, true);
  ASSERT_TRUE(of_each);
  EXPECT_THAT(passes_with_messages(*of_each), testing::ElementsAre(1U, 3U));
  EXPECT_TRUE((*of_each)[0].is_empty);

  auto const needed = passes_of_messages(2, crosses, false);
  ASSERT_TRUE(needed);
  EXPECT_THAT(passes_with_messages(*needed), testing::ElementsAre(1U, 3U));

  auto const without_first = passes_of_messages(3, crosses, true);
  ASSERT_TRUE(without_first);
  EXPECT_EQ(without_first->front().pass, 1U);
}

TEST(PassesOfMessages, AreUnknownForOtherNumbers) {
  std::vector<uint8_t> const crosses = {0, 1, 0, 1};
  EXPECT_FALSE(passes_of_messages(5, crosses, true));
  EXPECT_FALSE(passes_of_messages(3, crosses, false));
  EXPECT_TRUE(passes_of_messages(0, {}, false));
}

}  // namespace
}  // namespace stepscope::model
