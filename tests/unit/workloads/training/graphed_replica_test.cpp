// Passes as graphs, on a device whose graphs are lists of the operations that it was given. A
// graphed replica leaves what a plain one leaves and exchanges the same buckets at the same places.
// While it is captured it asks for nothing but operations. Without graphs it goes on as a plain
// one.
#include "workloads/training/graphed_replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "workloads/backend/placement.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kSmallFloats = 8, kSmallParameters = 4;

class ListedGraph final : public LaunchGraph {
 public:
  std::vector<std::function<void()>> operations;
  std::string name;
};

/// A host device with graphs of element-wise operations, which are all that the replicas of this
/// file have.
class GraphDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  bool refuses = false;                ///< to make a graph
  int captures = 0, replays = 0;       ///< begun; of graphs
  std::vector<std::string> forbidden;  ///< what was asked of it during a capture and must not be

  void run(char const* name, elementwise::Op const& op, size_t count) override {
    if (captured_ == nullptr) return ForwardingDevice::run(name, op, count);
    captured_->operations.emplace_back([=, this] { ForwardingDevice::run(name, op, count); });
  }
  Event record(StreamKind stream) override {
    forbid("record");
    return ForwardingDevice::record(stream);
  }
  void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes,
            CopyDirection direction) override {
    forbid(name);
    ForwardingDevice::copy(stream, name, to, from, bytes, direction);
  }
  void begin_capture() override {
    ASSERT_TRUE(captured_ == nullptr);
    captured_ = std::make_unique<ListedGraph>();
    ++captures;
  }
  Expected<std::unique_ptr<LaunchGraph>> end_capture(char const* name) override {
    std::unique_ptr<ListedGraph> made = std::move(captured_);
    if (refuses) return base::fail("no luck today");
    if (made->operations.empty()) return std::unique_ptr<LaunchGraph>();
    made->name = name;
    return made;
  }
  void replay(LaunchGraph& graph) override {
    forbid("replay");
    ++replays;
    for (auto const& operation : dynamic_cast<ListedGraph&>(graph).operations) operation();
  }

 private:
  void forbid(std::string const& what) {
    if (captured_ != nullptr) forbidden.push_back(what);
  }
  std::unique_ptr<ListedGraph> captured_;
};

/// Writes down what comes to be exchanged, with the gradients as they are then, and changes them as
/// an exchange does.
class ListedExchanges final : public UpdateScheme {
 public:
  ListedExchanges(Device& device, std::vector<Bucket> const& buckets, float* gradients,
                  bool exchanges)
      : device_(device), buckets_(buckets), gradients_(gradients), exchanges_(exchanges) {}
  std::vector<std::string> seen;

  void start(float const* /*state*/) override {}
  [[nodiscard]] bool exchanges() const override { return exchanges_; }
  void exchange(size_t b) override {
    device_.synchronize(device_.record(StreamKind::kCompute));
    std::string line = fmt::format("{}:", buckets_[b].name);
    for (size_t i = 0; i < buckets_[b].count; ++i) {
      float& gradient = gradients_[buckets_[b].offset + i];
      line += fmt::format(" {}", gradient);
      gradient += 1.0F;
    }
    seen.push_back(std::move(line));
  }
  void update(float /*rate*/, int64_t /*step*/) override {}
  void download_state(float* /*state*/) override {}

 private:
  Device& device_;
  std::vector<Bucket> const& buckets_;
  float* gradients_;
  bool exchanges_;
};

/// y = input; gradient p = 2 y, then y is halved: an operation that were done twice, or not at all,
/// would show.
class SmallReplica final : public Replica {
 public:
  SmallReplica(Device& device, float* y, float* gradients)
      : device_(device), y_(y), gradients_(gradients) {}
  void forward(InputBuffers const& input) override {
    device_.run("forward", elementwise::Copy{input.inputs.floats(), y_}, kSmallFloats);
  }
  void backward(InputBuffers const& /*input*/, GradientReducer& reducer) override {
    for (size_t p = 0; p < kSmallParameters; ++p) {
      device_.run("gradient", elementwise::Add{y_, y_, gradients_ + p * kSmallFloats},
                  kSmallFloats);
      device_.run("halve", elementwise::Scale{y_, 0.5F}, kSmallFloats);
      reducer.ready(p);
    }
  }

 private:
  Device& device_;
  float *y_, *gradients_;
};

struct GraphJob {
  int64_t accumulate = 1;
  size_t places = 2;
  int batches = 24;
  bool overlap = true, exchanges = true, refuses = false;
};

/// What a training leaves.
struct GraphOutcome {
  std::vector<std::string> exchanged;
  std::vector<std::vector<float>> after_batch;  ///< y, then gradients, after each batch
  std::vector<std::string> forbidden;
  int captures = 0, replays = 0;
  std::string messages;
};

/// Trains on all batches. Returns y and the gradients after each of them.
std::vector<std::vector<float>> train_batches(GraphJob const& job, Device& device, Replica& replica,
                                              GradientReducer& reducer,
                                              std::vector<InputBuffers>& inputs, float const* y,
                                              float const* gradients) {
  std::vector<std::vector<float>> after_batch;
  for (int batch = 0; batch < job.batches; ++batch) {
    InputBuffers& input = inputs[static_cast<size_t>(batch) % job.places];
    for (size_t i = 0; i < kSmallFloats; ++i)
      input.inputs.floats()[i] = static_cast<float>(batch * 10) + static_cast<float>(i);

    replica.forward(input);
    reducer.begin(batch % job.accumulate);
    replica.backward(input, reducer);
    reducer.finish();
    device.synchronize();

    auto& all = after_batch.emplace_back(y, y + kSmallFloats);
    all.insert(all.end(), gradients, gradients + kSmallParameters * kSmallFloats);
  }
  return after_batch;
}

GraphOutcome train_small(GraphJob const& job, bool graphs) {
  DeviceGroup group = open_devices("host", {}).value();
  GraphDevice device(std::move(group.devices.front()));
  device.refuses = job.refuses;
  auto const floats = [&](size_t count) {
    Buffer buffer = device.allocate(count * sizeof(float), MemoryPurpose::kOther, "test").value();
    std::memset(buffer.data(), 0, buffer.bytes());
    return buffer;
  };

  GraphOutcome outcome;
  {
    Buffer const y = floats(kSmallFloats), gradients = floats(kSmallParameters * kSmallFloats),
                 accumulated = floats(kSmallParameters * kSmallFloats);
    std::vector<Bucket> const buckets = {{0, 0, 0, kSmallFloats, "b0"},
                                         {1, 2, kSmallFloats, 2 * kSmallFloats, "b1"},
                                         {3, 3, 3 * kSmallFloats, kSmallFloats, "b2"}};
    std::vector<InputBuffers> inputs(job.places);
    for (InputBuffers& input : inputs) input.inputs = floats(kSmallFloats);

    ListedExchanges scheme(device, buckets, gradients.floats(), job.exchanges);
    GradientReducer reducer(device, &scheme, buckets, gradients.floats(), accumulated.floats(),
                            {job.overlap, job.accumulate});
    SmallReplica plain(device, y.floats(), gradients.floats());

    char* text = nullptr;
    size_t text_bytes = 0;
    std::FILE* const log = open_memstream(&text, &text_bytes);
    {
      GraphedReplica graphed(plain, device, log);
      Replica& replica = graphs ? static_cast<Replica&>(graphed) : plain;
      outcome.after_batch =
          train_batches(job, device, replica, reducer, inputs, y.floats(), gradients.floats());
    }
    std::fclose(log);
    outcome.messages = text;
    std::free(text);
    outcome.exchanged = scheme.seen;
  }

  outcome.forbidden = device.forbidden;
  outcome.captures = device.captures;
  outcome.replays = device.replays;
  return outcome;
}

void expect_the_same_without_graphs(GraphJob const& job) {
  GraphOutcome const plain = train_small(job, false), graphed = train_small(job, true);
  EXPECT_EQ(plain.after_batch, graphed.after_batch);
  EXPECT_EQ(plain.exchanged, graphed.exchanged);
  EXPECT_THAT(graphed.forbidden, IsEmpty());
  EXPECT_EQ(plain.captures, 0);
  EXPECT_THAT(graphed.replays, Gt(0));
  EXPECT_EQ(graphed.messages, "");
}

TEST(GraphedReplica, LeavesWhatAPlainOneLeaves) {
  expect_the_same_without_graphs({});
  expect_the_same_without_graphs({.places = 1});
  expect_the_same_without_graphs({.accumulate = 2, .places = 3});
  expect_the_same_without_graphs({.accumulate = 4, .places = 6, .batches = 80});
  expect_the_same_without_graphs({.overlap = false});
  expect_the_same_without_graphs({.accumulate = 3, .places = 4, .batches = 60, .overlap = false});
  expect_the_same_without_graphs({.exchanges = false});
}

TEST(GraphedReplica, IsOneGraphAPassAndPlaceThatIsCutWhereABucketIsExchanged) {
  // Two places, each with one forward pass, captured once …
  constexpr int kBatches = 10, kReplayed = kBatches - GraphedReplica::kWarmUp;
  GraphOutcome const whole = train_small({.batches = kBatches, .exchanges = false}, true);
  EXPECT_EQ(whole.captures, 2 * (1 + 1));
  EXPECT_EQ(whole.replays, kReplayed * (1 + 1));
  // … and a backward pass of three buckets: nothing comes behind the last one.
  GraphOutcome const cut = train_small({.batches = kBatches}, true);
  EXPECT_EQ(cut.captures, 2 * (1 + 4));
  EXPECT_EQ(cut.replays, kReplayed * (1 + 3));
  EXPECT_EQ(cut.exchanged.size(), 3U * kBatches);
}

TEST(GraphedReplica, GoesOnWithoutGraphsAndSaysOnceWhyWhereThereAreNone) {
  GraphOutcome const plain = train_small({}, false), refused = train_small({.refuses = true}, true);
  EXPECT_EQ(plain.after_batch, refused.after_batch);
  EXPECT_EQ(plain.exchanged, refused.exchanged);
  EXPECT_EQ(refused.replays, 0);
  EXPECT_EQ(refused.captures, 1);
  EXPECT_THAT(refused.messages,
              AllOf(HasSubstr("host:0"), HasSubstr("graph.forward"), HasSubstr("no luck today")));
  EXPECT_EQ(std::count(refused.messages.begin(), refused.messages.end(), '\n'), 1);
}

TEST(GraphedReplica, HasGraphsForAsManyPlacesAsItMay) {
  GraphJob const job = {.places = 80, .batches = 300};
  GraphOutcome const plain = train_small(job, false), graphed = train_small(job, true);
  EXPECT_EQ(plain.after_batch, graphed.after_batch);
  EXPECT_EQ(plain.exchanged, graphed.exchanged);
  EXPECT_EQ(graphed.captures, static_cast<int>(GraphedReplica::kMostPlaces) * (1 + 4));
}

TEST(GraphedReplica, IsRefusedByHostDevices) {
  auto const group = open_devices("host", {.graphs = true});
  ASSERT_FALSE(group.has_value());
  EXPECT_THAT(group.error().message,
              AllOf(HasSubstr("--cuda-graphs"), HasSubstr("use a cuda device")));
}

}  // namespace
}  // namespace stepscope::workloads
