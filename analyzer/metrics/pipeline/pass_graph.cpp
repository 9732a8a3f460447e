#include "analyzer/metrics/pipeline/pass_graph.h"

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace stepscope::analyzer {
namespace {

using model::MessageDirection;

struct MessageName {
  std::string_view name, pass;
  MessageDirection direction;
};
constexpr std::array<MessageName, 4> kMessages = {
    MessageName{"forward-send", "forward-compute", {true, false}},
    MessageName{"forward-recv", "forward-compute", {true, true}},
    MessageName{"backward-send", "backward-compute", {false, false}},
    MessageName{"backward-recv", "backward-compute", {false, true}},
};
constexpr std::string_view kForwardPass = "forward-compute", kBackwardPass = "backward-compute",
                           kOptimizerPass = "optimizer", kCollection = "gc";
/// After the last pass, in this order.
constexpr std::array<std::string_view, 2> kBeforeGradients = {"layernorm-grads-all-reduce",
                                                              "embedding-grads-all-reduce"};
constexpr std::string_view kSeparateReduce = "separate-grads-all-reduce",
                           kClipping = "optimizer-clip-main-grad";

bool is_gather(std::string_view name) { return name.starts_with("params-all-gather"); }
bool is_scatter(std::string_view name) { return name.starts_with("grads-reduce-scatter"); }

/// The operations of one seat by time, and what they wait for.
class SeatDependencies {
 public:
  SeatDependencies(PipelineSteps const& steps, std::span<uint32_t const> operations,
                   model::PipelineShape shape, std::vector<std::vector<uint32_t>>& before)
      : steps_(steps), shape_(shape), before_(before) {
    for (uint32_t const operation : operations) {
      std::string_view const name = name_of(operation);
      by_name_[name].push_back(operation);
      bool const is_late = name == kOptimizerPass || name == kCollection;
      if (!steps.operations[operation].is_comm && !is_late) passes_.push_back(operation);
      if (is_gather(name) || is_scatter(name)) weights_.push_back(operation);
    }
  }

  /// False: the messages that were recorded do not fit the passes.
  bool add() {
    chain(passes_);
    for (MessageName const& message : kMessages) add_messages(message);
    add_first_gradients();

    chain(weights_);
    add_gathers();
    bool const overlaps = by_name_.contains(kSeparateReduce);
    if (overlaps) add_overlapped_scatters();
    add_end(overlaps);
    return are_messages_whole_;
  }

 private:
  [[nodiscard]] std::string_view name_of(uint32_t operation) const {
    return steps_.names[steps_.operations[operation].name];
  }
  [[nodiscard]] std::vector<uint32_t> named(std::string_view name) const {
    auto const found = by_name_.find(name);
    return found == by_name_.end() ? std::vector<uint32_t>() : found->second;
  }
  [[nodiscard]] int32_t chunk_of(uint32_t operation) const {
    return steps_.operations[operation].chunk;
  }

  void wait(uint32_t operation, uint32_t for_operation) {
    before_[operation].push_back(for_operation);
  }
  void chain(std::vector<uint32_t> const& operations) {
    for (size_t i = 1; i < operations.size(); ++i) wait(operations[i], operations[i - 1]);
  }

  void add_messages(MessageName const& message) {
    std::vector<uint32_t> const messages = named(message.name), passes = named(message.pass);
    if (passes.empty()) return;
    chain(messages);

    int32_t const stage = steps_.seats[steps_.operations[passes.front()].seat].stage;
    std::vector<uint8_t> crosses;
    for (uint32_t const pass : passes)
      crosses.push_back(shape_.crosses(stage, chunk_of(pass), message.direction) ? 1 : 0);
    auto const of =
        model::passes_of_messages(messages.size(), crosses, message.direction.is_receive);
    if (!of) {
      are_messages_whole_ = false;
      return;
    }

    for (size_t i = 0; i < messages.size(); ++i) {
      size_t const pass = (*of)[i].pass;
      if (!message.direction.is_receive) {
        wait(messages[i], passes[pass]);
        continue;
      }
      wait(passes[pass], messages[i]);
      if (pass > 0) wait(messages[i], passes[pass - 1]);
    }
  }

  void add_first_gradients() {
    size_t first = 0;
    while (first < passes_.size() && name_of(passes_[first]) != kBackwardPass) ++first;
    constexpr size_t kEarlier = 2;
    if (first == passes_.size() || first < kEarlier) return;
    for (std::string_view const name : {"backward-recv", "backward-send"})
      if (auto const messages = named(name); !messages.empty())
        wait(messages.front(), passes_[first - kEarlier]);
  }

  void add_gathers() {
    std::map<int32_t, uint32_t> last_of_chunk;
    for (uint32_t const operation : weights_)
      if (is_gather(name_of(operation))) last_of_chunk[chunk_of(operation)] = operation;

    for (auto const& [chunk, gather] : last_of_chunk) {
      auto const is_of_chunk = [&, of = chunk](uint32_t pass) { return chunk_of(pass) == of; };
      std::vector<uint32_t> const forward = named(kForwardPass);
      auto const first = std::find_if(forward.begin(), forward.end(), is_of_chunk);
      if (first != forward.end()) wait(*first, gather);
    }
  }

  void add_overlapped_scatters() {
    std::map<int32_t, uint32_t> first_of_chunk;
    for (uint32_t const operation : weights_)
      if (is_scatter(name_of(operation)))
        first_of_chunk.try_emplace(chunk_of(operation), operation);

    std::vector<uint32_t> const backward = named(kBackwardPass);
    for (auto const& [chunk, scatter] : first_of_chunk) {
      auto const is_of_chunk = [&, of = chunk](uint32_t pass) { return chunk_of(pass) == of; };
      auto const last = std::find_if(backward.rbegin(), backward.rend(), is_of_chunk);
      if (last != backward.rend()) wait(scatter, *last);
    }
  }

  /// What follows the last pass, one after the other.
  void add_end(bool overlaps) {
    std::vector<uint32_t> end;
    auto const append = [&](std::vector<uint32_t> const& operations) {
      end.insert(end.end(), operations.begin(), operations.end());
    };
    if (!passes_.empty()) end.push_back(last_pass());
    append(named(kCollection));
    for (std::string_view const name : kBeforeGradients) append(named(name));

    std::vector<uint32_t> scatters;
    for (uint32_t const operation : weights_)
      if (is_scatter(name_of(operation))) scatters.push_back(operation);
    if (overlaps) {
      auto const first = named(kBeforeGradients[0]);
      if (!first.empty() && !scatters.empty()) wait(first.front(), scatters.back());
      append(named(kSeparateReduce));
    } else {
      append(scatters);
    }

    append(named(kClipping));
    append(named(kOptimizerPass));
    chain(end);
  }

  /// The one that ends last in the first step.
  [[nodiscard]] uint32_t last_pass() const {
    auto const end = [&](uint32_t pass) { return steps_.when[steps_.place(pass, 0, 0)].end; };
    return *std::max_element(passes_.begin(), passes_.end(),
                             [&](uint32_t a, uint32_t b) { return end(a) < end(b); });
  }

  PipelineSteps const& steps_;
  model::PipelineShape shape_;
  std::vector<std::vector<uint32_t>>& before_;
  std::map<std::string_view, std::vector<uint32_t>> by_name_;  ///< by time
  std::vector<uint32_t> passes_, weights_;
  bool are_messages_whole_ = true;
};

model::PipelineShape shape_of(PipelineSteps const& steps) {
  model::PipelineShape shape;
  shape.stages = steps.seats.back().stage + 1;
  for (PipelineSteps::Operation const& operation : steps.operations)
    shape.chunks = std::max(shape.chunks, operation.chunk + 1);
  return shape;
}

/// Places in steps.joined, each after those that it waits for; fewer where there is a circle.
std::vector<uint32_t> sorted_joined(PipelineSteps const& steps,
                                    std::vector<std::vector<uint32_t>> const& before) {
  std::vector<uint32_t> joined_of(steps.operations.size());
  for (uint32_t j = 0; j < steps.joined.size(); ++j)
    for (uint32_t const operation : steps.joined[j].operations) joined_of[operation] = j;

  std::vector<std::vector<uint32_t>> after(steps.joined.size());
  std::vector<uint32_t> waits(steps.joined.size());
  for (uint32_t operation = 0; operation < before.size(); ++operation) {
    for (uint32_t const earlier : before[operation]) {
      after[joined_of[earlier]].push_back(joined_of[operation]);
      ++waits[joined_of[operation]];
    }
  }

  std::vector<uint32_t> sorted;
  for (uint32_t j = 0; j < waits.size(); ++j)
    if (waits[j] == 0) sorted.push_back(j);
  for (size_t i = 0; i < sorted.size(); ++i)
    for (uint32_t const later : after[sorted[i]])
      if (--waits[later] == 0) sorted.push_back(later);
  return sorted;
}

}  // namespace

base::Expected<PassGraph> PassGraph::make(PipelineSteps const& steps) {
  for (std::string_view const pass : {kForwardPass, kBackwardPass})
    if (std::find(steps.names.begin(), steps.names.end(), pass) == steps.names.end())
      return base::fail("no operation is called {}", pass);

  std::vector<std::vector<uint32_t>> before(steps.operations.size());
  model::PipelineShape const shape = shape_of(steps);
  for (size_t first = 0, last = 0; first < steps.order.size(); first = last) {
    uint32_t const seat = steps.operations[steps.order[first]].seat;
    while (last < steps.order.size() && steps.operations[steps.order[last]].seat == seat) ++last;
    SeatDependencies seat_dependencies(steps, std::span(steps.order).subspan(first, last - first),
                                       shape, before);
    if (!seat_dependencies.add())
      return base::fail("the messages of stage {} do not fit its passes", steps.seats[seat].stage);
  }

  PassGraph graph;
  std::vector<uint32_t> const sorted = sorted_joined(steps, before);
  if (sorted.size() < steps.joined.size())
    return base::fail("operations of a step wait for each other in a circle");
  for (uint32_t const joined : sorted) graph.order_.push_back(steps.joined[joined]);

  for (std::vector<uint32_t> const& of_operation : before) {
    graph.before_begin_.push_back(static_cast<uint32_t>(graph.before_.size()));
    graph.before_.insert(graph.before_.end(), of_operation.begin(), of_operation.end());
    graph.before_end_.push_back(static_cast<uint32_t>(graph.before_.size()));
  }
  return graph;
}

}  // namespace stepscope::analyzer
