#include "tests/cuda_doubles/cupti/function_names.h"

#include <algorithm>
#include <iterator>

namespace stepscope::cuda_doubles {
namespace {

struct Function {
  uint32_t number;
  char const* name;
};

// CMake writes these lists from cupti_runtime_cbid.h and cupti_driver_cbid.h, in order of numbers.
constexpr Function kRuntime[] = {
#include <runtime_functions.inc>
};
constexpr Function kDriver[] = {
#include <driver_functions.inc>
};

template <size_t N>
char const* find(Function const (&functions)[N], uint32_t number) {
  auto const* const found = std::find_if(std::begin(functions), std::end(functions),
                                         [&](Function const& one) { return one.number == number; });
  return found == std::end(functions) ? nullptr : found->name;
}

}  // namespace

char const* function_name(CUpti_CallbackDomain domain, uint32_t number) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return find(kRuntime, number);
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return find(kDriver, number);
    default:
      return nullptr;
  }
}

}  // namespace stepscope::cuda_doubles
