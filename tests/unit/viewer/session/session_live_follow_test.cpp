// The window with a run that is still being written, and with files that are cut, replaced and
// removed while they are shown.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "tests/unit/viewer/event_store/out_of_core/out_of_core_scenes.h"
#include "tests/unit/viewer/null_ui.h"
#include "tests/unit/viewer/scenes.h"
#include "trace/base/files/truncated_mmap.h"
#include "trace/file/writer.h"
#include "viewer/interaction/navigate.h"
#include "viewer/main_window/actions.h"
#include "viewer/queries/range_statistics.h"
#include "viewer/session/session.h"
#include "viewer/timeline/draw.h"

namespace stepscope::viewer {
namespace {

namespace fs = std::filesystem;

/// Writes a run as a recorder does: a reader can open the file at any time.
class Recorder {
 public:
  explicit Recorder(std::string const& path) {
    auto writer = file::TraceWriter::create(path);
    EXPECT_TRUE(writer);
    writer_.emplace(std::move(*writer));

    std::vector<std::string_view> const texts = {"forward", "backward"};
    EXPECT_TRUE(writer_->write_strings(1, texts));

    model::TraceInfo info;
    info.rank = 0;
    info.world_size = 1;
    info.process_id = 7;
    model::Device const device{.id = 0, .name = "device"};
    EXPECT_TRUE(writer_->write_description(info, std::span(&device, 1), {}));

    std::vector<model::Track> const tracks = {
        {.kind = model::TrackKind::kThread, .name = "main", .id = 1},
        {.kind = model::TrackKind::kStream, .name = "stream", .id = 7, .device = 0}};
    EXPECT_TRUE(writer_->write_tracks(model::TrackId{0}, tracks));
  }
  /// 100 ranges of a millisecond each, and a kernel in each.
  void record() {
    model::EventBatch host, stream;
    for (int i = 0; i < 100; ++i, time_ += 1'000'000) {
      host.add(model::EventKind::kRange, time_, 900'000, model::StringId{1}, 0);
      stream.add(model::EventKind::kKernel, time_ + 1'000, 500'000, model::StringId{2}, 0,
                 model::KernelDetail{});
    }
    EXPECT_TRUE(writer_->write_events(model::TrackId{0}, host));
    EXPECT_TRUE(writer_->write_events(model::TrackId{1}, stream));
  }
  void end() { EXPECT_TRUE(writer_->finish()); }

 private:
  std::optional<file::TraceWriter> writer_;
  int64_t time_ = 0;
};

class SessionFollowing : public testing::Test {
 protected:
  void SetUp() override {
    base::survive_cut_files();
    std::string name = (fs::temp_directory_path() / "stepscope-followed-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    recorder_.emplace(path());
    recorder_->record();
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return (folder_ / "rank-0.stepscope").string(); }
  static void draw(Session& session, int frames = 1) {
    for (int i = 0; i < frames; ++i) {
      ImGui::NewFrame();
      session.frame();
      ImGui::Render();
    }
    EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, 0);
  }
  void settle(Session& session) {
    session.set_clock([this] { return now_; });
    if (session.opening() != nullptr) session.opening()->finish();
    draw(session, 3);
    ASSERT_NE(session.scene(), nullptr);
  }
  /// Does what the idle window does each second, without the wait.
  void look(Session& session) {
    now_ += std::chrono::seconds(20);
    session.look_at_files();
    draw(session);
    if (session.rereading() != nullptr) session.rereading()->finish();
    draw(session, 2);
  }
  [[nodiscard]] Arguments arguments() const {
    Arguments result;
    result.runs = {folder_.string()};
    return result;
  }

  fs::path folder_;
  LiveFollowPolicy::Time now_ = LiveFollowPolicy::Clock::now();
  std::optional<Recorder> recorder_;
  NullUi ui_;
};

TEST_F(SessionFollowing, ShowsWhatIsWrittenAndSaysWhenItHasEnded) {
  Session session(arguments(), "");
  settle(session);
  EXPECT_EQ(session.scene()->events, 200U);
  EXPECT_EQ(session.following().recording(), Recording::kGoesOn);

  TimeWindow const before = session.state().window;
  recorder_->record();
  look(session);
  EXPECT_EQ(session.scene()->events, 400U);
  // The whole run was on the screen, and still is.
  EXPECT_GT(session.state().window.end, before.end * 1.9);
  EXPECT_EQ(session.following().recording(), Recording::kGoesOn);
  EXPECT_TRUE(session.error().empty());

  recorder_->end();
  look(session);
  EXPECT_EQ(session.following().recording(), Recording::kFinished);
  EXPECT_EQ(session.scene()->events, 400U);
}

TEST_F(SessionFollowing, WithoutChangeNothingIsReadAgainAndNothingIsDrawn) {
  Session session(arguments(), "");
  settle(session);
  Scene const* const shown = session.scene();
  EXPECT_TRUE(session.is_watching());

  // The background work of the first frames ends.
  for (int i = 0; i < 10'000 && session.is_busy(); ++i) draw(session);
  EXPECT_FALSE(session.is_busy());

  for (int i = 0; i < 5; ++i) {
    now_ += std::chrono::seconds(1);
    EXPECT_FALSE(session.look_at_files());
  }
  EXPECT_EQ(session.scene(), shown);
}

TEST_F(SessionFollowing, KeepsSelectionNotesAndWhatWasMarked) {
  Session session(arguments(), "");
  settle(session);

  // A person adds a note at the mouse and types its text.
  ui_.move(gutter() + 300, 300);
  draw(session, 2);
  ImGui::GetIO().AddInputCharacter('n');
  draw(session, 3);
  for (char const c : {'h', 'i'}) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(c));
    draw(session, 2);
  }
  ui_.hold(Key::kEnter, true);
  draw(session);
  ui_.hold(Key::kEnter, false);
  draw(session, 2);
  ASSERT_EQ(session.state().notes.size(), 1U);
  Note const note = session.state().notes.front();

  recorder_->record();
  look(session);
  ASSERT_EQ(session.scene()->events, 400U);
  ASSERT_EQ(session.state().notes.size(), 1U);
  EXPECT_EQ(session.state().notes.front(), note);
}

TEST_F(SessionFollowing, FollowsNothingWhereItIsSwitchedOff) {
  Session session(arguments(), "");
  settle(session);

  // File is the first menu; its lines are as high as the letters and the room between them.
  auto const line = std::find_if(
      all_actions().begin(), all_actions().end(),
      [](Action const& action) { return std::string_view(action.name).starts_with("Follow"); });
  float const y = 46 + 20 * static_cast<float>(line - all_actions().begin());
  for (auto const& [x, at] : {std::pair{24.0F, 20.0F}, std::pair{60.0F, y}})
    for (bool const down : {false, true, false}) {
      ui_.move(x, at);
      ui_.button(down);
      draw(session, 2);
    }
  ASSERT_FALSE(session.following().follows());

  recorder_->record();
  look(session);
  EXPECT_TRUE(session.following().has_more());
  EXPECT_EQ(session.scene()->events, 200U);
}

TEST_F(SessionFollowing, KeepsWhatWasReadOfAFileThatIsCut) {
  Session session(arguments(), "");
  settle(session);

  fs::resize_file(path(), 40);
  look(session);
  EXPECT_EQ(session.scene()->events, 200U);
  EXPECT_NE(session.following().notice().find("rank-0.stepscope became shorter"),
            std::string::npos);
  draw(session, 3);

  // No file is left to read.
  fs::remove(path());
  look(session);
  EXPECT_NE(session.following().notice().find("was removed"), std::string::npos);
  EXPECT_EQ(session.scene()->events, 200U);
}

TEST_F(SessionFollowing, ReadsAReplacedFileOnRequest) {
  Session session(arguments(), "");
  settle(session);

  // Write it under another name first: the renamed file has another inode for sure.
  std::string const beside = (folder_ / "next").string();
  Recorder again(beside);
  for (int i = 0; i < 3; ++i) again.record();
  again.end();
  fs::rename(beside, path());

  look(session);
  EXPECT_EQ(session.scene()->events, 200U);
  ASSERT_FALSE(session.following().notice().empty());

  // The notice below the top line has the button that reads the file again.
  for (float y = 50; y < 140 && session.rereading() == nullptr && session.scene()->events == 200;
       y += 4)
    for (bool const down : {false, false, true, false}) {
      ui_.move(380, y);
      ui_.button(down);
      draw(session);
    }

  look(session);
  EXPECT_EQ(session.scene()->events, 600U);
  EXPECT_TRUE(session.following().notice().empty());
}

TEST_F(SessionFollowing, ARunThatCannotBeReadAgainStays) {
  Session session(arguments(), "");
  settle(session);

  recorder_->record();
  now_ += std::chrono::seconds(20);
  session.look_at_files();

  // The file disappears between the look and the reading.
  fs::remove(path());
  draw(session);
  if (session.rereading() != nullptr) session.rereading()->finish();
  draw(session, 2);

  EXPECT_EQ(session.scene()->events, 200U);
  EXPECT_FALSE(session.following().notice().empty());
  EXPECT_TRUE(session.error().empty());
}

class CutOutOfCoreRun : public OutOfCoreTest {};

TEST_F(CutOutOfCoreRun, KeepsItsMarksAndNeverCrashes) {
  base::survive_cut_files();
  write(support::make_synthetic_run({.devices = 2, .steps = 24, .process_per_device = true}));
  auto const scene = open_out_of_core();
  ViewState state = initial_view(*scene);
  for (int rank : {0, 1}) fs::resize_file(path(rank), 2000);

  auto const length = static_cast<double>(scene->length);
  for (TimeWindow const window : {TimeWindow{0, length}, TimeWindow{length * 0.4, length * 0.41}}) {
    state.window = window;
    Layout const layout = settled(*scene, state, {700, 6000, 1});
    size_t with_marks = 0;
    for (Row const& row : layout.rows) with_marks += row.last_item > row.first_item ? 1 : 0;
    EXPECT_GT(with_marks, 4U);
  }

  static_cast<void>(find_hits(*scene, "kind:kernel"));
  static_cast<void>(range_statistics(*scene, {0, length}));

  OutOfCoreAnalysis analysis(scene->store->files());
  analysis.finish();
  auto const made = analysis.take();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("became shorter"), std::string::npos);

  NullUi ui;
  ui.frames(*scene, state, 3);
}

TEST_F(CutOutOfCoreRun, ReadsWhatIsLeft) {
  base::survive_cut_files();
  write(support::make_synthetic_run({.devices = 1, .steps = 24, .process_per_device = true}));
  auto const scene = open_out_of_core();

  // Another file gets the name; the open one stays whole.
  fs::remove(path(0));
  std::ofstream(path(0)) << "another";

  ViewState state = initial_view(*scene);
  auto const length = static_cast<double>(scene->length);
  state.window = {length * 0.4, length * 0.5};
  Layout const layout = settled(*scene, state, {700, 6000, 1});
  EXPECT_TRUE(std::any_of(layout.rows.begin(), layout.rows.end(),
                          [](Row const& row) { return row.has_events(); }));
  OutOfCoreAnalysis analysis(scene->store->files());
  analysis.finish();
  EXPECT_TRUE(analysis.take());
}

}  // namespace
}  // namespace stepscope::viewer
