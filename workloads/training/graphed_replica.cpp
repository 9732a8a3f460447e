// Capturing and replaying a replica's passes; see graphed_replica.h.
#include "workloads/training/graphed_replica.h"

#include <fmt/format.h>

namespace stepscope::workloads {

std::optional<GraphedReplica::Pass> GraphedReplica::capture(
    char const* name, std::function<void(Cut const& cut)> const& work) {
  Pass pass;
  std::optional<base::Error> error;
  auto const end_piece = [&](std::optional<size_t> bucket) {
    auto graph = device_.end_capture(name);
    if (!graph) {
      if (!error) error = graph.error();
    } else if (*graph != nullptr || bucket) {
      pass.push_back({std::move(*graph), bucket});
    }
  };

  device_.begin_capture();
  work([&](size_t bucket) {
    end_piece(bucket);
    device_.begin_capture();  // after an error too: the rest must not be done either
  });
  end_piece(std::nullopt);
  if (!error) return pass;

  given_up_ = true;
  if (log_ != nullptr) {
    fmt::print(log_,
               "{}: --cuda-graphs: {} cannot be a graph, operations are launched one by one: {}\n",
               device_.name(), name, error->message);
  }
  return std::nullopt;
}

void GraphedReplica::forward(InputBuffers const& input) {
  auto kept = forward_.find(&input);
  bool const is_new = kept == forward_.end();

  if (given_up_ || (is_new && (is_warm_up(warm_forwards_) || forward_.size() >= kMostPlaces)))
    return replica_.forward(input);

  if (is_new) {
    auto pass = capture("graph.forward", [&](Cut const&) { replica_.forward(input); });
    if (!pass) return replica_.forward(input);
    kept = forward_.emplace(&input, std::move(*pass)).first;
  }

  for (Piece const& piece : kept->second) device_.replay(*piece.graph);
}

void GraphedReplica::backward(InputBuffers const& input, GradientReducer& reducer) {
  BackwardKey const key(&input, reducer.place());
  auto kept = backward_.find(key);
  bool const is_new = kept == backward_.end();
  int& warm = warm_backwards_[static_cast<size_t>(key.second)];

  if (given_up_ || (is_new && (is_warm_up(warm) || backward_.size() >= kMostPlaces)))
    return replica_.backward(input, reducer);

  if (is_new) {
    size_t completed = 0;
    auto pass = capture("graph.backward", [&](Cut const& cut) {
      reducer.begin_capture(cut);
      replica_.backward(input, reducer);
      completed = reducer.end_capture();
    });
    if (!pass) return replica_.backward(input, reducer);
    kept = backward_.emplace(key, BackwardPass{std::move(*pass), completed}).first;
  }

  for (Piece const& piece : kept->second.pieces) {
    if (piece.graph != nullptr) device_.replay(*piece.graph);
    if (piece.bucket) reducer.exchange(*piece.bucket);
  }

  reducer.replayed(kept->second.completed);
}

}  // namespace stepscope::workloads
