// A run whose devices take part in two communicators each, on streams that do not distinguish them.
#pragma once

#include "tests/unit/viewer/scenes.h"

namespace stepscope::viewer {

inline constexpr uint64_t kTensor = 11, kData = 22;

inline model::CollectiveDetail collective_in(uint64_t communicator, uint64_t sequence,
                                             int32_t rank) {
  model::CollectiveDetail detail;
  detail.op = model::CollectiveOp::kAllReduce;
  detail.communicator = communicator;
  detail.sequence = sequence;
  detail.participants = 2;
  detail.rank = rank;
  detail.bytes = 1024;
  return detail;
}

/// Four ranks: 0 and 1, 2 and 3 share tensors; 0 and 2, 1 and 3 share data. Collectives of both on
/// one stream, more of the data on another one.
inline model::Run two_schemes() {
  model::Run run;
  for (int32_t rank = 0; rank < 4; ++rank) {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    builder.info().world_size = 4;

    auto const first = add_stream(builder, "nccl");
    auto const second = builder.add_track(
        {.kind = model::TrackKind::kStream, .name = "nccl 2", .id = 8, .device = 0});
    auto const name = builder.intern("all_reduce");
    uint64_t const tensor = kTensor + static_cast<uint64_t>(rank / 2),
                   data = kData + static_cast<uint64_t>(rank % 2);

    for (uint64_t n = 0; n < 10; ++n) {
      auto const at = static_cast<int64_t>(n) * 1000;
      builder.events(first).add(model::EventKind::kCollective, at, 100, name, 0,
                                collective_in(tensor, n + 1, rank % 2));
      builder.events(first).add(model::EventKind::kCollective, at + 200, 300, name, 0,
                                collective_in(data, 2 * n + 1, rank / 2));
      builder.events(second).add(model::EventKind::kCollective, at + 300, 300, name, 0,
                                 collective_in(data, 2 * n + 2, rank / 2));
    }

    run.ranks.push_back({std::move(builder).finish(), 0, "made"});
  }
  return run;
}

}  // namespace stepscope::viewer
