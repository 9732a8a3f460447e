#include "analyzer/whatif/pipeline/pipeline_units.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace stepscope::analyzer {
namespace {

enum class PassEvent : uint8_t {
  kActivationCame,
  kActivationSent,
  kGradientCame,
  kGradientSent,
  kCompute
};

/// An op of a stage in a step.
struct StageOp {
  int64_t launched = 0;  ///< its own start where no launch is known
  int64_t start = 0, end = 0;
  int64_t longer = 0;  ///< than recorded
  PassEvent event = PassEvent::kCompute;
};
using StepsOfStage = std::map<int64_t, std::vector<StageOp>>;

struct MeanOf {
  double sum = 0;
  uint64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
};

/// The ops of a pipeline's stages in its measured steps, and what its messages take.
class StageOps {
 public:
  StageOps(PipelineStats const& pipeline, RecordedGraph const& recorded,
           ReplayWeights const& weights)
      : recorded_(recorded), weights_(weights), steps_(pipeline.stages.size()) {
    for (size_t s = 0; s < pipeline.stages.size(); ++s) place_[pipeline.stages[s].ref] = s;
    size_t const boundaries = pipeline.stages.size() - 1;
    activation_.resize(boundaries);
    gradient_.resize(boundaries);

    auto const& graph = recorded.graph;
    for (uint32_t number = 1; number < graph.nodes.size(); ++number) add_node(number);
  }

  [[nodiscard]] StepsOfStage const& of_stage(size_t stage) const { return steps_[stage]; }
  [[nodiscard]] std::vector<double> activation_ns() const { return means(activation_); }
  [[nodiscard]] std::vector<double> gradient_ns() const { return means(gradient_); }

 private:
  static std::vector<double> means(std::vector<MeanOf> const& of) {
    std::vector<double> result;
    for (MeanOf const& each : of) result.push_back(each.mean());
    return result;
  }

  void add_node(uint32_t number) {
    ReplayGraph const& graph = recorded_.graph;
    ReplayNode const& node = graph.nodes[number];
    if (node.step < 0) return;
    ReplayStep const& step = graph.steps[static_cast<size_t>(node.step)];
    auto const place = place_.find(step.ref);
    if (place == place_.end() || !step.is_measured) return;

    bool const is_compute =
        node.kind == ReplayNodeKind::kOp && node.path_class == PathClass::kCompute;
    if (is_compute) {
      int64_t const end = recorded_.times.over[number], own = graph.recorded.own[number];
      add(place->second, step.step, node,
          {0, end - own, end, weights_.own[number] - own, PassEvent::kCompute});
    } else if (node.kind == ReplayNodeKind::kDeparture) {
      add_message(place->second, step, number);
    }
  }

  void add(size_t stage, int64_t step, ReplayNode const& node, StageOp op) {
    DeviceOps const& device = recorded_.graph.processes[node.process].devices.front();
    auto const launch = device.launch_of(node.row);
    op.launched = launch ? device.start(*launch) : op.start;
    steps_[stage][step].push_back(op);
  }

  /// A side of a message between neighbours.
  void add_message(size_t stage, ReplayStep const& step, uint32_t number) {
    ReplayGraph const& graph = recorded_.graph;
    uint32_t const transfer = graph.source[graph.first_edge[number]];
    CollectiveStats const& stats = recorded_.collectives[graph.nodes[transfer].row];
    if (stats.participants.size() != 2) return;

    bool const is_first = stats.participants[0].ref == step.ref;
    auto const& own = stats.participants[is_first ? 0 : 1];
    auto const& other = stats.participants[is_first ? 1 : 0];
    auto const there = place_.find(other.ref);
    if (there == place_.end()) return;

    bool const sends = own.op == model::CollectiveOp::kSend;
    bool const receives = own.op == model::CollectiveOp::kReceive;
    bool const is_next = there->second == stage + 1, is_last = there->second + 1 == stage;
    if ((!sends && !receives) || (!is_next && !is_last)) return;

    bool const is_activation = sends == is_next;
    PassEvent event = sends ? PassEvent::kActivationSent : PassEvent::kActivationCame;
    if (!is_activation) event = sends ? PassEvent::kGradientSent : PassEvent::kGradientCame;
    add(stage, step.step, graph.nodes[number],
        {0, own.when.begin, recorded_.times.over[number], 0, event});
    if (!sends) return;

    // Beside data, programs send what describes it: much smaller messages take no time.
    size_t const boundary = std::min(stage, there->second);
    largest_ = std::max(largest_, stats.bytes);
    if (stats.bytes < largest_ / 2) return;
    auto& message = is_activation ? activation_[boundary] : gradient_[boundary];
    message.add(static_cast<double>(weights_.own[transfer]));
  }

  RecordedGraph const& recorded_;
  ReplayWeights const& weights_;
  std::map<DeviceRef, size_t> place_;
  std::vector<StepsOfStage> steps_;
  std::vector<MeanOf> activation_, gradient_;  ///< by boundary: transfers
  uint64_t largest_ = 0;
};

/// Passes of a stage: forward, backward, and both where nothing tells where one ends.
struct StagePasses {
  MeanOf forward, backward, both;
};

/// Compute that is launched between two groups of messages.
class PassReader {
 public:
  PassReader(bool is_first, bool is_last, StagePasses& passes)
      : is_first_(is_first), is_last_(is_last), passes_(passes) {}

  /// `ops`: of one step.
  void read(std::vector<StageOp> ops) {
    std::stable_sort(ops.begin(), ops.end(), [](StageOp const& a, StageOp const& b) {
      // What a pass sends comes before the next pass, which may begin at the same instant.
      bool const a_computes = a.event == PassEvent::kCompute;
      bool const b_computes = b.event == PassEvent::kCompute;
      return std::tie(a.launched, a.start, a_computes) < std::tie(b.launched, b.start, b_computes);
    });

    Group before, after;
    Segment segment;
    for (StageOp const& op : ops) {
      if (op.event != PassEvent::kCompute) {
        after.add(op.event);
        continue;
      }
      if (after.is_any) {
        end_segment(segment, before, after);
        before = after;
        after = {};
        segment = {};
      }
      segment.add(op);
    }
    if (after.is_any) end_segment(segment, before, after);
  }

 private:
  /// Messages without compute between them.
  struct Group {
    bool is_any = false;
    bool has[4] = {};
    void add(PassEvent event) {
      is_any = true;
      has[static_cast<size_t>(event)] = true;
    }
    [[nodiscard]] bool of(PassEvent event) const { return has[static_cast<size_t>(event)]; }
  };
  struct Segment {
    int64_t begin = std::numeric_limits<int64_t>::max();
    int64_t end = std::numeric_limits<int64_t>::min();
    int64_t longer = 0;
    void add(StageOp const& op) {
      begin = std::min(begin, op.start);
      end = std::max(end, op.end);
      longer += op.longer;
    }
    [[nodiscard]] bool is_empty() const { return end < begin; }
    [[nodiscard]] double ns() const { return static_cast<double>(end - begin + longer); }
  };

  /// On the first stage a backward pass begins with its gradients and a forward pass ends with its
  /// activations. On the last one it is the other way round. In between each pass ends with what it
  /// sends.
  void end_segment(Segment const& segment, Group const& before, Group const& after) {
    if (segment.is_empty()) return;
    bool forward = after.of(PassEvent::kActivationSent);
    bool backward = after.of(PassEvent::kGradientSent);
    if (is_first_) backward = before.of(PassEvent::kGradientCame);
    if (is_last_) forward = before.of(PassEvent::kActivationCame);

    if (forward && backward)
      passes_.both.add(segment.ns());
    else if (forward)
      passes_.forward.add(segment.ns());
    else if (backward)
      passes_.backward.add(segment.ns());
  }

  bool is_first_, is_last_;
  StagePasses& passes_;
};

/// The mean passes of a stage; none where they cannot be told apart.
std::optional<PipelineUnits::Stage> unit_of(StagePasses const& passes) {
  double const forward = passes.forward.mean(), backward = passes.backward.mean();
  double const both = passes.both.mean();
  bool const has_forward = passes.forward.count > 0, has_backward = passes.backward.count > 0;
  if (has_forward && has_backward) return PipelineUnits::Stage{forward, backward};
  if (passes.both.count == 0) return std::nullopt;

  // Where only their sum is seen, only their sum matters.
  if (has_forward) return PipelineUnits::Stage{forward, std::max(both - forward, 0.0)};
  if (has_backward) return PipelineUnits::Stage{std::max(both - backward, 0.0), backward};
  return PipelineUnits::Stage{both / 2, both / 2};
}

/// From the first op of a step to the arrival of the last gradient; 0 without both.
double span_of(std::vector<StageOp> const& ops) {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = begin;
  bool has_gradient = false;
  for (StageOp const& op : ops) {
    if (op.event == PassEvent::kCompute) begin = std::min(begin, op.start);
    if (op.event != PassEvent::kGradientCame) continue;
    end = has_gradient ? std::max(end, op.end) : op.end;
    has_gradient = true;
  }
  return has_gradient && end > begin ? static_cast<double>(end - begin) : 0;
}

}  // namespace

std::optional<MeasuredUnits> measure_units(PipelineStats const& pipeline,
                                           RecordedGraph const& recorded,
                                           ReplayWeights const& weights) {
  StageOps const ops(pipeline, recorded, weights);
  MeasuredUnits measured;
  measured.units.schedule = pipeline.schedule;
  measured.units.activation_ns = ops.activation_ns();
  measured.units.gradient_ns = ops.gradient_ns();

  for (size_t s = 0; s < pipeline.stages.size(); ++s) {
    StagePasses passes;
    PassReader reader(s == 0, s + 1 == pipeline.stages.size(), passes);
    for (auto const& [step, of_step] : ops.of_stage(s)) reader.read(of_step);
    auto const unit = unit_of(passes);
    if (!unit) return std::nullopt;
    measured.units.stages.push_back(*unit);
  }

  MeanOf span;
  for (auto const& [step, of_step] : ops.of_stage(0))
    if (double const ns = span_of(of_step); ns > 0) span.add(ns);
  if (span.count == 0) return std::nullopt;
  measured.last_gradient_ns = span.mean();
  return measured;
}

}  // namespace stepscope::analyzer
