#include "analyzer/metrics/host/callers.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

TEST(Callers, OwnFunctionsAreThoseWithAFileThatIsNoLibrarys) {
  for (char const* own :
       {"train.py(88): train", "/home/a/train.py(88): train", "src/models/vit.py(206): forward",
        "/opt/venv/lib/python3.11/site-packages/timm/layers/mlp.py(40): forward",
        "torchrun_wrapper.py(3): main", "test.py(3): main", "utils/logging.py(5): log"})
    EXPECT_TRUE(is_own_function(own)) << own;

  for (char const* other :
       {"torch/nn/modules/module.py(1743): _call_impl", "contextlib.py(81): inner",
        "selectors.py(402): select", "multiprocessing/queues.py(113): get", "json/decoder.py(3): x",
        "/opt/venv/lib/python3.11/site-packages/torch/optim/adam.py(100): step",
        "<built-in method linear of type object at 0x7b>", "<string>.py(2): f",
        "nn.Module: Linear_3", "aten::addmm", "train.py", "train.py(): x", "train.py(a): x", ""})
    EXPECT_FALSE(is_own_function(other)) << other;
}

/// Rows of one thread, and the caller of each.
class CallersOfRows : public testing::Test {
 protected:
  void add(char const* name, int64_t start, int64_t end, EventKind kind = EventKind::kRange) {
    builder_.events(thread_).add(kind, start, end - start, builder_.intern(name));
  }
  std::string caller_of(char const* name) {
    if (!callers_) {
      trace_ = std::move(builder_).finish();
      callers_.emplace(trace_);
    }

    for (uint32_t row = 0; row < trace_.event_count(); ++row)
      if (trace_.name(row) == name) {
        model::StringId const caller = callers_->caller_of(row);
        return caller.valid() ? std::string(trace_.text(caller)) : "";
      }
    return "no such row";
  }
  model::TraceBuilder builder_;
  model::TrackId thread_ = builder_.add_track({model::TrackKind::kThread, "main", 1, -1, {}, 0});
  model::TrackId stream_ = builder_.add_track({model::TrackKind::kStream, "stream", 7, 0, {}, 0});
  model::Trace trace_;
  std::optional<Callers> callers_;
};

TEST_F(CallersOfRows, AreTheInnermostFunctionsOfTheProgram) {
  add("train.py(9): main", 0, 1000);
  add("model.py(20): forward", 100, 500);
  add("torch/nn/modules/module.py(1743): _call_impl", 110, 400);
  add("aten::linear", 120, 300);
  add("cudaLaunchKernel", 130, 140, EventKind::kLaunch);
  add("aten::item", 500, 600);  // forward has just returned
  add("after", 1000, 1100);

  EXPECT_EQ(caller_of("cudaLaunchKernel"), "model.py(20): forward");
  EXPECT_EQ(caller_of("aten::linear"), "model.py(20): forward");
  EXPECT_EQ(caller_of("torch/nn/modules/module.py(1743): _call_impl"), "model.py(20): forward");
  EXPECT_EQ(caller_of("aten::item"), "train.py(9): main");
  EXPECT_EQ(caller_of("model.py(20): forward"), "") << "names a place itself";
  EXPECT_EQ(caller_of("after"), "");
}

TEST_F(CallersOfRows, AreNotLookedForOnStreams) {
  add("train.py(9): main", 0, 1000);
  builder_.events(stream_).add(EventKind::kKernel, 10, 5, builder_.intern("kernel"), 0,
                               model::KernelDetail{});
  EXPECT_EQ(caller_of("kernel"), "");
}

TEST_F(CallersOfRows, AreNoneWhereNoFunctionWasRecorded) {
  add("step", 0, 1000);
  add("aten::item", 500, 600);
  EXPECT_EQ(caller_of("aten::item"), "");
}

}  // namespace
}  // namespace stepscope::analyzer
