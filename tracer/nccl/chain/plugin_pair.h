// Two plugins as one: NCCL loads Stepscope's, which passes each call on to the one that the user
// chose. Each has its own contexts, handles and mask, and sees what it would see alone.
//
// NCCL and both plugins speak one version of the interface, the newest that all know. Events that
// the other plugin turns on later reach it from NCCL's next call on. A network thread of another
// process (PXN) passes a handle of that process as parent: the other plugin gets it unchanged.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "tracer/nccl/adapters.h"
#include "tracer/nccl/chain/event_rules.h"
#include "tracer/nccl/chain/handle_pairs.h"

namespace stepscope::tracer::nccl {

/// What both plugins have of this process's communicators and events.
class SharedPlugins {
 public:
  /// What the plugins made for a communicator.
  struct Contexts {
    void* own = nullptr;
    void* other = nullptr;
    bool has_other = true;  ///< false = the other plugin's init() failed
    Contexts* next = nullptr;
  };

  /// They live as long as the process: network threads may use them after finalize(). Null without
  /// memory. No lock: a fork may come at any time.
  Contexts* add(Contexts const& contexts) {
    auto* const made = new (std::nothrow) Contexts(contexts);
    if (made == nullptr) return nullptr;
    made->next = contexts_.load(std::memory_order_relaxed);
    while (!contexts_.compare_exchange_weak(made->next, made, std::memory_order_release)) {
    }
    return made;
  }
  /// What NCCL means by a context. A network thread that works for another process (PXN) passes the
  /// other one's, which points to nothing here: each plugin gets none then.
  [[nodiscard]] Contexts find_contexts(void const* context) const {
    for (auto const* one = contexts_.load(std::memory_order_acquire); one != nullptr;
         one = one->next)
      if (one == context) return *one;
    return {};
  }
  [[nodiscard]] uint64_t add(uint64_t type, HandlePair pair) {
    bool const is_leaf = type == kProxyStep || type == kKernelChannel || type == kNetworkPlugin;
    if (uint64_t const number = (is_leaf ? leaves_ : parents_).add(pair); number != 0)
      return number << 1 | static_cast<uint64_t>(is_leaf);
    return 0;
  }
  [[nodiscard]] HandlePair find(void* handle) const {
    uint64_t const value = to_handle(handle);
    return ((value & 1) != 0 ? leaves_ : parents_).find(value >> 1);
  }

  /// What this plugin asked for; as int where NCCL or the other plugin writes it, too.
  std::atomic<uint64_t> own_mask{0};
  int other_mask = 0;
  std::atomic<int> passed_on{0};         ///< `other_mask` as NCCL's mask has it
  std::atomic<int*> nccl_mask{nullptr};  ///< a global variable of NCCL
  void (*when_other_fails)() = nullptr;  ///< its init() returned an error

  [[nodiscard]] uint64_t wanted_by_other() {
    return static_cast<uint64_t>(std::atomic_ref<int>(other_mask).load(std::memory_order_relaxed));
  }
  void pass_masks_on() {
    auto const other = static_cast<int>(wanted_by_other());
    int* const to = nccl_mask.load(std::memory_order_relaxed);
    // Read first: all threads pass here at each event, and an exchange takes the line from others.
    if (to == nullptr || passed_on.load(std::memory_order_relaxed) == other) return;
    if (passed_on.exchange(other, std::memory_order_relaxed) == other) return;
    std::atomic_ref<int>(*to).store(
        other | static_cast<int>(own_mask.load(std::memory_order_relaxed)),
        std::memory_order_relaxed);
  }

 private:
  /// NCCL has at most some ten thousand operations under way, and some thousand transfers.
  static constexpr unsigned kParentBits = 18, kLeafBits = 16;
  HandlePairs parents_{kParentBits};
  HandlePairs leaves_{kLeafBits};
  std::atomic<Contexts*> contexts_{nullptr};
};

/// One version of the interface. join() comes before NCCL's first call; the tables outlive it.
template <class Table>
class PluginPair;

template <class Init, class Event>
class PluginPair<Plugin<Init, Event>> {
 public:
  using Table = Plugin<Init, Event>;

  static Table const* join(SharedPlugins& shared, Table const& own, Table const& other) {
    both_plugins = &shared;
    own_plugin = &own;
    other_plugin = &other;
    static constexpr Table kBoth = {"Stepscope", init_function(), start,
                                    stop,        record_state,    finalize};
    return &kBoth;
  }

 private:
  using Contexts = SharedPlugins::Contexts;

  /// Calls `init(plugin, context, mask)` of each.
  template <class CallInit>
  static Result init_both(void** context, int* mask, CallInit const& call_init) {
    if (context == nullptr || mask == nullptr) return kSuccess;
    Contexts contexts;
    int own_mask = 0;
    call_init(*own_plugin, &contexts.own, &own_mask);
    if (own_mask != 0) both_plugins->own_mask = static_cast<uint64_t>(own_mask);
    contexts.has_other =
        call_init(*other_plugin, &contexts.other, &both_plugins->other_mask) == kSuccess;
    if (!contexts.has_other && both_plugins->when_other_fails != nullptr)
      both_plugins->when_other_fails();

    auto const other_mask = static_cast<int>(both_plugins->wanted_by_other());
    both_plugins->nccl_mask = mask;
    both_plugins->passed_on = other_mask;
    *mask = other_mask | static_cast<int>(both_plugins->own_mask.load());
    *context = both_plugins->add(contexts);
    return kSuccess;
  }

  static Result init_v1(void** context, int* mask) {
    return init_both(context, mask, [](auto const& plugin, void** its_context, int* its_mask) {
      return plugin.init(its_context, its_mask);
    });
  }
  static Result init_v4(void** context, int* mask, char const* name, uint64_t communicator,
                        int nodes, int ranks, int rank, Logger log) {
    return init_both(context, mask, [&](auto const& plugin, void** its_context, int* its_mask) {
      return plugin.init(its_context, its_mask, name, communicator, nodes, ranks, rank, log);
    });
  }
  static Result init_v5(void** context, uint64_t communicator, int* mask, char const* name,
                        int nodes, int ranks, int rank, Logger log) {
    return init_both(context, mask, [&](auto const& plugin, void** its_context, int* its_mask) {
      return plugin.init(its_context, communicator, its_mask, name, nodes, ranks, rank, log);
    });
  }
  static constexpr Init init_function() {
    if constexpr (std::is_same_v<Init, InitV1>)
      return init_v1;
    else if constexpr (std::is_same_v<Init, InitV4>)
      return init_v4;
    else
      return init_v5;
  }

  /// Where an event has handles of others; the second is null where it has one only.
  static std::pair<void**, void**> parents_of(Event& event) {
    auto const type = static_cast<uint64_t>(event.type);
    // This process works for another one, whose handles mean nothing here.
    if (type == kProxyOp && event.proxy_op.process != ::getpid()) return {};

    if constexpr (requires { event.collective.group; }) {
      if (type == kCollective) return {&event.parent, &event.collective.group};
      if (type == kPointToPoint) return {&event.parent, &event.point_to_point.group};
    }
    return {&event.parent, nullptr};
  }

  /// NCCL declares the event as one that a plugin may change, and reads nothing of it afterwards.
  static Result start(void* context, void** handle, Event const* event) {
    if (handle == nullptr) return kSuccess;
    *handle = nullptr;
    if (event == nullptr) return kSuccess;
    both_plugins->pass_masks_on();

    auto const type = static_cast<uint64_t>(event->type);
    Contexts const contexts = both_plugins->find_contexts(context);
    auto const [parent, group] = parents_of(const_cast<Event&>(*event));
    HandlePair const parents = parent != nullptr ? both_plugins->find(*parent) : HandlePair();
    HandlePair const groups = group != nullptr ? both_plugins->find(*group) : HandlePair();
    HandlePair made;

    if (reports_event(both_plugins->own_mask.load(std::memory_order_relaxed), type)) {
      if (parent != nullptr) *parent = to_pointer(parents.own);
      if (group != nullptr) *group = to_pointer(groups.own);
      void* own = nullptr;
      own_plugin->start_event(contexts.own, &own, event);
      made.own = to_handle(own);
    }

    if (contexts.has_other && reports_event(both_plugins->wanted_by_other(), type)) {
      if (parent != nullptr) *parent = parents.other;
      if (group != nullptr) *group = groups.other;
      other_plugin->start_event(contexts.other, &made.other, event);
    }

    *handle = to_pointer(both_plugins->add(type, made));
    return kSuccess;
  }

  static Result stop(void* handle) {
    HandlePair const pair = both_plugins->find(handle);
    if (pair.own != 0) own_plugin->stop_event(to_pointer(pair.own));
    if (pair.other != nullptr) other_plugin->stop_event(pair.other);
    return kSuccess;
  }

  static Result record_state(void* handle, int state, void const* arguments) {
    HandlePair const pair = both_plugins->find(handle);
    if (pair.own != 0) own_plugin->record_state(to_pointer(pair.own), state, arguments);
    if (pair.other != nullptr) other_plugin->record_state(pair.other, state, arguments);
    return kSuccess;
  }

  static Result finalize(void* context) {
    if (context == nullptr) return kSuccess;
    Contexts const contexts = both_plugins->find_contexts(context);
    own_plugin->finalize(contexts.own);
    // Alone, a plugin that made no context is not asked: some would follow the null.
    if (contexts.has_other && contexts.other != nullptr) other_plugin->finalize(contexts.other);
    return kSuccess;
  }

  static inline SharedPlugins* both_plugins = nullptr;
  static inline Table const* own_plugin = nullptr;
  static inline Table const* other_plugin = nullptr;
};

}  // namespace stepscope::tracer::nccl
