// Stands in for cupti.cpp in a build without CUPTI's headers.
#include "doctor/machine.h"

namespace stepscope::doctor {

std::vector<Check> check_cupti(Places const& places) {
  if (!has_gpu(places)) return {};
  return {
      {"CUPTI", Verdict::kWarning,
       "this build of Stepscope cannot use it: CUDA programs are traced by their annotations alone",
       "build with a CUDA toolkit of 12.8 or newer, or take the bundle"}};
}

std::vector<Check> check_python_cupti(Places const& /*places*/) { return {}; }

std::string use_python_cupti(Places const& /*places*/) { return {}; }

}  // namespace stepscope::doctor
