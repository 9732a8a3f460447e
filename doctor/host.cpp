// The machine around the GPUs: its clock, its disk, the memory that processes share.
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor/machine.h"
#include "trace/base/format.h"
#include "tracer/core/clock.h"

namespace stepscope::doctor {
namespace {

constexpr char const* kClockSource =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// A training that launches 20,000 device ops a second writes about 0.2 MB of trace each second: an
/// hour fits into a GiB.
constexpr uint64_t kLittleSpace = uint64_t{1} << 30, kNoSpace = uint64_t{64} << 20;
/// What Docker gives; NCCL takes several MiB for each pair of ranks, and PyTorch's loaders put
/// whole batches there.
constexpr uint64_t kLittleSharedMemory = uint64_t{64} << 20;

}  // namespace

std::vector<Check> check_clock(Places const& places) {
  std::string source = read_file(places, kClockSource).value_or("unknown\n");
  source.erase(source.find_last_not_of('\n') + 1);
  tracer::TickSource const ticks = tracer::choose_tick_source();

  Check check{"clock", Verdict::kGood,
              fmt::format("kernel: {}, tracer: {}", source, tracer::to_string(ticks)), ""};

  if (source == "hpet" || source == "acpi_pm") {
    check.verdict = Verdict::kWarning;
    check.found +=
        ": every reading of the kernel's clock is a system call and costs about a microsecond";
    check.fix =
        "boot with clocksource=tsc (or tsc=reliable) if dmesg says that the counter was marked "
        "unstable";
  }

  return {check};
}

std::vector<Check> check_disk(Places const& places) {
  std::string const& folder = places.run_folder;
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0)
    return {{"disk", Verdict::kFailure, fmt::format("{}: {}", folder, std::strerror(errno)),
             "go to a folder that is there"}};

  uint64_t const free = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  Check check{"disk", Verdict::kGood,
              fmt::format("{} free in {}", base::format_bytes(free), folder), ""};

  if (::access(folder.c_str(), W_OK) != 0) {
    check.verdict = Verdict::kWarning;
    check.found += ", which this user may not write to";
    check.fix = "give record another folder with -o";
  } else if (free < kLittleSpace) {
    check.verdict = free < kNoSpace ? Verdict::kFailure : Verdict::kWarning;
    check.fix =
        "free some, or give record another folder with -o: a busy GPU writes about 1 GiB of trace "
        "an hour";
  }

  return {check};
}

std::vector<Check> check_shared_memory(Places const& places) {
  struct statvfs disk {};
  if (::statvfs((places.root + "/dev/shm").c_str(), &disk) != 0) return {};
  uint64_t const size = static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize;

  Check check{"shared memory", Verdict::kGood, base::format_bytes(size) + " in /dev/shm", ""};
  if (size <= kLittleSharedMemory && has_gpu(places)) {
    check.verdict = Verdict::kWarning;
    check.found += ": NCCL and PyTorch's data loaders fail when it is full";
    check.fix = "start the container with --shm-size=8g or --ipc=host";
  }

  return {check};
}

}  // namespace stepscope::doctor
