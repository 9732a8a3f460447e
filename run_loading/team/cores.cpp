#include "run_loading/team/cores.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <sched.h>

#include "trace/base/host_name.h"

namespace stepscope::run_loading {
namespace {

/// Larger machines have more than one cpu_set_t counts.
using CoreSet = std::array<cpu_set_t, 8>;
constexpr size_t kMostCores = 8 * CPU_SETSIZE;

struct CoresOfProcess {
  std::string machine;
  std::set<int> cores;
  friend bool operator==(CoresOfProcess const&, CoresOfProcess const&) = default;
};

CoresOfProcess parse(std::string const& text) {
  CoresOfProcess of;
  std::istringstream words(text);
  words >> of.machine;
  for (int core = 0; words >> core;) of.cores.insert(core);
  return of;
}

}  // namespace

std::string cores_of_process() {
  std::string text = base::host_name();
  CoreSet cores{};
  if (::sched_getaffinity(0, sizeof cores, cores.data()) != 0) return text;
  for (size_t core = 0; core < kMostCores; ++core)
    if (CPU_ISSET_S(core, sizeof cores, cores.data())) text += fmt::format(" {}", core);
  return text;
}

void use_cores(std::set<int> const& cores) {
  CoreSet set{};
  for (int const core : cores) CPU_SET_S(static_cast<size_t>(core), sizeof set, set.data());
  ::sched_setaffinity(0, sizeof set, set.data());
}

CoreShare share_of_cores(std::vector<std::string> const& all, uint32_t rank) {
  CoreShare share;
  CoresOfProcess const own = parse(all[rank]);
  size_t sharing = 0;

  for (std::string const& text : all) {
    CoresOfProcess const other = parse(text);
    if (other.machine == own.machine)
      share.of_machine.insert(other.cores.begin(), other.cores.end());
    if (other == own) ++sharing;
  }

  share.own = std::max<size_t>(1, own.cores.size() / std::max<size_t>(1, sharing));
  return share;
}

}  // namespace stepscope::run_loading
