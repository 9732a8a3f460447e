// Stepscope's plugin in front of another one, as NCCL uses both: each sees what it would see alone.
#include <algorithm>
#include <fstream>

#include "tests/unit/tracer/nccl/counting_plugin.h"
#include "tests/unit/tracer/nccl/plugin_fixture.h"
#include "tracer/core/options.h"

namespace stepscope::tracer::nccl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ChainedPlugin : public NcclPlugin {
 protected:
  [[nodiscard]] std::string log() const { return folder.path().string() + ".log"; }
  /// Variables for a recording with that plugin behind Stepscope's.
  [[nodiscard]] Environment with(std::string const& plugin, Environment more = {}) const {
    more[kOtherNcclPluginVariable] = plugin;
    more[kCountingLog] = log();
    more[kReportLossVariable] = "1";
    return more;
  }
  /// The calls that the other plugin got.
  [[nodiscard]] std::vector<std::string> calls() const {
    std::vector<std::string> lines;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  [[nodiscard]] size_t count(std::string const& prefix) const {
    auto const all = calls();
    return static_cast<size_t>(std::count_if(
        all.begin(), all.end(), [&](auto const& line) { return line.starts_with(prefix); }));
  }
  void expect_fact(std::string const& part) const {
    for (auto const& [name, trace] : read_traces(folder.path()))
      EXPECT_THAT(trace.info().facts, Contains(Pair("nccl profiler", HasSubstr(part))));
  }
  /// Runs it in a process of its own; message() has what that prints at its end.
  [[nodiscard]] int in_child_with_message(std::function<int()> const& work,
                                          Environment const& environment) const {
    std::string const path = folder.path().string() + ".err";
    return in_child(
        [&] { return std::freopen(path.c_str(), "w", stderr) != nullptr ? work() : 99; },
        environment);
  }
  [[nodiscard]] std::string message() const {
    std::ifstream file(folder.path().string() + ".err");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ~ChainedPlugin() override {
    std::filesystem::remove(log());
    std::filesystem::remove(folder.path().string() + ".err");
  }
};

std::string const kNewPlugin = support::build_path("tests/libcounting_plugin.so");
std::string const kOldPlugin = support::build_path("tests/libold_counting_plugin.so");
/// What use() of the driver does once, besides five collectives.
constexpr char const* kSend = "start 4 ";

int use_v4() { return use(find_plugin<PluginV4>("ncclProfiler_v4")); }
int use_v6() { return use(find_plugin<PluginV6>("ncclProfiler_v6")); }

/// NCCL of that version: it takes the newest version that it finds.
int newest_version_found() {
  void* const library = ::dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (int version = 6; library != nullptr && version >= 1; --version)
    if (::dlsym(library, fmt::format("ncclProfiler_v{}", version).c_str()) != nullptr)
      return version;
  return 0;
}

TEST_F(ChainedPlugin, gets_every_event_with_its_own_parents) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV6>("ncclProfiler_v6"), kMaskOfAll); },
                     with(kNewPlugin)),
            0);
  expect_all_recorded(6);
  expect_fact("together with the plugin " + kNewPlugin);

  EXPECT_EQ(calls().front(), "init v6");
  EXPECT_EQ(calls().back(), "finalize");
  EXPECT_EQ(count("start 512 parent 256 "), kCollectives) << "calls in their groups";
  EXPECT_EQ(count("start 2048 parent 256 "), kCollectives) << "launches in their groups";
  EXPECT_EQ(count("start 2 parent 512 group 1"), kCollectives) << "operations of call and plan";
  EXPECT_EQ(count(kSend), 1U);
  EXPECT_EQ(count("start 8 parent 4 "), 1U) << "the network's part of the send";
  EXPECT_EQ(count("start 16 parent 8 "), 1U);
  EXPECT_EQ(count("state 9 of 16"), 1U);
  EXPECT_EQ(count("stop"), count("start"));
}

TEST_F(ChainedPlugin, of_version_5_gets_them_too) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV5>("ncclProfiler_v5"), kMaskOfAll); },
                     with(kNewPlugin)),
            0);
  expect_all_recorded(5);
  EXPECT_EQ(calls().front(), "init v5");
  EXPECT_EQ(count("start 2 parent 512 group 1"), kCollectives);
}

TEST_F(ChainedPlugin, that_is_older_has_nccl_speak_the_older_version_with_both) {
  auto const use_newest = [] {
    if (newest_version_found() != 4) return 20;
    return use(find_plugin<PluginV4>("ncclProfiler_v4"), kMaskOfAll);
  };
  ASSERT_EQ(in_child(use_newest, with(kOldPlugin)), 0);

  expect_all_recorded(4);
  EXPECT_EQ(calls().front(), "init v4");
  EXPECT_EQ(count("start 2 parent 1 "), kCollectives) << "operations in their plans";
}

TEST_F(ChainedPlugin, works_with_the_oldest_versions) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV1>("ncclProfiler_v1"), kMaskOfAll); },
                     with(kOldPlugin)),
            0);
  expect_all_recorded(1);
  EXPECT_EQ(calls().front(), "init v1");
  EXPECT_EQ(count("start 2 parent 1 "), kCollectives);
}

TEST_F(ChainedPlugin, gets_only_what_it_asks_for_and_its_parents) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV6>("ncclProfiler_v6")); },
                     with(kNewPlugin, {{kCountingMask, "2"}})),
            0);
  expect_all_recorded(6);
  EXPECT_EQ(count("start 2 parent 512 group 1"), kCollectives);
  EXPECT_EQ(count("start 2048"), 0U) << "launches";
  EXPECT_EQ(count(kSend), 0U);
  EXPECT_EQ(count("start 8"), 0U);
}

TEST_F(ChainedPlugin, gets_what_stepscope_leaves_out) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV6>("ncclProfiler_v6"), kMaskOfAll); },
                     with(kNewPlugin, {{kNcclVariable, "calls"}})),
            0);
  EXPECT_EQ(count("start 16 parent 8 "), 1U);
  auto const recorded = recorded_calls();
  ASSERT_THAT(recorded, SizeIs(kCollectives + 1));
  EXPECT_EQ(recorded.back().network_wait_ns, 0U) << "Stepscope did not ask for it";
}

TEST_F(ChainedPlugin, goes_on_where_stepscope_records_nothing) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV6>("ncclProfiler_v6"), kMaskOfAll); },
                     with(kNewPlugin, {{"STEPSCOPE_OUTPUT", ""}})),
            0);
  EXPECT_EQ(count("start 2 parent 512 group 1"), kCollectives);
}

TEST_F(ChainedPlugin, may_change_its_mask_at_any_time) {
  auto const enqueue = [] {
    auto const* const plugin = find_plugin<PluginV6>("ncclProfiler_v6");
    void* context = nullptr;
    int mask = 0;
    if (init(*plugin, &context, &mask) != kSuccess) return 10;
    if (mask != kMaskOfAll) return 11;

    for (uint64_t i = 0; i < kCollectives; ++i) enqueue_all_reduce(*plugin, context, i);
    return mask == whole_mask<EventV6>() ? 0 : 12;
  };

  ASSERT_EQ(in_child(enqueue, with(kNewPlugin, {{kCountingStops, "3"}})), 0);
  EXPECT_EQ(count("start"), 3U);
  EXPECT_THAT(recorded_calls(), SizeIs(kCollectives));
}

TEST_F(ChainedPlugin, that_does_not_start_is_left_out_and_said_once) {
  ASSERT_EQ(in_child_with_message(use_v6,
                                  with(kNewPlugin, {{kCountingResult, "3"}, {kCountingMask, "0"}})),
            0);

  expect_all_recorded(6);
  EXPECT_THAT(calls(), ElementsAre("init v6"));
  EXPECT_THAT(message(),
              AllOf(HasSubstr("stepscope: the NCCL profiler plugin"), HasSubstr("did not start")));
}

TEST_F(ChainedPlugin, that_cannot_be_loaded_is_said_once_and_nccl_is_recorded) {
  ASSERT_EQ(in_child_with_message(use_v6, with("nowhere")), 0);

  expect_all_recorded(6);
  EXPECT_THAT(message(), AllOf(HasSubstr("the NCCL profiler plugin nowhere cannot be loaded"),
                               HasSubstr("libnccl-profiler-nowhere.so")));
  std::string const text = message();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(ChainedPlugin, that_is_newer_than_nccl_is_left_out_as_nccl_would) {
  ASSERT_EQ(in_child_with_message(use_v4, with(kNewPlugin)), 0);

  expect_all_recorded(4);
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_THAT(message(), HasSubstr("speaks versions 5, 6 of the interface, this NCCL 4 at most"));
}

TEST_F(ChainedPlugin, that_is_no_plugin_is_said) {
  ASSERT_EQ(in_child_with_message(use_v6, with("libm.so.6")), 0);

  expect_all_recorded(6);
  EXPECT_THAT(message(), HasSubstr("has none of the versions 1 to 6 of the interface"));
}

TEST_F(ChainedPlugin, is_never_stepscopes_own_tracer) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV6>("ncclProfiler_v6")); }, with(kLibrary)),
            0);
  expect_all_recorded(6);
}

TEST_F(ChainedPlugin, gets_handles_of_another_process_as_they_are) {
  ASSERT_EQ(in_child(
                [] {
                  auto const* const plugin = find_plugin<PluginV6>("ncclProfiler_v6");
                  void* context = nullptr;
                  void* handle = nullptr;
                  int mask = 0;
                  init(*plugin, &context, &mask);

                  auto event = plain_event<EventV6>(kProxyOp, reinterpret_cast<void*>(0x1234));
                  event.proxy_op.process = 1;
                  plugin->start_event(context, &handle, &event);
                  bool const is_unchanged = event.parent == reinterpret_cast<void*>(0x1234);
                  plugin->stop_event(handle);
                  return is_unchanged && handle != nullptr ? 0 : 11;
                },
                with(kNewPlugin)),
            0);
  EXPECT_EQ(count("start 8 "), 1U);
  EXPECT_EQ(count("stop 8"), 1U);
}

TEST_F(ChainedPlugin, gets_no_context_of_another_process) {
  ASSERT_EQ(in_child(
                [] {
                  auto const* const plugin = find_plugin<PluginV6>("ncclProfiler_v6");
                  void* context = nullptr;
                  void* handle = nullptr;
                  int mask = 0;
                  init(*plugin, &context, &mask);

                  // A network thread that works for another process has that one's context.
                  auto* const foreign = reinterpret_cast<void*>(0x1234);
                  auto const event = plain_event<EventV6>(kProxyStep, nullptr);
                  plugin->start_event(foreign, &handle, &event);
                  plugin->stop_event(handle);
                  plugin->finalize(foreign);
                  return handle != nullptr ? 0 : 11;
                },
                with(kNewPlugin)),
            0);
  EXPECT_EQ(count("start 16 "), 1U);
  EXPECT_EQ(count("stop 16"), 1U);
  EXPECT_EQ(count("finalize"), 0U);
}

TEST_F(ChainedPlugin, that_made_no_context_is_not_asked_to_end) {
  auto const begin_and_end = [] {
    auto const* const plugin = find_plugin<PluginV6>("ncclProfiler_v6");
    void* context = nullptr;
    int mask = 0;
    init(*plugin, &context, &mask);
    plugin->finalize(context);
    return context != nullptr ? 0 : 11;
  };

  ASSERT_EQ(in_child(begin_and_end, with(kNewPlugin, {{kCountingContext, "0"}})), 0);
  EXPECT_THAT(calls(), ElementsAre("init v6"));
}

TEST_F(ChainedPlugin, bears_null_arguments_and_handles_from_nowhere) {
  auto const misuse = [] {
    auto const* const plugin = find_plugin<PluginV5>("ncclProfiler_v5");
    int mask = 0;
    void* handle = nullptr;
    plugin->init(nullptr, 0, &mask, nullptr, 0, 0, 0, nullptr);
    plugin->init(&handle, 0, nullptr, nullptr, 0, 0, 0, nullptr);
    plugin->start_event(nullptr, nullptr, nullptr);
    plugin->start_event(nullptr, &handle, nullptr);

    for (uint64_t const number : {0ULL, 1ULL, 77ULL, ~0ULL}) {
      plugin->stop_event(reinterpret_cast<void*>(number));
      plugin->record_state(reinterpret_cast<void*>(number), kSendWait, nullptr);
    }
    plugin->finalize(nullptr);
    return 0;
  };

  EXPECT_EQ(in_child(misuse, with(kNewPlugin)), 0);
  EXPECT_THAT(calls(), IsEmpty());
}

}  // namespace
}  // namespace stepscope::tracer::nccl
