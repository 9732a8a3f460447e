// The program's own names of streams: from the handle that it names to the track that people see.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/cupti_source_fixture.h"

namespace stepscope::tracer {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class StreamNames : public CuptiSourceTest {
 protected:
  std::vector<std::string> track_names() {
    std::vector<std::string> result;
    for (model::Track const& track : store.tracks()) result.push_back(track.name);
    return result;
  }
  void play_kernel(uint32_t stream, uint32_t context = 1) {
    auto record = kernel("k", {100, 200}, 1, stream);
    record.contextId = context;
    ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
    drain();
  }
};

TEST_F(StreamNames, are_those_of_tracks_whether_given_before_the_first_op_or_after) {
  source->driver_starts();
  source->stream_named(FakeCupti::stream(1, 13), "all-reduce");
  play_kernel(13);
  play_kernel(14);
  EXPECT_THAT(track_names(), ElementsAre("all-reduce", "stream 14"));
  source->stream_named(FakeCupti::stream(1, 14), "copies");
  source->stream_named(FakeCupti::stream(1, 13), "gradients");
  drain();
  EXPECT_THAT(track_names(), ElementsAre("gradients", "copies"));
}

TEST_F(StreamNames, are_kept_apart_by_context) {
  source->driver_starts();
  fake.current_context = 9;
  source->stream_named(FakeCupti::stream(9, 13), "of the second");
  source->stream_named(FakeCupti::stream(1, 13), "not of the thread's context");
  play_kernel(13);
  play_kernel(13, 9);
  EXPECT_THAT(track_names(), UnorderedElementsAre("stream 13", "of the second"));
}

TEST_F(StreamNames, stay_when_the_stream_turns_out_to_be_the_default_one) {
  source->driver_starts();
  source->stream_named(FakeCupti::stream(1, 7), "main");
  play_kernel(7);
  ASSERT_TRUE(fake.play(RecordBuffer().add(context_record(1, 0, 7))));
  drain();
  EXPECT_THAT(track_names(), ElementsAre("main"));
}

TEST_F(StreamNames, make_no_track_for_a_stream_that_does_nothing) {
  source->driver_starts();
  source->stream_named(FakeCupti::stream(1, 13), "idle");
  drain();
  EXPECT_TRUE(store.tracks().empty());
}

TEST_F(StreamNames, are_not_asked_for_where_nothing_is_recorded) {
  source->stream_named(FakeCupti::stream(1, 13), "before CUDA");
  source->driver_starts();
  source->stream_named(nullptr, "no stream");
  fake.current_context = 0;
  source->stream_named(FakeCupti::stream(1, 13), "without a context");
  fake.current_context = 1;
  fake.answers["GetStreamIdEx"] = CUPTI_ERROR_INVALID_STREAM;
  source->stream_named(FakeCupti::stream(1, 14), "refused");

  play_kernel(13);
  play_kernel(14);
  EXPECT_THAT(track_names(), ElementsAre("stream 13", "stream 14"));

  finish();
  size_t const asked = fake.count("GetStreamIdEx");
  source->stream_named(FakeCupti::stream(1, 13), "too late");
  EXPECT_EQ(fake.count("GetStreamIdEx"), asked);
}

TEST_F(StreamNames, hold_up_the_end_of_cupti_while_it_is_asked) {
  ask_to_finalize();
  source->driver_starts();
  std::atomic<bool> is_asked = false, may_answer = false;
  fake.inside = [&](std::string const& call) {
    if (call != "GetStreamIdEx") return;
    is_asked = true;
    while (!may_answer) std::this_thread::yield();
  };

  std::thread program([&] { source->stream_named(FakeCupti::stream(1, 13), "slow"); });
  while (!is_asked) std::this_thread::yield();

  std::thread writer([&] { finish(); });
  while (fake.count("ActivityFlushAll forced") == 0) std::this_thread::yield();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020);
  EXPECT_EQ(fake.count("Finalize"), 0U);

  may_answer = true;
  program.join();
  writer.join();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020);
  EXPECT_EQ(fake.count("Finalize"), 1U);
}

}  // namespace
}  // namespace stepscope::tracer
