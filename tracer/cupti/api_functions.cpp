#include "tracer/cupti/api_functions.h"

#include <string>

#include <fmt/format.h>

namespace stepscope::tracer {

ApiFunctions::Function const& ApiFunctions::look_up(CUpti_CallbackDomain domain,
                                                    CUpti_CallbackId cbid, TraceStore& store) {
  auto& known = functions_[domain == CUPTI_CB_DOMAIN_DRIVER_API ? 0 : 1];
  if (cbid >= kMaxFunctions) cbid = 0;
  if (cbid >= known.size()) known.resize(cbid + size_t{1});
  char const* name = nullptr;
  bool const is_known =
      cbid != 0 && api_.get_callback_name(domain, cbid, &name) == CUPTI_SUCCESS && name != nullptr;
  std::string const text =
      is_known ? std::string(plain_name(name)) : fmt::format("CUDA function {}", cbid);
  known[cbid] = {classify(text), sync_kind_of(text), store.intern(text)};
  return known[cbid];
}

}  // namespace stepscope::tracer
