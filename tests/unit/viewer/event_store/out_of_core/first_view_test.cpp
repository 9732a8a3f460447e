// What a person sees first: the steps, however long the program ran before them.
#include <gtest/gtest.h>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "viewer/scene/view_moves.h"

namespace stepscope::viewer {
namespace {

constexpr int64_t kMs = 1'000'000;

/// An allocation at 0, then ten steps of 10 ms from `begin` on.
model::Run steps_from(int64_t begin) {
  model::TraceBuilder builder;
  model::TrackId const thread = add_thread(builder);

  builder.events(thread).add(
      model::EventKind::kMemory, 0, 1000, builder.intern("allocate"), 0,
      model::MemoryDetail{
          .address = 64, .bytes = 1 << 20, .device = 0, .op = model::MemoryOp::kAllocate});
  for (int64_t step = 0; step < 10; ++step)
    builder.events(thread).add(model::EventKind::kStep, begin + step * 10 * kMs, 10 * kMs,
                               builder.intern("step"), 0, model::StepDetail{step});

  model::Run run;
  run.name = "made";
  run.ranks.push_back({std::move(builder).finish(), 0, "made.stepscope"});
  return run;
}

class FirstViewTest : public OutOfCoreTest {};

TEST_F(FirstViewTest, BeginsAtTheStepsOfALateWindow) {
  write(steps_from(60'000 * kMs));
  for (bool const in_memory : {true, false}) {
    SCOPED_TRACE(in_memory);
    Scene const scene = in_memory ? open_in_memory() : std::move(*open_out_of_core());
    ViewState state = initial_view(scene);
    EXPECT_EQ(state.window, (TimeWindow{59'995e6, 60'100e6}));

    show_all(state, scene);
    EXPECT_EQ(state.window, (TimeWindow{0, 60'100e6}));
  }
}

TEST_F(FirstViewTest, IsTheWholeRunWhereMostOfItAreSteps) {
  write(steps_from(40 * kMs));
  EXPECT_EQ(initial_view(open_in_memory()).window, (TimeWindow{0, 140e6}));
  EXPECT_EQ(initial_view(*open_out_of_core()).window, (TimeWindow{0, 140e6}));
}

TEST_F(FirstViewTest, IsTheWholeRunWithoutSteps) {
  EXPECT_EQ(initial_view(scene_of([](model::TraceBuilder& builder) {
              builder.events(add_thread(builder))
                  .add(model::EventKind::kRange, 0, 500, builder.intern("range"));
            })).window,
            (TimeWindow{0, 500}));
}

}  // namespace
}  // namespace stepscope::viewer
