// Where host threads meet, and NCCL's communicators; see exchange.h.
#include "workloads/backend/cuda/exchange.h"

#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::cuda {

Exchange::Exchange(uint32_t members, std::shared_ptr<mpi::Peers> peers)
    : members_(members),
      peers_(std::move(peers)),
      local_(peers_ == nullptr ? members : members / peers_->size()),
      first_(peers_ == nullptr ? 0 : local_ * peers_->rank()),
      round_(std::make_shared<Round>(members)),
      messages_(peers_ == nullptr ? size_t{members} * members : 0) {}

Exchange::~Exchange() {
  watch_ = nullptr;
  // Communicators are destroyed together: with somebody missing that would wait for ever.
  if (nccl_ != nullptr && peers_ != nullptr && peers_->failure()) nccl_->abort();
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

void Exchange::use_nccl(std::unique_ptr<NcclGroup> nccl) {
  nccl_ = std::move(nccl);
  if (peers_ == nullptr) return;

  GroupWatch::Settings settings;
  settings.devices = local_;
  settings.timeout = peers_->timeout();
  settings.look = [this] { return peers_->failure(); };
  settings.look_at_nccl = [this] { return nccl_->asynchronous_error(); };
  settings.on_fault = [this](std::string const& why) { break_up(why); };

  watch_ = std::make_unique<GroupWatch>(std::move(settings));
}

base::Expected<void> Exchange::call_nccl(uint32_t member, NcclGroup::Call const& call) {
  if (broken_) return base::fail("another device failed: {}", why_broken());
  auto done = nccl_->call(member - first_, call);
  // In a group that broke up meanwhile NCCL only says that it was aborted.
  if (!done && broken_) return base::fail("another device failed: {}", why_broken());
  return done;
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
  // Kernels of the others wait for a member that comes no more: aborting ends them.
  if (peers_ != nullptr) peers_->give_up(why);
  if (nccl_ != nullptr) nccl_->abort();
}

}  // namespace stepscope::workloads::cuda
