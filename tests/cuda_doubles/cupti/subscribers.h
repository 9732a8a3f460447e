// The subscribers of CUPTI's double in this process: a classic one alone, or several that allow
// each other, each with its own records ("CUPTI", "Multiple Subscribers").
#pragma once

#include <cupti.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_doubles/cupti/recorder.h"

namespace stepscope::cuda_doubles {

/// Any thread. No lock is held while a recorder or a tool is called.
class Subscribers final : public Observer {
 public:
  /// Who asks to subscribe.
  struct Applicant {
    std::string name;
    bool is_classic = true, allows_others = false;
    CUpti_CallbackFunc callback = nullptr;
    void* data = nullptr;
  };
  /// MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED where one of the two would be alone.
  CUptiResult add(Applicant const& applicant, CUpti_SubscriberHandle* handle);
  CUptiResult remove(CUpti_SubscriberHandle handle);
  /// Null = no such subscriber.
  [[nodiscard]] Recorder* find(CUpti_SubscriberHandle handle);
  /// The name of the first of them; empty = no tool subscribed, or the first has no name.
  [[nodiscard]] std::string first_name();
  /// As CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE: 0 = one is alone, 1 = several may be, 2 =
  /// no tool has subscribed.
  [[nodiscard]] uint8_t state();
  /// Classic functions are refused then.
  [[nodiscard]] bool are_shared();

  /// The buffers of all, with one flag ("cuptiActivityFlushAll").
  void flush(bool is_forced);
  /// Nothing while several are there ("cuptiFinalize").
  void finalize();

  void call_begins(ApiCall const& call) override;
  void call_ends(ApiCall const& call) override;
  void* operation_queued(Operation const& operation) override;
  void operation_done(void* token, Operation const& operation, int64_t start_ns,
                      int64_t end_ns) override;
  void operation_dropped(void* token) override;
  void memory_changed(MemoryEvent const& event) override;
  void waited(Synchronization const& wait) override;
  void event_recorded(EventRecord const& record) override;
  void context_made(int device, uint32_t context) override;
  void driver_initialized() override;

 private:
  struct Subscriber {
    Recorder* recorder;  ///< never destroyed: operations of it may still end
    std::string name;
    bool is_classic, allows_others;
  };
  [[nodiscard]] std::vector<Recorder*> recorders();
  template <class Call>
  void tell(Call&& call);

  std::mutex mutex_;
  std::vector<Subscriber> subscribers_;
  std::vector<Recorder*> rest_;  ///< unsubscribed, but kinds may still be enabled
  bool is_driver_up_ = false;
};

/// The subscribers of this process; never destroyed.
Subscribers& subscribers();

}  // namespace stepscope::cuda_doubles
