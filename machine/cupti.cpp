// CUPTI as the tracer would load it: into a plain CUDA program, and into a program that brings CUDA in a Python package.
#include "tracer/cupti/cupti_api.h"

#include <vector>

#include "machine/library.h"
#include "machine/machine.h"
#include "tracer/cupti/known_faults.h"

namespace stepscope::machine {
namespace {

Check describe(tracer::CuptiLibrary const& cupti, std::string const& user, Places const& places) {
  Check check{"CUPTI", Verdict::kGood, fmt::format("{} for {}, {}", tracer::cupti_release(cupti.version), user, cupti.path), ""};
  if (!has_gpu(places)) return check;  // its faults harm nobody here
  tracer::KnownFault const* last_mended = nullptr;
  std::vector<tracer::KnownFault> const faults = tracer::known_faults(cupti.version);
  for (tracer::KnownFault const& fault : faults) {
    if (fault.workaround != nullptr) continue;  // the tracer sees to it
    check.found += fmt::format("{} {}", last_mended == nullptr ? ". Known of it:" : ";", fault.what);
    if (last_mended == nullptr || fault.fixed > last_mended->fixed) last_mended = &fault;
  }
  if (last_mended != nullptr) {
    check.verdict = Verdict::kWarning;
    check.fix =
        fmt::format("update CUPTI, all of it is mended in {} (a newer one may need a newer driver)", last_mended->fixed_in);
  }
  return check;
}

/// The runtime in a folder of Python's packages; empty = none there.
std::string runtime_in(std::string const& folder) {
  for (char const* const name : {"/libcudart.so.13", "/libcudart.so.12"})
    if (exists({}, folder + name)) return folder + name;
  return {};
}

}  // namespace

std::vector<Check> check_cupti(Places const& places) {
  // The search looks at what the process has: the driver first, as in every CUDA program.
  auto const driver = Library::open(places, "libcuda.so.1");
  auto const cupti = tracer::load_cupti();
  if (cupti) return {describe(*cupti, "CUDA programs", places)};
  if (!has_gpu(places)) return {};
  return {{"CUPTI", Verdict::kWarning, cupti.error().message,
           "without it CUDA programs are traced by their annotations alone; those that bring their own, as PyTorch does, are not "
           "concerned"}};
}

std::vector<Check> check_python_cupti(Places const& places) {
  auto const driver = Library::open(places, "libcuda.so.1");
  for (std::string const& folder : python_library_folders(places)) {
    std::string const runtime = runtime_in(folder);
    if (runtime.empty() || !Library::open({}, runtime)) continue;
    // One only: it stays in this process, and would be found for every other.
    auto const cupti = tracer::load_cupti();
    if (cupti) return {describe(*cupti, "programs with " + runtime, places)};
    return {{"CUPTI", Verdict::kWarning, fmt::format("for programs with {}: {}", runtime, cupti.error().message),
             "install the package nvidia-cuda-cupti of the same version beside it"}};
  }
  return {};
}

}  // namespace stepscope::machine
