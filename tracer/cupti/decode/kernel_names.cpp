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
  if (auto const known = by_pointer_.find(name); known != by_pointer_.end()) return known->second;
  if (names_.size() >= kMaxNames) forget();
  auto const [known, is_new_name] = names_.try_emplace(name == nullptr ? "" : name);
  std::string const& text = known->first;
  if (is_new_name)
    known->second.id = store.intern(text.empty() ? "unnamed kernel" : demangle(text.c_str()));
  if (is_new_name && model::is_communication_kernel(text))
    known->second.communication =
        std::make_unique<model::CollectiveDetail const>(model::collective_of_kernel(text));

  KernelInfo& kernel = by_pointer_[name];
  kernel.name = known->second.id;
  kernel.communication = known->second.communication.get();
  return kernel;
}

}  // namespace stepscope::tracer
