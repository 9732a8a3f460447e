// A call that NCCL told of and that is not a row yet.
#pragma once

#include <array>
#include <cstdint>

#include "trace/model/details.h"
#include "tracer/nccl/record_layout.h"

namespace stepscope::tracer::nccl {

struct OpenCall {
  /// Nothing of a call that came for so long is over: a network thread begins with an operation
  /// within a millisecond or so after it was enqueued.
  static constexpr int64_t kSettleNs = 200'000'000;
  /// After so long it is written even so: of collectives that hang a trace must tell.
  static constexpr int64_t kLatestNs = 10'000'000'000;

  Call call;
  int64_t thread_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = -1;    ///< −1 = not yet
  bool returned = false;  ///< NCCL said that it is enqueued
  int64_t heard_ns = 0;   ///< when the last record of it was made
  int64_t open_network_ops = 0;
  std::array<uint64_t, kWaits> waited_ns{};
  model::CallLaunch launch = model::CallLaunch::kBefore;

  [[nodiscard]] bool is_settled(int64_t now_ns) const {
    bool const silent = returned && open_network_ops <= 0 && now_ns - heard_ns >= kSettleNs;
    return silent || now_ns - start_ns >= kLatestNs;
  }
};

}  // namespace stepscope::tracer::nccl
