#include "tracer/nccl/launch_links.h"

#include <algorithm>
#include <set>

namespace stepscope::tracer::nccl {
namespace {

/// Operations that one kernel runs, in their order; never empty.
using Plan = std::vector<OpenCall*>;

bool is_before(OpenCall const* a, OpenCall const* b) {
  return std::pair(a->start_ns, a->call.handle) < std::pair(b->start_ns, b->call.handle);
}

class GroupLinks {
 public:
  GroupLinks(CallGroup const& group, std::span<OpenCall* const> operations)
      : group_(group), operations_(operations.begin(), operations.end()) {
    std::sort(operations_.begin(), operations_.end(), is_before);
    for (LaunchSpan const& launch : group.launches)
      if (launch.end_ns >= launch.start_ns) free_.push_back(&launch);
  }

  std::vector<OpenCall> link() {
    for (OpenCall* const operation : operations_) operation->launch = model::CallLaunch::kNone;
    std::vector<Plan>
        later;  // told by another thread: NCCL has CUDA call it when the stream is there
    for (Plan const& plan : plans())
      if (!link_to_launch_before(plan)) later.push_back(plan);
    link_in_order(later);
    return calls_without_operation();
  }

 private:
  [[nodiscard]] std::vector<Plan> plans() const {
    std::vector<Plan> result;
    for (OpenCall* const operation : operations_) {
      if (operation->call.by_copy_engine != 0 || is_captured(*operation)) continue;

      auto const same = std::find_if(result.begin(), result.end(), [&](Plan const& plan) {
        return operation->call.plan != 0 && plan.front()->call.plan == operation->call.plan;
      });

      if (same == result.end())
        result.push_back({operation});
      else
        same->push_back(operation);
    }
    return result;
  }
  /// A call that was captured runs when its graph is launched, as often as that is: the launch at
  /// its capture ran nothing.
  [[nodiscard]] bool is_captured(OpenCall const& operation) const {
    return std::any_of(group_.calls.begin(), group_.calls.end(), [&](ProgramCall const& call) {
      return call.call.handle == operation.call.program_call && call.call.is_captured != 0;
    });
  }
  /// NCCL tells a plan right after its launch, if on the same thread.
  bool link_to_launch_before(Plan const& plan) {
    OpenCall const& first = *plan.front();
    auto const found = std::find_if(free_.rbegin(), free_.rend(), [&](LaunchSpan const* launch) {
      return launch->communicator == first.call.communicator &&
             launch->thread_id == first.thread_id && launch->end_ns <= first.start_ns;
    });
    if (found == free_.rend()) return false;
    move_to(plan, **found);
    free_.erase(std::next(found).base());
    return true;
  }
  /// NCCL runs and reports the plans of a communicator in the order of their launches; the links
  /// are sure only when it reported all of them.
  void link_in_order(std::vector<Plan> const& plans) {
    for (uint32_t const communicator : communicators_of(plans)) {
      std::vector<LaunchSpan const*> const launches = free_launches(communicator);

      std::vector<Plan> mine;
      for (Plan const& plan : plans)
        if (plan.front()->call.communicator == communicator) mine.push_back(plan);
      if (mine.size() != launches.size()) continue;

      for (size_t i = 0; i < mine.size(); ++i) move_to(mine[i], *launches[i]);
      std::erase_if(free_,
                    [&](LaunchSpan const* launch) { return launch->communicator == communicator; });
    }
  }
  static std::set<uint32_t> communicators_of(std::vector<Plan> const& plans) {
    std::set<uint32_t> result;
    for (Plan const& plan : plans) result.insert(plan.front()->call.communicator);
    return result;
  }
  [[nodiscard]] std::vector<LaunchSpan const*> free_launches(uint32_t communicator) const {
    std::vector<LaunchSpan const*> result;
    std::copy_if(free_.begin(), free_.end(), std::back_inserter(result),
                 [&](LaunchSpan const* launch) { return launch->communicator == communicator; });
    return result;
  }
  static void move_to(Plan const& plan, LaunchSpan const& launch) {
    bool const is_elsewhere = plan.front()->thread_id != launch.thread_id;
    for (OpenCall* const operation : plan) {
      operation->launch = model::CallLaunch::kInside;
      if (!is_elsewhere) continue;
      operation->thread_id = launch.thread_id;
      operation->start_ns = operation->end_ns = launch.end_ns;
    }
    plan.front()->start_ns = launch.start_ns;
  }

  [[nodiscard]] std::vector<OpenCall> calls_without_operation() const {
    std::vector<OpenCall> result;
    for (ProgramCall const& called : group_.calls) {
      uint32_t const communicator = called.call.communicator;
      bool const has_operation = std::any_of(
          operations_.begin(), operations_.end(),
          [&](OpenCall const* operation) { return operation->call.communicator == communicator; });
      if (has_operation || called.call.is_captured != 0) continue;

      OpenCall open;
      open.call = called.call;
      open.call.plan = 0;
      open.thread_id = called.thread_id;
      open.start_ns = open.end_ns = called.start_ns;
      open.launch = model::CallLaunch::kNone;

      if (auto const launches = free_launches(communicator); launches.size() == 1) {
        open.call.plan = launches.front()->handle;
        open.launch = model::CallLaunch::kInside;
        open.thread_id = launches.front()->thread_id;
        open.start_ns = launches.front()->start_ns;
        open.end_ns = launches.front()->end_ns;
      }
      result.push_back(open);
    }
    return result;
  }

  CallGroup const& group_;
  std::vector<OpenCall*> operations_;
  std::vector<LaunchSpan const*> free_;
};

}  // namespace

std::vector<OpenCall> link_launches(CallGroup const& group, std::span<OpenCall* const> operations) {
  return GroupLinks(group, operations).link();
}

}  // namespace stepscope::tracer::nccl
