// A CUDA device's part in collectives and messages; how members meet: exchange.h.
#include <utility>

#include "trace/base/check.h"
#include "workloads/backend/cuda/cuda_device.h"

namespace stepscope::workloads::cuda {
namespace {

/// Between any two places; nothing where they are the same.
Expected<void> copy_floats(cudaStream_t stream, float* to, float const* from, size_t count) {
  if (to == from || count == 0) return {};
  return to_expected(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDefault, stream),
                     "cudaMemcpyAsync");
}

tl::unexpected<base::Error> broken(Exchange& group) {
  return base::fail("another device failed: {}", group.why_broken());
}

/// All-reduce works in `receive`; what the members read is then that.
float const* source_of(Collective const& what) {
  return what.op == CollectiveOp::kAllReduce ? what.receive : what.send;
}

}  // namespace

void CudaDevice::collective(char const* name, Communicator& communicator, Collective const& what) {
  auto& group = dynamic_cast<Exchange&>(communicator);
  STEPSCOPE_CHECK(settings_.member < group.members() && what.peer < group.members());
  if (is_refused(name) || !begin_launch()) return;

  collectives_.fetch_add(1, std::memory_order_relaxed);
  collective_bytes_.fetch_add(what.count * sizeof(float), std::memory_order_relaxed);

  enqueue(
      StreamKind::kCommunication, name,
      [&] { return fmt::format("{} floats on {} devices", what.count, group.members()); },
      [&](cudaStream_t) { return exchange(group, what); });
  after_launch(StreamKind::kCommunication, false);
}

Expected<void> CudaDevice::exchange(Exchange& group, Collective const& what) {
  if (what.op == CollectiveOp::kSend || what.op == CollectiveOp::kReceive) {
    if (!group.is_in_one_process())
      return base::fail("messages go between GPUs of one process only");  // no workload has others
    return what.op == CollectiveOp::kSend ? send(group, what) : receive(group, what);
  }

  if (group.has_nccl()) return exchange_by_nccl(group, what);

  auto const arrived = meet(group, {source_of(what), what.receive, what.count, nullptr});
  if (!arrived) return base::fail_with(arrived);
  for (Posting const& member : **arrived) STEPSCOPE_CHECK(member.count == what.count);

  if (auto done = take_part(**arrived, what); !done) return done;
  // No member goes on before all have read what they need.
  if (auto const left = meet(group, {}); !left) return base::fail_with(left);
  return {};
}

Expected<std::shared_ptr<std::vector<Posting> const>> CudaDevice::meet(Exchange& group,
                                                                       Posting mine) {
  mine.reached = record(StreamKind::kCommunication);
  auto all = group.meet(settings_.member, std::move(mine));
  if (all == nullptr) return broken(group);
  for (Posting const& member : *all) wait(StreamKind::kCommunication, member.reached);
  return all;
}

/// All arrays are ready on the communication stream. Each member computes its segment and writes it
/// to everybody (all-reduce), or its part (reduce-scatter): each element is summed once, in the
/// order of the ranks.
Expected<void> CudaDevice::take_part(std::vector<Posting> const& all, Collective const& what) {
  cudaStream_t const to = stream(StreamKind::kCommunication);
  size_t const members = all.size(), rank = settings_.member;
  bool const in_parts =
      what.op == CollectiveOp::kReduceScatter || what.op == CollectiveOp::kAllGather;
  STEPSCOPE_CHECK(!in_parts || what.count % members == 0);
  size_t const part = what.count / members;

  if (what.op == CollectiveOp::kAllReduce || what.op == CollectiveOp::kReduceScatter) {
    bool const scatter = what.op == CollectiveOp::kReduceScatter;
    size_t const segment = (what.count + members - 1) / members;
    size_t const begin = scatter ? rank * part : std::min(what.count, rank * segment);
    size_t const count = scatter ? part : std::min(what.count - begin, segment);

    MeanArrays arrays = {};
    for (Posting const& member : all) {
      arrays.from[arrays.sources++] = member.send + begin;
      if (!scatter) arrays.to[arrays.targets++] = member.receive + begin;
    }

    if (scatter) arrays.to[arrays.targets++] = what.receive;
    mean_of_arrays(to, arrays, count);
    return to_expected(cudaGetLastError(), "launch");
  }

  if (what.op == CollectiveOp::kBroadcast)
    return copy_floats(to, what.receive, all[what.peer].send, what.count);
  STEPSCOPE_CHECK(what.op == CollectiveOp::kAllGather);  // no workload uses the others

  // From the next member on: they do not all read the same one.
  for (size_t distance = 0; distance < members; ++distance) {
    size_t const member = (rank + distance) % members;
    if (auto done = copy_floats(to, what.receive + member * part, all[member].send, part); !done)
      return done;
  }
  return {};
}

Expected<void> CudaDevice::exchange_by_nccl(Exchange& group, Collective const& what) {
  cudaStream_t const to = stream(StreamKind::kCommunication);
  size_t const part = what.count / group.members();

  return group.call_nccl(settings_.member, [&](Nccl const& nccl, ncclComm_t communicator) {
    switch (what.op) {
      case CollectiveOp::kAllReduce:
        return nccl.all_reduce(what.receive, what.receive, what.count, ncclFloat, ncclAvg,
                               communicator, to);
      case CollectiveOp::kReduceScatter:
        return nccl.reduce_scatter(what.send, what.receive, part, ncclFloat, ncclAvg, communicator,
                                   to);
      case CollectiveOp::kAllGather:
        return nccl.all_gather(what.send, what.receive, part, ncclFloat, communicator, to);
      case CollectiveOp::kBroadcast:
        return nccl.broadcast(what.send, what.receive, what.count, ncclFloat,
                              static_cast<int>(what.peer), communicator, to);
      default:
        return ncclInvalidArgument;  // no workload uses it
    }
  });
}

// Messages.

/// Staging memory whose last message has been read: a send that took another would wait for that
/// one's receive.
Expected<CudaDevice::Staging*> CudaDevice::find_staging(Exchange& group, size_t bytes) {
  for (Staging& staging : staging_) {
    if (staging.memory.bytes() < bytes) continue;
    auto const consumed = std::dynamic_pointer_cast<CudaEvent const>(group.consumed(*staging.last));
    if (consumed != nullptr && consumed->event() != nullptr &&
        cudaEventQuery(consumed->event()) == cudaSuccess)
      return &staging;
  }

  auto memory = allocate(bytes, MemoryPurpose::kOther, "messages");
  if (!memory) return base::fail_with(memory);
  return &staging_.emplace_back(Staging{std::move(*memory), nullptr});
}

Expected<void> CudaDevice::send(Exchange& group, Collective const& what) {
  auto const staging = find_staging(group, what.count * sizeof(float));
  cudaGetLastError();  // an event that is not reached yet is no error
  if (!staging) return base::fail_with(staging);

  float* const data = (*staging)->memory.floats();
  if (auto done = copy_floats(stream(StreamKind::kCommunication), data, what.send, what.count);
      !done)
    return done;

  auto message = std::make_shared<Message>(
      Message{data, what.count, record(StreamKind::kCommunication), nullptr});
  (*staging)->last = message;
  group.post(settings_.member, what.peer, std::move(message));
  return {};
}

Expected<void> CudaDevice::receive(Exchange& group, Collective const& what) {
  auto const message = group.take(what.peer, settings_.member);
  if (message == nullptr) return broken(group);
  STEPSCOPE_CHECK(message->count == what.count);

  wait(StreamKind::kCommunication, message->filled);
  if (auto done =
          copy_floats(stream(StreamKind::kCommunication), what.receive, message->data, what.count);
      !done)
    return done;

  group.consume(*message, record(StreamKind::kCommunication));
  return {};
}

}  // namespace stepscope::workloads::cuda
