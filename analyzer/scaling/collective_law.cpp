#include "analyzer/scaling/collective_law.h"

#include <array>
#include <cmath>

namespace stepscope::analyzer {
namespace {

/// What a ring of n ranks moves a rank, in terms of the message's bytes.
double ring_share(model::CollectiveOp op, double ranks) {
  uint8_t const shares = model::collective_op_info(op).bus_shares;
  return shares > 0 ? shares * (ranks - 1) / ranks : 1;
}

/// A tree has a root, or goes to one and back.
bool has_tree(model::CollectiveOp op) {
  return op == model::CollectiveOp::kAllReduce || model::collective_op_info(op).has_root;
}

CollectiveTime over_ring(model::CollectiveOp op, CollectiveTime const& time, double from,
                         double to) {
  return {time.latency_ns * (to - 1) / (from - 1),
          time.bytes_ns * ring_share(op, to) / ring_share(op, from)};
}

/// `time` is a ring's: its hops and bytes have the same α and β.
CollectiveTime tree_of_ring(model::CollectiveOp op, CollectiveTime const& time, double from,
                            double to) {
  double const moved = op == model::CollectiveOp::kAllReduce ? 2 : 1;
  return {time.latency_ns * std::log2(to) / (from - 1),
          time.bytes_ns * moved / ring_share(op, from)};
}

CollectiveTime smaller(CollectiveTime const& a, CollectiveTime const& b) {
  return b.total_ns() < a.total_ns() ? b : a;
}

/// The faster algorithm there, in terms of the faster one here.
CollectiveTime over_nccl(model::CollectiveOp op, CollectiveTime const& time, double from,
                         double to) {
  CollectiveTime const ring = over_ring(op, time, from, to);
  if (!has_tree(op)) return ring;
  CollectiveTime const here = smaller(time, tree_of_ring(op, time, from, from));
  CollectiveTime const there = smaller(ring, tree_of_ring(op, time, from, to));
  double const scale = here.total_ns() > 0 ? time.total_ns() / here.total_ns() : 1;
  return {there.latency_ns * scale, there.bytes_ns * scale};
}

}  // namespace

char const* to_string(CollectiveLaw law) {
  constexpr std::array kNames = {"nccl", "ring", "tree", "flat"};
  return kNames[static_cast<size_t>(law)];
}

CollectiveTime time_over_ranks(CollectiveLaw law, model::CollectiveOp op,
                               CollectiveTime const& time, uint32_t from, uint32_t to) {
  if (to <= 1) return {};
  if (from <= 1) return time;
  double const here = from, there = to;
  CollectiveTime const ring = over_ring(op, time, here, there);

  switch (law) {
    case CollectiveLaw::kNccl:
      return over_nccl(op, time, here, there);
    case CollectiveLaw::kTree:
      if (!has_tree(op)) return ring;
      return {time.latency_ns * std::log2(there) / std::log2(here), time.bytes_ns};
    case CollectiveLaw::kFlat:
      return {time.latency_ns, ring.bytes_ns};
    case CollectiveLaw::kRing:
      break;
  }
  return ring;
}

}  // namespace stepscope::analyzer
