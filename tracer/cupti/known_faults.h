// Known faults of CUPTI by its version, and what is done about each: THE table. Texts are after
// NVIDIA's "CUPTI Release Notes", which name the release that mends each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace stepscope::tracer {

/// Releases as cuptiGetVersion() numbers them. An update of CUDA 12 has the number of its release,
/// so that a fault that an update mends is there up to the next number. From 13.0 on two digits
/// each: major, minor, update of CUPTI.
namespace cupti {
inline constexpr uint32_t k12v0 = 19, k12v4 = 22, k12v5 = 23, k12v6 = 24, k12v8 = 26, k12v9 = 27,
                          k13v0 = 130'000, k13v0Update1 = 130'001, k13v1 = 130'100,
                          k13v1Update1 = 130'101, k13v2 = 130'200, k13v3 = 130'300,
                          k13v3Update1 = 130'301, k13v4 = 130'400, k13v4Update1 = 130'401;
}  // namespace cupti

/// What to do otherwise with one version of CUPTI.
struct Workarounds {
  bool never_refuse_buffers = false;    ///< always give a buffer
  bool never_finalize = false;          ///< stop recording, but leave CUPTI in the process
  bool no_timestamp_callback = false;   ///< take CUPTI's own clock and convert it
  bool wrong_overhead_threads = false;  ///< do not believe whose overhead it was
  bool ask_for_thread_buffers = false;  ///< buffers by thread are not what it does by itself
};

/// In versions from `first` to before `fixed`.
struct KnownFault {
  uint32_t first, fixed;
  bool Workarounds::*workaround;  ///< null = nothing can be done, or it is done with every version
  char const* what;               ///< what it does to a program or its trace
  char const* fixed_in;           ///< the release of CUDA
};

inline constexpr std::array kKnownFaults = {
    // "Fixed a crash when the client fails to provide a buffer in response to the activity buffer
    // request callback."
    KnownFault{cupti::k12v0, cupti::k12v9, &Workarounds::never_refuse_buffers,
               "without room for records the program would crash: small buffers are given whose "
               "records are counted and lost",
               "12.9"},
    // "Fixed a crash when API cuptiFinalize is used for applications using CUDA Graph"; 12.1 Update
    // 1: "Fixed a crash in the API
    // cuptiFinalize." 12.4 Update 1 has 12.4's number; PyTorch takes CUPTI down from 12.6 on
    // (kineto#1264), and so do we.
    KnownFault{cupti::k12v0, cupti::k12v6, &Workarounds::never_finalize,
               "taking CUPTI down crashes programs with CUDA graphs: it stays in the process when "
               "recording ends",
               "12.6"},
    // "… invalid (zero) kernel timestamps when using the function
    // cuptiActivityRegisterTimestampCallback … introduced in the CUDA
    // 12.6 Update 2 release."
    KnownFault{cupti::k12v6, cupti::k13v1, &Workarounds::no_timestamp_callback,
               "kernels would come with zero times if CUPTI used our clock: its own is used, and "
               "converted",
               "13.1"},
    // "Fixed the issue for overhead records showing the default thread ID than the one requested
    // using cuptiSetThreadIdType()."
    KnownFault{cupti::k12v0, cupti::k12v4, &Workarounds::wrong_overhead_threads,
               "the profiler's own time is shown without its thread", "12.4"},
    // "By default, CUPTI will request activity buffers separately for each thread … it avoids
    // contention." Asked for where
    // flushing such buffers is safe, from 12.6 Update 2: "Made flushing of activity buffers
    // thread-safe for per-thread …".
    KnownFault{cupti::k12v8, cupti::k13v0, &Workarounds::ask_for_thread_buffers,
               "threads would share one buffer and its lock: one for each is asked for", "13.0"},
    KnownFault{cupti::k12v0, cupti::k12v8, nullptr,
               "threads that launch at the same time wait for each other, in CUPTI", "12.8"},
    // New APIs of 12.5: "cuptiActivityEnableDriverApi and cuptiActivityEnableRuntimeApi to limit
    // the tracing of CUDA APIs".
    KnownFault{cupti::k12v0, cupti::k12v5, nullptr,
               "every call of the CUDA APIs is recorded, which costs each of them time", "12.5"},
    // "Fixed a potential deadlock that could occur while disabling … CONCURRENT_KERNEL"; "Fixed a
    // potential
    // crash in the API cuptiActivityFlushAll."
    KnownFault{cupti::k12v0, cupti::k13v0Update1, nullptr,
               "ending a capture before the program ends may hang or crash, rarely",
               "13.0 Update 1"},
    // "Fixed the crash when NVTX API is called before the CUPTI API. This issue was introduced in
    // the CUDA 13.0 GA release."
    KnownFault{cupti::k13v0, cupti::k13v0Update1, nullptr,
               "programs that use NVTX before CUDA may crash", "13.0 Update 1"},
    // Crashes when such a graph is instantiated (pytorch#134308); NVIDIA announced a fix for "an
    // upcoming release" in 2024, and named none. CUDA 13.0 is taken for it.
    KnownFault{
        cupti::k12v0, cupti::k13v0, nullptr,
        "programs whose CUDA graphs have conditional nodes may crash while they are recorded",
        "13.0"},
    // "Fixed incorrect correlation IDs for cudaGraphLaunch API calls … in profiling sessions after
    // the first session." kineto#1165 waits for it.
    KnownFault{cupti::k12v0, cupti::k13v1Update1, nullptr,
               "a second capture in one process joins kernels of CUDA graphs with wrong launches",
               "13.1 Update 1"},
    // "… CUPTI limited activity buffer records to 2GB regardless of the configured … size."
    KnownFault{cupti::k12v0, cupti::k13v1Update1, nullptr,
               "buffers of more than 2 GB (--cuda-buffer-kb) hold no more than that",
               "13.1 Update 1"},
    // "… repeatedly calling a CUPTI API could result in an overall performance drop … introduced in
    // the CUDA 13.2 release."
    KnownFault{cupti::k13v2, cupti::k13v3, nullptr, "long captures slow the program down", "13.3"},
    // "Fixed a memory leak that occurred when tracing a CUDA graph containing memcpy or memset
    // nodes."
    KnownFault{cupti::k12v0, cupti::k13v3, nullptr,
               "CUDA graphs with copies or fills leak memory while they are recorded", "13.3"},
    // "Fixed a potential crash caused by simultaneous GPU activity tracing requests in
    // multi-subscriber mode."
    KnownFault{cupti::k13v3, cupti::k13v3Update1, nullptr,
               "programs may crash when another tool records them at the same time",
               "13.3 Update 1"},
    // "Fixed stale kernel names in activity records after module reloads."
    KnownFault{cupti::k12v0, cupti::k13v4Update1, nullptr,
               "kernels of modules that are loaded again (Triton, JIT) may have old names",
               "13.4 Update 1"},
    // "Fixed unbounded CPU utilization growth during long-running activity tracing."
    KnownFault{cupti::k12v0, cupti::k13v4Update1, nullptr,
               "captures of hours take more and more processor time", "13.4 Update 1"},
};

constexpr bool has_fault(uint32_t version, KnownFault const& fault) {
  return version >= fault.first && version < fault.fixed;
}

constexpr Workarounds workarounds_of(uint32_t version) {
  Workarounds result;
  for (KnownFault const& fault : kKnownFaults)
    if (fault.workaround != nullptr && has_fault(version, fault)) result.*fault.workaround = true;
  return result;
}

/// The faults that this version has.
inline std::vector<KnownFault> known_faults(uint32_t version) {
  std::vector<KnownFault> result;
  for (KnownFault const& fault : kKnownFaults)
    if (has_fault(version, fault)) result.push_back(fault);
  return result;
}

/// The release of CUDA: 26 → "12.8", 130001 → "13.0 Update 1". A number of CUDA 12 that is not
/// known stays one: "CUPTI 25".
inline std::string cupti_release(uint32_t version) {
  constexpr std::array<char const*, 10> kReleasesOf12 = {
      "12.0", "12.2", "12.3", "12.4", "12.5", "12.6", nullptr, "12.8", "12.9", "12.9 Update 1"};

  if (version < cupti::k13v0) {
    uint32_t const place = version - cupti::k12v0;
    bool const is_known =
        version >= cupti::k12v0 && place < kReleasesOf12.size() && kReleasesOf12[place] != nullptr;
    return is_known ? kReleasesOf12[place] : fmt::format("CUPTI {}", version);
  }

  constexpr uint32_t kPart = 100;
  std::string result = fmt::format("{}.{}", version / kPart / kPart, version / kPart % kPart);
  if (uint32_t const update = version % kPart; update != 0)
    result += fmt::format(" Update {}", update);
  return result;
}

}  // namespace stepscope::tracer
