// Functions of the CUDA runtime and driver API by the numbers that CUPTI gives them: names, and
// what a call of each is to us.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/model/api_calls.h"
#include "tracer/core/trace_store.h"
#include "tracer/cupti/cupti_api.h"

namespace stepscope::tracer {

using model::ApiClass;
using model::classify;
using model::plain_name;
using model::sync_kind_of;

/// Calls visit(cbid, plain name) for every function of the domain that this CUPTI knows. Numbers
/// are dense up to CUDA 13.0; should a later one leave some out, the rest is still found.
template <class Visit>
void for_each_function(CuptiApi const& api, CUpti_CallbackDomain domain, Visit&& visit) {
  constexpr int kMaxGap = 64;
  int misses = 0;

  for (CUpti_CallbackId cbid = 1; misses <= kMaxGap; ++cbid) {
    char const* name = nullptr;
    if (api.get_callback_name(domain, cbid, &name) == CUPTI_SUCCESS && name != nullptr) {
      misses = 0;
      visit(cbid, plain_name(name));
    } else {
      ++misses;
    }
  }
}

/// Names and classes by number, looked up once. The writer thread's.
class ApiFunctions {
 public:
  struct Function {
    ApiClass api_class = ApiClass::kOther;
    model::SyncKind sync = model::SyncKind::kUnknown;
    model::StringId name;  ///< invalid = not looked up yet
  };

  explicit ApiFunctions(CuptiApi const& api) : api_(api) {}

  /// `domain`: of the runtime or the driver API.
  Function const& find(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, TraceStore& store) {
    auto& known = functions_[domain == CUPTI_CB_DOMAIN_DRIVER_API ? 0 : 1];
    if (cbid < known.size() && known[cbid].name.valid()) [[likely]]
      return known[cbid];
    return look_up(domain, cbid, store);
  }

  void forget() {
    for (auto& known : functions_) known.clear();
  }

 private:
  /// Larger numbers are damage.
  static constexpr CUpti_CallbackId kMaxFunctions = 1 << 16;
  Function const& look_up(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, TraceStore& store);

  CuptiApi const& api_;
  std::array<std::vector<Function>, 2> functions_;
};

}  // namespace stepscope::tracer
