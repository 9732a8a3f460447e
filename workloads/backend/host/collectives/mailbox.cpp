// Messages between threads; see mailbox.h.
#include "workloads/backend/host/collectives/mailbox.h"

#include <cstring>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::host {
namespace {

void copy(float* to, float const* from, size_t count) {
  if (count > 0) std::memcpy(to, from, count * sizeof(float));
}

}  // namespace

void Mailbox::send(float const* data, size_t count) {
  if (count == 0) return;
  std::unique_lock lock(mutex_);
  // A receiver that has not woken up yet for a message that is kept gets that one.
  if (float* const target = waiting_; target != nullptr && kept_.empty()) {
    STEPSCOPE_CHECK(waiting_count_ == count);
    lock.unlock();
    copy(target, data,
         count);  // the receiver leaves it alone until waiting_ says that it is filled
    lock.lock();
    waiting_ = nullptr;
  } else {
    Message message;
    if (!spare_.empty()) {
      message = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    message.assign(data, data + count);
    lock.lock();
    // A receiver may have begun to wait meanwhile: it takes the message from here.
    kept_.push_back(std::move(message));
  }
  lock.unlock();
  changed_.notify_one();
}

void Mailbox::receive(float* data, size_t count) {
  if (count == 0) return;
  std::unique_lock lock(mutex_);
  if (kept_.empty()) {
    waiting_ = data;
    waiting_count_ = count;
    changed_.wait(lock, [this] { return waiting_ == nullptr || !kept_.empty(); });
    if (waiting_ == nullptr) return;
    waiting_ = nullptr;
  }
  Message message = std::move(kept_.front());
  kept_.pop_front();
  lock.unlock();
  STEPSCOPE_CHECK(message.size() == count);
  copy(data, message.data(), count);
  lock.lock();
  spare_.push_back(std::move(message));
}

}  // namespace stepscope::workloads::host
