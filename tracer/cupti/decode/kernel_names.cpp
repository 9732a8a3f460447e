#include "tracer/cupti/decode/kernel_names.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include <cxxabi.h>

#include "trace/model/build/communication_names.h"

namespace stepscope::tracer {

std::string demangle(char const* name) {
  if (std::strncmp(name, "_Z", 2) != 0) return name;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string(name);
}

KernelInfo& KernelNames::look_up(char const* name, TraceStore& store) {
  auto const [place, is_new] = by_pointer_.try_emplace(name);
  if (!is_new) return place->second;
  if (names_.size() >= kMaxNames) names_.clear();
  auto const [known, is_new_name] = names_.try_emplace(name == nullptr ? "" : name);
  if (is_new_name)
    known->second =
        store.intern(known->first.empty() ? "unnamed kernel" : demangle(known->first.c_str()));

  KernelInfo& kernel = place->second;
  kernel.name = known->second;
  if (model::is_communication_kernel(known->first))
    kernel.communication =
        std::make_unique<model::CollectiveDetail const>(model::collective_of_kernel(known->first));
  return kernel;
}

}  // namespace stepscope::tracer
