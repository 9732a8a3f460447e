#include "tests/cuda_doubles/cupti/subscribers.h"

#include <algorithm>

namespace stepscope::cuda_doubles {
namespace {

CUpti_SubscriberHandle handle_of(Recorder* recorder) {
  return reinterpret_cast<CUpti_SubscriberHandle>(recorder);
}

/// One operation as each subscriber records it.
using Tokens = std::vector<std::pair<Recorder*, void*>>;

}  // namespace

Subscribers& subscribers() {
  static auto* const one = new Subscribers;
  return *one;
}

CUptiResult Subscribers::add(Applicant const& applicant, CUpti_SubscriberHandle* handle) {
  Engine* const driver = engine();
  if (driver == nullptr) return CUPTI_ERROR_UNKNOWN;

  Recorder* made = nullptr;
  {
    std::lock_guard const lock(mutex_);
    bool const is_welcome =
        std::all_of(subscribers_.begin(), subscribers_.end(), [&](Subscriber const& present) {
          return present.allows_others && applicant.allows_others && !applicant.is_classic;
        });
    if (!is_welcome) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;

    made = applicant.is_classic ? &recorder() : new Recorder(Ledger(applicant.name), is_driver_up_);
    subscribers_.push_back({made, applicant.name, applicant.is_classic, applicant.allows_others});
    std::erase(rest_, made);
  }

  made->subscribe(applicant.callback, applicant.data);
  driver->set_observer(this);
  *handle = handle_of(made);
  return CUPTI_SUCCESS;
}

CUptiResult Subscribers::remove(CUpti_SubscriberHandle handle) {
  Recorder* leaving = nullptr;
  {
    std::lock_guard const lock(mutex_);
    auto const found = std::find_if(
        subscribers_.begin(), subscribers_.end(),
        [&](Subscriber const& present) { return handle_of(present.recorder) == handle; });
    if (found == subscribers_.end()) return CUPTI_ERROR_INVALID_PARAMETER;
    leaving = found->recorder;
    if (found->is_classic) rest_.push_back(leaving);
    subscribers_.erase(found);
  }

  leaving->unsubscribe();
  return CUPTI_SUCCESS;
}

Recorder* Subscribers::find(CUpti_SubscriberHandle handle) {
  std::lock_guard const lock(mutex_);
  for (Subscriber const& present : subscribers_)
    if (handle_of(present.recorder) == handle) return present.recorder;
  return nullptr;
}

std::string Subscribers::first_name() {
  std::lock_guard const lock(mutex_);
  if (subscribers_.empty() || subscribers_.front().name.empty()) return {};
  return "CUPTI for " + subscribers_.front().name;
}

uint8_t Subscribers::state() {
  constexpr uint8_t kAlone = 0, kSeveral = 1, kNone = 2;
  std::lock_guard const lock(mutex_);
  if (subscribers_.empty()) return kNone;
  return subscribers_.front().allows_others ? kSeveral : kAlone;
}

bool Subscribers::are_shared() {
  std::lock_guard const lock(mutex_);
  return !subscribers_.empty() && !subscribers_.front().is_classic;
}

std::vector<Recorder*> Subscribers::recorders() {
  std::lock_guard const lock(mutex_);
  std::vector<Recorder*> result = rest_;
  for (Subscriber const& present : subscribers_) result.push_back(present.recorder);
  return result;
}

template <class Call>
void Subscribers::tell(Call&& call) {
  for (Recorder* const recorder : recorders()) call(*recorder);
}

void Subscribers::flush(bool is_forced) {
  tell([&](Recorder& recorder) { recorder.flush(is_forced); });
}

void Subscribers::finalize() {
  {
    std::lock_guard const lock(mutex_);
    if (subscribers_.size() > 1) return;
  }
  tell([](Recorder& recorder) { recorder.finalize(); });

  std::lock_guard const lock(mutex_);
  subscribers_.clear();
  rest_.clear();
  if (Engine* const driver = engine()) driver->set_observer(nullptr);
}

void Subscribers::call_begins(ApiCall const& call) {
  tell([&](Recorder& recorder) { recorder.call_begins(call); });
}

void Subscribers::call_ends(ApiCall const& call) {
  tell([&](Recorder& recorder) { recorder.call_ends(call); });
}

void* Subscribers::operation_queued(Operation const& operation) {
  auto tokens = std::make_unique<Tokens>();
  tell([&](Recorder& recorder) {
    if (void* const token = recorder.operation_queued(operation))
      tokens->emplace_back(&recorder, token);
  });
  return tokens->empty() ? nullptr : tokens.release();
}

void Subscribers::operation_done(void* token, Operation const& operation, int64_t start_ns,
                                 int64_t end_ns) {
  std::unique_ptr<Tokens> const tokens(static_cast<Tokens*>(token));
  if (tokens == nullptr) return;
  for (auto const& [recorder, its_token] : *tokens)
    recorder->operation_done(its_token, operation, start_ns, end_ns);
}

void Subscribers::operation_dropped(void* token) {
  std::unique_ptr<Tokens> const tokens(static_cast<Tokens*>(token));
  if (tokens == nullptr) return;
  for (auto const& [recorder, its_token] : *tokens) recorder->operation_dropped(its_token);
}

void Subscribers::memory_changed(MemoryEvent const& event) {
  tell([&](Recorder& recorder) { recorder.memory_changed(event); });
}

void Subscribers::waited(Synchronization const& wait) {
  tell([&](Recorder& recorder) { recorder.waited(wait); });
}

void Subscribers::event_recorded(EventRecord const& record) {
  tell([&](Recorder& recorder) { recorder.event_recorded(record); });
}

void Subscribers::context_made(int device, uint32_t context) {
  tell([&](Recorder& recorder) { recorder.context_made(device, context); });
}

void Subscribers::driver_initialized() {
  {
    std::lock_guard const lock(mutex_);
    is_driver_up_ = true;
  }
  tell([](Recorder& recorder) { recorder.driver_initialized(); });
}

}  // namespace stepscope::cuda_doubles
