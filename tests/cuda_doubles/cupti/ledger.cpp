#include "tests/cuda_doubles/cupti/ledger.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/cuda_doubles/cupti/function_names.h"

namespace stepscope::cuda_doubles {
namespace {

std::string function_of(CUpti_Activity const& record) {
  auto const& call = reinterpret_cast<CUpti_ActivityAPI const&>(record);
  auto const domain = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API
                                                                 : CUPTI_CB_DOMAIN_DRIVER_API;
  char const* const name = function_name(domain, call.cbid);
  std::string plain = name == nullptr ? "unknown" : name;
  // cudaLaunchKernel_v7000
  size_t const version = plain.rfind("_v");
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && version != std::string::npos) plain.resize(version);
  return plain;
}

}  // namespace

/// Through the oldest layouts: their fields are at the same places in all versions.
void Ledger::count(CUpti_Activity const& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      auto const& kernel = reinterpret_cast<CUpti_ActivityKernel9 const&>(record);
      ++counts_[kernel.start == 0 || kernel.end == 0 ? "kernels without times" : "kernels"];
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      auto const& copy = reinterpret_cast<CUpti_ActivityMemcpy5 const&>(record);
      ++counts_[copy.start == 0 || copy.end == 0 ? "copies without times" : "copies"];
      counts_["copied bytes"] += copy.bytes;
      break;
    }

    case CUPTI_ACTIVITY_KIND_MEMSET:
      ++counts_["fills"];
      break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      ++counts_["call " + function_of(record)];
      break;
    default:
      ++counts_["kind " + std::to_string(record.kind)];
  }
}

void Ledger::write() const {
  char const* const folder = std::getenv("DOUBLE_CUPTI_LEDGER");
  if (folder == nullptr || *folder == '\0') return;
  bool const is_ours = subscriber_.empty() || subscriber_ == "Stepscope";
  std::string const path = std::string(folder) + "/" + std::to_string(::getpid()) +
                           (is_ours ? ".json" : "." + subscriber_ + ".other");
  std::string const part = path + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "w");
  if (file == nullptr) return;

  char const* separator = "{";
  for (auto const& [what, count] : counts_) {
    std::fprintf(file, "%s\"%s\":%llu", separator, what.c_str(),
                 static_cast<unsigned long long>(count));
    separator = ",\n";
  }
  std::fprintf(file, "%s}\n", counts_.empty() ? "{" : "");
  std::fclose(file);
  std::rename(part.c_str(), path.c_str());
}

}  // namespace stepscope::cuda_doubles
