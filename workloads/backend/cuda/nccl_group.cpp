// Connecting GPUs by NCCL, and what becomes of it; see nccl_group.h.
#include "workloads/backend/cuda/nccl_group.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace stepscope::workloads::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// The first with communicators that do not block.
constexpr int kOldestForProcesses = NCCL_VERSION(2, 14, 0);
// The first that connects two members on one GPU, where a variable asks for it.
constexpr int kOldestForSharing = NCCL_VERSION(2, 30, 0);
constexpr char const* kSharingVariable = "NCCL_MULTI_RANK_GPU_ENABLE";
// The first whose split communicators share buffers with what they were split off.
constexpr int kOldestForSplitting = NCCL_VERSION(2, 18, 1);
// For connecting, and for collectives of an NCCL that cannot split.
constexpr std::chrono::microseconds kLookEvery{100};
// How a process tells the others that its NCCL can split.
constexpr char const* kCanSplit = "s";
// For a thread to come out of NCCL. Longer, and it is stuck there: aborting is what frees it.
constexpr std::chrono::seconds kTimeToLeave{1};

/// What all processes know before they connect.
struct Agreement {
  ncclUniqueId id = {};    ///< rank 0's
  bool can_split = false;  ///< all of them
};

base::Expected<Agreement> agree(Nccl const& nccl, bool shares_gpus, mpi::Peers& peers) {
  Agreement result;
  base::Expected<void> made;
  int version = 0;
  nccl.get_version(&version);

  if (version < kOldestForProcesses) {
    made = base::fail(
        "cuda: several processes need NCCL 2.14 or newer (python3 -m pip install "
        "nvidia-nccl-cu13)");
  } else if (shares_gpus && version < kOldestForSharing) {
    made = base::fail(
        "cuda: processes share a GPU with NCCL 2.30 or newer only (python3 -m pip install "
        "nvidia-nccl-cu13), or with --device cuda "
        "take one each");
  } else if (peers.rank() == 0) {
    if (ncclResult_t const error = nccl.unique_id(&result.id); error != ncclSuccess) {
      made = base::fail(
          "cuda: NCCL makes no id to connect by ({}), run again with NCCL_DEBUG=WARN to see why",
          nccl.error_string(error));
    }
  }

  if (auto all = peers.agree(made); !all) return base::fail_with(all);
  bool const can_split = version >= kOldestForSplitting && nccl.split != nullptr;
  std::vector<std::string> const gathered = peers.all_gather(
      (can_split ? kCanSplit : "-") +
      (peers.rank() == 0 ? std::string(result.id.internal, sizeof result.id) : ""));
  if (auto const gone = peers.failure()) return base::fail("{}", *gone);

  if (gathered.front().size() != 1 + sizeof result.id)
    return base::fail("cuda: rank 0 has another Stepscope, start the same one everywhere");
  std::memcpy(&result.id, gathered.front().data() + 1, sizeof result.id);

  result.can_split = std::all_of(gathered.begin(), gathered.end(),
                                 [](std::string const& one) { return one.starts_with(kCanSplit); });
  return result;
}

}  // namespace

NcclGroup::NcclGroup(Nccl const& nccl, size_t members) : nccl_(nccl) {
  for (size_t member = 0; member < members; ++member)
    members_.push_back(std::make_unique<Member>());
}

NcclGroup::~NcclGroup() {
  for (auto const& member : members_) {
    for (ncclComm_t const communicator : {member->communicator, member->parent})
      if (communicator != nullptr) nccl_.destroy(communicator);
  }
}

std::string NcclGroup::words(ncclResult_t result) const {
  return fmt::format("NCCL: {}, run again with NCCL_DEBUG=WARN to see why",
                     nccl_.error_string(result));
}

base::Expected<std::unique_ptr<NcclGroup>> NcclGroup::connect(Nccl const& nccl,
                                                              std::vector<int> const& gpus) {
  std::vector<ncclComm_t> made(gpus.size());
  if (ncclResult_t const result =
          nccl.init_all(made.data(), static_cast<int>(gpus.size()), gpus.data());
      result != ncclSuccess) {
    return base::fail(
        "cuda: NCCL cannot connect the {} GPUs ({}), run again with NCCL_DEBUG=WARN to see why",
        gpus.size(), nccl.error_string(result));
  }

  std::unique_ptr<NcclGroup> group(new NcclGroup(nccl, gpus.size()));
  for (size_t local = 0; local < gpus.size(); ++local)
    group->members_[local]->communicator = made[local];
  return group;
}

base::Expected<std::unique_ptr<NcclGroup>> NcclGroup::connect(Nccl const& nccl, Local const& local,
                                                              mpi::Peers& peers) {
  if (local.shared) ::setenv(kSharingVariable, "1", 0);  // NCCL has read none yet
  auto const agreed = agree(nccl, local.shared, peers);
  if (!agreed) return base::fail_with(agreed);

  // Before NCCL waits for the others: then who fails can tell them.
  peers.watch();

  std::unique_ptr<NcclGroup> group(new NcclGroup(nccl, local.gpus.size()));
  auto connected = group->start(local, agreed->id, peers);
  if (connected && agreed->can_split) connected = group->split(peers);
  if (connected) return group;

  group->abort();
  peers.give_up(connected.error().message);
  return base::fail_with(connected);
}

base::Expected<void> NcclGroup::start(Local const& local, ncclUniqueId const& id,
                                      mpi::Peers const& peers) {
  auto const count = static_cast<uint32_t>(local.gpus.size());
  for (uint32_t i = 0; i < count; ++i) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = 1;
    local.activate(local.gpus[i]);

    ncclResult_t const result =
        nccl_.init_rank(&members_[i]->communicator, static_cast<int>(peers.size() * count), id,
                        static_cast<int>(peers.rank() * count + i), &config);

    if (result != ncclSuccess && result != ncclInProgress) {
      return base::fail("cuda:{}: NCCL cannot connect it with the GPUs of the other processes: {}",
                        local.gpus[i], words(result));
    }
  }

  for (auto const& member : members_)
    if (auto done = wait_until_connected(member->communicator, peers); !done) return done;
  return {};
}

base::Expected<void> NcclGroup::split(mpi::Peers const& peers) {
  auto const count = static_cast<uint32_t>(members_.size());
  for (uint32_t i = 0; i < count; ++i) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    config.splitShare = 1;
    Member& member = *members_[i];
    member.parent = std::exchange(member.communicator, nullptr);

    ncclResult_t const result =
        nccl_.split(member.parent, 0, static_cast<int>(peers.rank() * count + i),
                    &member.communicator, &config);
    if (result != ncclSuccess && result != ncclInProgress)
      return base::fail("cuda: NCCL cannot split its communicator: {}", words(result));
  }

  // NCCL writes the new communicator when it is connected.
  for (auto const& member : members_)
    if (auto done = wait_until_connected(member->parent, peers); !done) return done;
  return {};
}

base::Expected<void> NcclGroup::wait_until_connected(ncclComm_t communicator,
                                                     mpi::Peers const& peers) {
  auto const until = Clock::now() + peers.timeout();
  for (ncclResult_t state = ncclInProgress; state != ncclSuccess;
       std::this_thread::sleep_for(kLookEvery)) {
    if (auto const gone = peers.failure()) return base::fail("{}", *gone);

    ncclResult_t const asked = nccl_.async_error(communicator, &state);
    if (asked != ncclSuccess) state = asked;

    if (state != ncclSuccess && state != ncclInProgress) {
      return base::fail("cuda: NCCL cannot connect the GPUs of the {} processes: {}", peers.size(),
                        words(state));
    }

    if (state == ncclInProgress && Clock::now() > until) {
      return base::fail(
          "cuda: NCCL did not connect the GPUs of the {} processes within {} s: run again with "
          "NCCL_DEBUG=INFO to see what it waits for, or raise --collective-timeout",
          peers.size(), std::chrono::duration<double>(peers.timeout()).count());
    }
  }
  return {};
}

base::Expected<void> NcclGroup::call(uint32_t local, Call const& call) {
  Member& member = *members_[local];
  std::lock_guard const lock(member.mutex);
  if (aborted_) return base::fail("NCCL: the communicator was aborted");

  ncclResult_t result = call(nccl_, member.communicator);
  while (result == ncclInProgress) {
    std::this_thread::sleep_for(kLookEvery);
    if (aborted_) return base::fail("NCCL: the communicator was aborted");
    ncclResult_t const asked = nccl_.async_error(member.communicator, &result);
    if (asked != ncclSuccess) result = asked;
  }

  if (result == ncclSuccess) return {};
  return base::fail("{}", words(result));
}

std::optional<std::string> NcclGroup::asynchronous_error() {
  for (auto const& member : members_) {
    std::unique_lock const lock(member->mutex, std::try_to_lock);
    if (!lock.owns_lock() || member->communicator == nullptr) continue;
    ncclResult_t state = ncclSuccess;
    ncclResult_t const asked = nccl_.async_error(member->communicator, &state);
    if (asked != ncclSuccess) state = asked;
    if (state != ncclSuccess && state != ncclInProgress) return words(state);
  }
  return std::nullopt;
}

void NcclGroup::abort() {
  if (aborted_.exchange(true)) return;

  for (auto const& member : members_) {
    // Not std::timed_mutex: the thread sanitizer does not know its lock.
    std::unique_lock lock(member->mutex, std::try_to_lock);
    for (auto const until = Clock::now() + kTimeToLeave;
         !lock.owns_lock() && Clock::now() < until;) {
      std::this_thread::sleep_for(kLookEvery);
      static_cast<void>(lock.try_lock());
    }

    for (ncclComm_t* const communicator : {&member->communicator, &member->parent})
      if (*communicator != nullptr) nccl_.abort(std::exchange(*communicator, nullptr));
  }
}

}  // namespace stepscope::workloads::cuda
