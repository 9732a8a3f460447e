// CUPTI as the tracer would load it: into a plain CUDA program, and into a program that brings CUDA
// in a Python package.
#include "tracer/cupti/cupti_api.h"

#include <chrono>
#include <cstdlib>
#include <vector>

#include "doctor/child.h"
#include "doctor/cuda_driver.h"
#include "doctor/library.h"
#include "doctor/machine.h"
#include "tracer/cupti/known_faults.h"

namespace stepscope::doctor {
namespace {

/// Whether another tool can record beside Stepscope, as far as versions tell ("CUPTI", "Multiple
/// Subscribers": CUDA 13.3 and driver r610, which is the driver of CUDA 13.3).
char const* describe_subscribers(tracer::CuptiLibrary const& cupti, Places const& places) {
  constexpr int kFirstDriver = 13'030;
  if (cupti.version < tracer::cupti::k13v3 || !cupti.api.of_subscriber.is_complete())
    return ". One tool at a time: torch.profiler and Nsight have to be off (several from CUDA "
           "13.3)";

  int driver_cuda = 0;
  if (auto const driver = load_cuda_driver(places)) driver->driver_version(&driver_cuda);
  if (driver_cuda < kFirstDriver)
    return ". One tool at a time: a driver of CUDA 13.3 (610) or newer would allow several";
  return ". Tools that use cuptiSubscribe_v2, as PyTorch's monitor does, may record at the same "
         "time; classic ones (torch.profiler's Kineto) may not. Tested without a GPU only";
}

Check describe(tracer::CuptiLibrary const& cupti, std::string const& user, Places const& places) {
  Check check{"CUPTI", Verdict::kGood,
              fmt::format("{} for {}, {}", tracer::cupti_release(cupti.version), user, cupti.path),
              ""};
  if (!has_gpu(places)) return check;  // its faults have no effect here
  check.found += describe_subscribers(cupti, places);

  tracer::KnownFault const* last_mended = nullptr;
  std::vector<tracer::KnownFault> const faults = tracer::known_faults(cupti.version);
  for (tracer::KnownFault const& fault : faults) {
    if (fault.workaround != nullptr) continue;  // the tracer sees to it
    check.found +=
        fmt::format("{} {}", last_mended == nullptr ? ". Known of it:" : ";", fault.what);
    if (last_mended == nullptr || fault.fixed > last_mended->fixed) last_mended = &fault;
  }

  if (last_mended != nullptr) {
    check.verdict = Verdict::kWarning;
    check.fix =
        fmt::format("update CUPTI, all of it is mended in {} (a newer one may need a newer driver)",
                    last_mended->fixed_in);
  }

  return check;
}

/// The newest version of a library in a folder; empty = none there.
std::string newest_in(std::string const& folder, char const* library) {
  for (char const* const major : {"13", "12"})
    if (std::string const path = fmt::format("{}/{}.so.{}", folder, library, major);
        exists({}, path))
      return path;
  return {};
}

std::string python_cupti(Places const& places) {
  for (std::string const& folder : python_library_folders(places))
    if (std::string const path = newest_in(folder, "libcupti"); !path.empty()) return path;
  return {};
}

}  // namespace

std::vector<Check> check_cupti(Places const& places) {
  // The search looks at what the process has: the driver first, as in every CUDA program.
  auto const driver = Library::open(places, "libcuda.so.1");
  auto const cupti = tracer::load_cupti();
  if (cupti) return {describe(*cupti, "CUDA programs", places)};

  if (!has_gpu(places)) return {};
  Check check{"CUPTI", Verdict::kWarning, cupti.error().message,
              "without it CUDA programs are traced by their annotations alone; those that bring "
              "their own, as PyTorch does, are not concerned"};

  if (std::string const path = python_cupti(places); !path.empty())
    check.fix += fmt::format("; a Python package has one: {}={}", tracer::kCuptiVariable, path);
  return {check};
}

std::string use_python_cupti(Places const& places) {
  constexpr std::chrono::seconds kCuptiAnswerLimit{30};

  // Asked in another process: what is loaded here would stay.
  auto const has_one = run_in_child(
      [&](int /*output*/) {
        auto const driver = Library::open(places, "libcuda.so.1");
        if (!tracer::load_cupti()) std::_Exit(1);
      },
      kCuptiAnswerLimit);

  if (!has_one || has_one->succeeded()) return {};
  std::string path = python_cupti(places);
  if (!path.empty()) ::setenv(tracer::kCuptiVariable, path.c_str(), 1);
  return path;
}

std::vector<Check> check_python_cupti(Places const& places) {
  auto const driver = Library::open(places, "libcuda.so.1");
  for (std::string const& folder : python_library_folders(places)) {
    std::string const runtime = newest_in(folder, "libcudart");
    if (runtime.empty() || !Library::open({}, runtime)) continue;

    // One only: it stays in this process, and would be found for every other.
    auto const cupti = tracer::load_cupti();
    if (cupti) return {describe(*cupti, "programs with " + runtime, places)};
    return {{"CUPTI", Verdict::kWarning,
             fmt::format("for programs with {}: {}", runtime, cupti.error().message),
             "install the package nvidia-cuda-cupti of the same version beside it"}};
  }

  return {};
}

}  // namespace stepscope::doctor
