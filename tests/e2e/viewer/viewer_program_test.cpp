// The viewer program on a real file: pictures with OpenGL under Xvfb and without any display, and
// its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stb_image.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/paths.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/live/made_records.h"
#include "trace/file/writer.h"
#include "trace/stream/stream_file.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string output;
};

Outcome shell(std::string const& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) outcome.output += buffer.data();
  int const status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::string const kViewer = support::build_path("bin/stepscope-viewer");
/// No display of any kind: the picture is drawn without OpenGL.
std::string const kNoDisplay = "env -u DISPLAY -u WAYLAND_DISPLAY ";

struct Pixels {
  int width = 0, height = 0;
  std::unique_ptr<stbi_uc, decltype(&std::free)> data{nullptr, &std::free};
};

Pixels load(std::string const& path) {
  Pixels pixels;
  int channels = 0;
  pixels.data.reset(stbi_load(path.c_str(), &pixels.width, &pixels.height, &channels, 3));
  return pixels;
}

size_t count_colours(Pixels const& pixels) {
  std::set<uint32_t> colours;
  for (size_t i = 0; i < static_cast<size_t>(pixels.width) * static_cast<size_t>(pixels.height);
       ++i) {
    stbi_uc const* p = pixels.data.get() + 3 * i;
    colours.insert(static_cast<uint32_t>(p[0]) << 16U | static_cast<uint32_t>(p[1]) << 8U | p[2]);
  }
  return colours.size();
}

class ViewerProgram : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope-viewer-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;

    auto const run =
        support::make_synthetic_run({.devices = 2, .steps = 10, .process_per_device = true});
    fs::create_directory(folder_ / "run");
    for (size_t rank = 0; rank < run.ranks.size(); ++rank)
      ASSERT_TRUE(file::write_trace(
          run.ranks[rank].trace,
          (folder_ / "run" / ("rank" + std::to_string(rank) + ".stepscope")).string()));
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string run() const { return (folder_ / "run").string(); }
  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }

  fs::path folder_;
};

TEST_F(ViewerProgram, DrawsAPictureWithoutADisplay) {
  auto const outcome =
      shell(kNoDisplay + kViewer + " " + run() + " --size 1000x700 --screenshot " + path("a.png"));
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  Pixels const picture = load(path("a.png"));
  EXPECT_EQ(picture.width, 1000);
  EXPECT_EQ(picture.height, 700);
  EXPECT_GT(count_colours(picture), 100U);
}

TEST_F(ViewerProgram, DrawsTheSamePictureWithOpenGlAndWithoutADisplay) {
  if (shell("command -v xvfb-run").status != 0)
    GTEST_SKIP() << "xvfb-run is not installed (apt install xvfb)";

  std::string const view =
      kViewer + " " + run() + " --size 1000x700 --time 20ms:60ms --select all_reduce --screenshot ";
  // It looks for a free display from here on. Two that begin with the same one could both take it.
  std::string const display = std::to_string(100 + ::getpid() % 30'000);
  auto const with = shell("xvfb-run -a -n " + display + " " + view + path("gl.png"));
  ASSERT_EQ(with.status, 0) << with.output;
  auto const without = shell(kNoDisplay + view + path("plain.png"));
  ASSERT_EQ(without.status, 0) << without.output;

  Pixels const a = load(path("gl.png"));
  Pixels const b = load(path("plain.png"));
  ASSERT_EQ(a.width, 1000);
  ASSERT_EQ(a.height, 700);
  ASSERT_EQ(b.width, a.width);
  EXPECT_GT(count_colours(a), 100U);

  // Filters of text differ by a little; shapes and places must not.
  size_t different = 0;
  size_t const count = 3U * 1000 * 700;
  for (size_t i = 0; i < count; ++i)
    different += std::abs(a.data.get()[i] - b.data.get()[i]) > 40 ? 1U : 0U;
  EXPECT_LT(different, count / 200);
}

TEST_F(ViewerProgram, DrawsEveryPanelInBothThemes) {
  for (char const* panel : {"findings", "details", "statistics", "kernels", "communication", "path",
                            "flames", "memory", "run", "what-if"})
    for (char const* theme : {"dark", "light"}) {
      std::string const picture = path(std::string(panel) + theme + ".png");
      auto const outcome = shell(kNoDisplay + kViewer + " " + run() + " --size 800x600 --panel " +
                                 panel + " --theme " + theme + " --screenshot " + picture);
      ASSERT_EQ(outcome.status, 0) << outcome.output;
      EXPECT_GT(count_colours(load(picture)), 50U);
    }
}

/// Steps and their parts are drawn; there are no kernels to draw.
TEST_F(ViewerProgram, DrawsAStream) {
  fs::create_directories(folder_ / "stream");
  for (int rank = 0; rank < 2; ++rank) {
    model::TraceInfo info;
    info.rank = rank;
    info.process_id = 100 + rank;
    info.origin_epoch_ns = 1;
    std::vector<std::byte> bytes = stream::encode_header(info);
    for (int64_t step = 0; step < 20; ++step)
      stream::encode(support::made_record(step, rank * 10'000'000), bytes);
    std::ofstream(path(fmt::format("stream/process-{}.steps", info.process_id)), std::ios::binary)
        .write(reinterpret_cast<char const*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  for (std::string const& run : {path("stream"), path("stream/process-100.steps")}) {
    auto const outcome = shell(kNoDisplay + kViewer + " " + run + " --size 1000x700 --screenshot " +
                               path("stream.png"));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_GT(count_colours(load(path("stream.png"))), 100U);
  }
}

TEST_F(ViewerProgram, DrawsRunsOfDifferentSizesAsASeries) {
  auto const one =
      support::make_synthetic_run({.devices = 1, .steps = 10, .process_per_device = true});
  fs::create_directory(path("one"));
  ASSERT_TRUE(file::write_trace(one.ranks[0].trace, path("one/rank0.stepscope")));

  // The folder that holds both, or both named.
  for (std::string const& paths : {folder_.string(), path("one") + " " + run()}) {
    auto const outcome = shell(kNoDisplay + kViewer + " " + paths +
                               " --size 1200x800 --screenshot " + path("series.png"));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_GT(count_colours(load(path("series.png"))), 100U);
  }

  for (char const* panel : {"launches", "phases", "devices", "scaling"}) {
    auto const outcome = shell(kNoDisplay + kViewer + " " + folder_.string() +
                               " --devices 1 --size 800x600 --theme light --panel " + panel +
                               " --screenshot " + path("panel.png"));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_GT(count_colours(load(path("panel.png"))), 50U);
  }

  auto const missing =
      shell(kViewer + " " + folder_.string() + " --devices 7 --screenshot " + path("none.png"));
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.output, testing::HasSubstr("they are on 1, 2"));
}

TEST_F(ViewerProgram, DrawsTwoRunsAboveEachOther) {
  auto const slow = support::make_synthetic_run(
      {.devices = 2, .steps = 10, .process_per_device = true, .forward_ns = 1'500'000});
  fs::create_directory(path("slow"));
  for (size_t rank = 0; rank < slow.ranks.size(); ++rank)
    ASSERT_TRUE(file::write_trace(slow.ranks[rank].trace,
                                  path("slow/rank" + std::to_string(rank) + ".stepscope")));

  std::string const view = kNoDisplay + kViewer + " " + run() + " --size 1200x800";
  for (char const* theme : {"dark", "light"}) {
    auto const outcome = shell(view + " --vs " + path("slow") + " --theme " + theme +
                               " --screenshot " + path("pair.png"));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_GT(count_colours(load(path("pair.png"))), 100U);
  }

  // Not the picture of the base alone.
  ASSERT_EQ(shell(view + " --theme light --screenshot " + path("alone.png")).status, 0);
  Pixels const pair = load(path("pair.png"));
  Pixels const alone = load(path("alone.png"));
  EXPECT_FALSE(std::equal(pair.data.get(), pair.data.get() + 3U * 1200 * 800, alone.data.get()));
}

TEST_F(ViewerProgram, DrawsThePredictedTimelineUnderTheRecordedOne) {
  std::string const view = kNoDisplay + kViewer + " " + run() + " --size 1400x900";
  for (char const* theme : {"dark", "light"}) {
    auto const outcome =
        shell(view + " --panel what-if --change input=0 --change class:compute=/2" + " --theme " +
              theme + " --screenshot " + path("predicted.png"));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_GT(count_colours(load(path("predicted.png"))), 100U);
  }

  // Not the picture without a change: the timeline above the panel differs, too.
  ASSERT_EQ(
      shell(view + " --panel what-if --theme light --screenshot " + path("unasked.png")).status, 0);
  Pixels const with = load(path("predicted.png"));
  Pixels const without = load(path("unasked.png"));
  size_t const timeline = 3U * 1400 * 600;
  EXPECT_FALSE(std::equal(with.data.get(), with.data.get() + timeline, without.data.get()));
}

TEST_F(ViewerProgram, SaysWhatToDoWhenThereIsNoDisplayForAWindow) {
  auto const outcome = shell(kNoDisplay + kViewer + " " + run());
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, testing::StartsWith("stepscope: no display"));
  EXPECT_THAT(outcome.output, testing::HasSubstr("--screenshot"));
}

TEST_F(ViewerProgram, RefusesWrongUseWithStatus2) {
  std::string const picture = " --screenshot " + path("x.png");
  for (std::string const& arguments :
       {std::string(), run() + picture + " --size 1x1", run() + picture + " --time five:six",
        run() + picture + " --panel nothing", run() + picture + " --theme blue",
        run() + picture + " --select 'no such event'", run() + " --unknown",
        path("not there") + picture, run() + " --screenshot " + path("no/such/folder.png"),
        run() + picture + " --vs " + path("not there"), "--vs " + run() + picture, "--vs " + run(),
        run() + picture + " --panel comparison", run() + picture + " --change inputs=0",
        run() + picture + " --change 'kernel:(=/2'"}) {
    auto const outcome = shell(kNoDisplay + kViewer + " " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.output;
    EXPECT_FALSE(outcome.output.empty()) << arguments;
  }

  EXPECT_FALSE(fs::exists(path("x.png")));
}

TEST_F(ViewerProgram, ShowsTheHelpOnRequest) {
  auto const outcome = shell(kViewer + " --help");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, testing::HasSubstr("--screenshot"));
}

}  // namespace
}  // namespace stepscope
