// NCCL 2.28.9 without a driver: its own code finds the versions of the profiler plugin and turns
// its events into theirs (src/plugin/profiler). Events go through that code into Stepscope's
// plugin, and must come out of the trace.
#include <nccl.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/real_libraries/elf_symbols.h"
#include "tests/real_libraries/real_library.h"
#include "tests/unit/tracer/nccl/counting_plugin.h"
#include "tests/unit/tracer/nccl/plugin_fixture.h"
#include "tracer/core/options.h"
#include "tracer/nccl/adapters.h"

namespace stepscope::real_libraries {
namespace {

using tracer::nccl::NcclPlugin;

constexpr char const* kNccl = "libnccl.so.2";
constexpr int kPinnedNccl = 22'809;
/// What this NCCL passes to any plugin, and the newest version of the interface that it asks for.
using Event = tracer::nccl::EventV5;
using Table = tracer::nccl::PluginV5;
constexpr int kNewest = 5;
/// From 2.26 on NCCL tells plugins of versions 1 to 3 no communicator.
constexpr uint64_t kNoHash = 0;

class RealNccl : public NcclPlugin {
 protected:
  void SetUp() override {
    NcclPlugin::SetUp();
    if (IsSkipped()) return;
    real_ = RealLibrary::of_toolkit(kNccl);
    SKIP_WITHOUT(real_, kNccl);
    int version = 0;
    real_->function<decltype(&ncclGetVersion)>("ncclGetVersion")(&version);
    SKIP_UNLESS_VERSION(*real_, version, kPinnedNccl);

    symbols_ = read_elf_symbols(real_->path()).all;
    if (!symbols_.contains(finder(1)))
      GTEST_SKIP() << real_->path() << " was stripped: its plugin code cannot be called";
  }

  /// NCCL's function that looks for that version in a library.
  static std::string finder(int version) {
    return fmt::format("_Z18getNcclProfiler_v{}Pv", version);
  }
  /// What it makes of the library: a plugin of its newest version, or null.
  [[nodiscard]] Table const* find(void* library, int version) const {
    using Find = Table const* (*)(void*);
    auto const address = real_->base() + symbols_.at(finder(version));
    return reinterpret_cast<Find>(address)(library);
  }
  /// As ncclProfilerPluginLoad() does it.
  [[nodiscard]] int newest_version(void* library) const {
    for (int version = kNewest; version >= 1; --version)
      if (find(library, version) != nullptr) return version;
    return 0;
  }
  static void* open_plugin() {
    return ::dlopen(tracer::nccl::kLibrary.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  /// The driver's events through that version: a process' exit status.
  [[nodiscard]] int use_through(int version) const {
    int const mask = tracer::nccl::mask_of(tracer::NcclDetail::kNetwork, version);
    return tracer::nccl::use(find(open_plugin(), version), mask);
  }

  std::optional<RealLibrary> real_;
  std::map<std::string, uint64_t> symbols_;
};

TEST_F(RealNccl, FindsEveryVersionOfTheInterfaceThatItHas) {
  EXPECT_EQ(in_child([&] {
              void* const plugin = open_plugin();
              for (int version = 1; version <= kNewest; ++version)
                if (find(plugin, version) == nullptr) return version;
              return 0;
            }),
            0);
  EXPECT_FALSE(symbols_.contains(finder(kNewest + 1))) << "this NCCL has a newer interface";
}

TEST_F(RealNccl, ReportsThroughVersion1) {
  ASSERT_EQ(in_child([&] { return use_through(1); }), 0);
  expect_all_recorded(1, kNoHash);
}
TEST_F(RealNccl, ReportsThroughVersion2) {
  ASSERT_EQ(in_child([&] { return use_through(2); }), 0);
  expect_all_recorded(2, kNoHash);
}
TEST_F(RealNccl, ReportsThroughVersion3) {
  ASSERT_EQ(in_child([&] { return use_through(3); }), 0);
  expect_all_recorded(3, kNoHash);
}
TEST_F(RealNccl, ReportsThroughVersion4) {
  ASSERT_EQ(in_child([&] { return use_through(4); }), 0);
  expect_all_recorded(4);
}
TEST_F(RealNccl, ReportsThroughVersion5) {
  ASSERT_EQ(in_child([&] { return use_through(5); }), 0);
  expect_all_recorded(5);
}

/// Behind a plugin of version 4 NCCL does not find the newer versions of Stepscope's.
TEST_F(RealNccl, SpeaksTheVersionOfAnOlderPluginWithBoth) {
  std::string const log = folder.path().string() + ".log";
  auto const work = [&] {
    if (newest_version(open_plugin()) != 4) return 20;
    return tracer::nccl::use(find(open_plugin(), 4), tracer::nccl::kMaskOfAll);
  };
  ASSERT_EQ(in_child(work, {{tracer::kOtherNcclPluginVariable,
                             support::build_path("tests/libold_counting_plugin.so")},
                            {tracer::nccl::kCountingLog, log}}),
            0);

  expect_all_recorded(4);
  std::ifstream file(log);
  std::string first;
  std::getline(file, first);
  EXPECT_EQ(first, "init v4");
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace stepscope::real_libraries
