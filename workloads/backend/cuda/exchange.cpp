// Where host threads meet, and NCCL's communicators; see exchange.h.
#include "workloads/backend/cuda/exchange.h"

#include <chrono>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::cuda {

Exchange::Exchange(uint32_t members)
    : members_(members), round_(std::make_shared<Round>(members)), messages_(size_t{members} * members) {}

Exchange::~Exchange() {
  for (auto const& member : communicators_) {
    if (member->communicator != nullptr) nccl_.destroy(member->communicator);
  }
}

std::shared_ptr<std::vector<Posting> const> Exchange::meet(uint32_t rank, Posting mine) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Round> const round = round_;
  round->postings[rank] = std::move(mine);
  if (++round->arrived == members_) {
    round_ = std::make_shared<Round>(members_);
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return round->arrived == members_ || broken_; });
  if (round->arrived < members_) return nullptr;
  return {round, &round->postings};
}

void Exchange::post(uint32_t from, uint32_t to, std::shared_ptr<Message> message) {
  std::lock_guard const lock(mutex_);
  messages_[size_t{from} * members_ + to].push_back(std::move(message));
  changed_.notify_all();
}

std::shared_ptr<Message> Exchange::take(uint32_t from, uint32_t to) {
  std::unique_lock lock(mutex_);
  auto& waiting = messages_[size_t{from} * members_ + to];
  changed_.wait(lock, [&] { return !waiting.empty() || broken_; });
  if (waiting.empty()) return nullptr;
  auto message = std::move(waiting.front());
  waiting.pop_front();
  return message;
}

void Exchange::consume(Message& message, Event reached) {
  std::lock_guard const lock(mutex_);
  message.consumed = std::move(reached);
}

Event Exchange::consumed(Message const& message) {
  std::lock_guard const lock(mutex_);
  return message.consumed;
}

base::Expected<void> Exchange::use_nccl(Nccl const& nccl, std::vector<int> const& gpus) {
  std::vector<ncclComm_t> made(gpus.size());
  if (ncclResult_t const result = nccl.init_all(made.data(), static_cast<int>(gpus.size()), gpus.data()); result != ncclSuccess) {
    return base::fail("cuda: NCCL cannot connect the {} GPUs ({}), run again with NCCL_DEBUG=WARN to see why", gpus.size(),
                      nccl.error_string(result));
  }
  nccl_ = nccl;
  for (ncclComm_t const communicator : made) {
    communicators_.push_back(std::make_unique<NcclMember>());
    communicators_.back()->communicator = communicator;
  }
  return {};
}

base::Expected<void> Exchange::call_nccl(uint32_t rank, std::function<ncclResult_t(Nccl const&, ncclComm_t)> const& call) {
  NcclMember& member = *communicators_[rank];
  std::lock_guard const lock(member.mutex);
  if (broken_) return base::fail("another device failed: {}", why_broken());
  ncclResult_t const result = call(nccl_, member.communicator);
  if (result == ncclSuccess) return {};
  return base::fail("NCCL: {}, run again with NCCL_DEBUG=WARN to see why", nccl_.error_string(result));
}

std::string Exchange::why_broken() {
  std::lock_guard const lock(mutex_);
  return why_;
}

void Exchange::break_up(std::string const& why) {
  {
    std::lock_guard const lock(mutex_);
    if (broken_.exchange(true)) return;
    why_ = why;
    changed_.notify_all();
  }
  // Kernels of the others wait for a member that comes no more: aborting ends them. A member that is inside NCCL gets a second to
  // come out; then it is stuck there, and aborting is what frees it.
  for (auto const& member : communicators_) {
    std::unique_lock const lock(member->mutex, std::chrono::seconds(1));
    if (member->communicator != nullptr) nccl_.abort(std::exchange(member->communicator, nullptr));
  }
}

}  // namespace stepscope::workloads::cuda
