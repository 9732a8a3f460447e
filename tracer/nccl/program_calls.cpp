#include "tracer/nccl/program_calls.h"

#include <algorithm>
#include <utility>

namespace stepscope::tracer::nccl {

CallGroup& ProgramCalls::group(uint64_t handle, int64_t now) {
  auto const [place, is_new] = groups_.try_emplace(handle);
  CallGroup& group = place->second;
  if (is_new) group.begun_ns = now;
  group.heard_ns = std::max(group.heard_ns, now);
  return group;
}

void ProgramCalls::add(int64_t thread_id, Call const& call, int64_t now) {
  group(call.plan, now).calls.push_back({call, thread_id, now});
  group_of_.insert_or_assign(call.handle, call.plan);
}

void ProgramCalls::begin_launch(int64_t thread_id, Launch const& launch, int64_t now) {
  group(launch.group, now).launches.push_back({launch.handle, launch.communicator, thread_id, now});
  group_of_.insert_or_assign(launch.handle, launch.group);
}

void ProgramCalls::end_launch(uint64_t handle, int64_t now) {
  auto const found = group_of_.find(handle);
  if (found == group_of_.end()) return;
  for (LaunchSpan& launch : group(found->second, now).launches)
    if (launch.handle == handle) launch.end_ns = now;
}

uint64_t ProgramCalls::group_of(uint64_t program_call) const {
  auto const found = group_of_.find(program_call);
  return found == group_of_.end() ? 0 : found->second;
}

std::vector<uint64_t> ProgramCalls::settled(int64_t now_ns, Operations const& operations) const {
  std::vector<uint64_t> result;
  for (auto const& [handle, group] : groups_) {
    auto const found = operations.find(handle);
    std::span<OpenCall* const> const done = found == operations.end()
                                                ? std::span<OpenCall* const>()
                                                : std::span<OpenCall* const>(found->second);
    auto const is_done = [&](ProgramCall const& call) {
      return call.call.is_captured != 0 ||
             std::any_of(done.begin(), done.end(), [&](OpenCall const* operation) {
               return operation->call.program_call == call.call.handle;
             });
    };
    bool const is_over = now_ns - group.heard_ns >= OpenCall::kSettleNs &&
                         std::all_of(done.begin(), done.end(),
                                     [&](auto const* call) { return call->is_settled(now_ns); }) &&
                         std::all_of(group.calls.begin(), group.calls.end(), is_done);
    if (is_over || now_ns - group.begun_ns >= OpenCall::kLatestNs) result.push_back(handle);
  }
  return result;
}

CallGroup ProgramCalls::take(uint64_t handle) {
  CallGroup result = std::move(groups_.at(handle));
  groups_.erase(handle);
  for (ProgramCall const& call : result.calls) group_of_.erase(call.call.handle);
  for (LaunchSpan const& launch : result.launches) group_of_.erase(launch.handle);
  return result;
}

}  // namespace stepscope::tracer::nccl
