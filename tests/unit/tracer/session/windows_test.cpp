// A session of several windows: a whole file for each, with what it needs of the time before.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/tracer/session/session_fixture.h"
#include "trace/base/files/run_folder.h"
#include "tracer/api/annotate.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

class SessionOfWindows : public SessionOfParts {
 protected:
  SessionOfWindows() {
    options.window.steps = StepRange{1, 2};
    options.window.later_steps = {{5, 6}, {8, 8}};
  }
  void step(int64_t index) const {
    thread->push(step_args(index));
    thread->push(named("forward"));
    thread->pop(kDefaultDomain);
    thread->pop(kAnnotationDomain);
  }
  /// As a program whose steps are longer than the file of a window takes to write.
  void wait_for_window(int64_t first_step) const {
    while (session->window().steps().first != first_step ||
           session->window().mode() != CaptureMode::kBaseline)
      std::this_thread::yield();
  }
  void wait_for_end() const {
    while (session->window().mode() != CaptureMode::kStopped) std::this_thread::yield();
  }
  [[nodiscard]] static std::map<std::string, int> names_of(model::Trace const& trace) {
    std::map<std::string, int> names;
    for (uint32_t row = 0; row < trace.event_count(); ++row) ++names[std::string(trace.name(row))];
    return names;
  }
  /// Addresses, by replaying the calls in their order; each free has its allocation.
  [[nodiscard]] static std::set<uint64_t> live_at_the_end_of(model::Trace const& trace) {
    std::set<uint64_t> live;

    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      if (trace.kind(row) != model::EventKind::kMemory) continue;
      auto const& call = trace.detail<model::MemoryDetail>(row);
      if (call.op == model::MemoryOp::kAllocate)
        live.insert(call.address);
      else
        EXPECT_EQ(live.erase(call.address), 1U) << call.address;
    }

    return live;
  }
};

TEST_F(SessionOfWindows, has_a_whole_file_for_each) {
  begin();
  for (int64_t i = 0; i < 3; ++i) step(i);
  wait_for_window(5);
  for (int64_t i = 3; i < 7; ++i) step(i);
  wait_for_window(8);
  for (int64_t i = 7; i < 9; ++i) step(i);
  wait_for_end();
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");
  EXPECT_EQ(session->report().events, 10U);

  EXPECT_EQ(base::windows_in(folder.string()).size(), 3U);
  EXPECT_EQ(steps_of(read("steps-1-2")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(steps_of(read("steps-5-6")), (std::vector<int64_t>{5, 6}));
  model::Trace const last = read("steps-8-8");
  EXPECT_EQ(steps_of(last), (std::vector<int64_t>{8}));
  EXPECT_EQ(names_of(last), (std::map<std::string, int>{{"step", 1}, {"forward", 1}}));

  auto const& facts = last.info().facts;
  EXPECT_EQ(std::count(facts.begin(), facts.end(),
                       std::pair<std::string, std::string>("recorded steps", "8:8")),
            1);
  EXPECT_EQ(std::count_if(facts.begin(), facts.end(),
                          [](auto const& fact) { return fact.first == "recorded steps"; }),
            1);
}

TEST_F(SessionOfWindows, begins_each_with_what_is_allocated) {
  begin();
  allocate(1);
  allocate(2);
  step(0);
  step(1);
  allocate(3);
  allocate(2, api::MemoryOp::kFree);
  step(2);
  wait_for_window(5);

  allocate(4);
  allocate(1, api::MemoryOp::kFree);
  step(5);
  step(6);
  wait_for_window(8);
  EXPECT_TRUE(session->stop());

  // What is freed while a window opens may be in its file, with where it was allocated.
  EXPECT_EQ(live_at_the_end_of(read("steps-1-2")), (std::set<uint64_t>{1, 3}));
  EXPECT_EQ(live_at_the_end_of(read("steps-5-6")), (std::set<uint64_t>{3, 4}));
}

TEST_F(SessionOfWindows, ends_ranges_with_the_window_that_they_began_in) {
  begin();
  step(0);
  thread->push(step_args(1));
  thread->push(named("across"));
  EventArgs category = named("weights", kAnnotationDomain);
  category.category = static_cast<uint32_t>(api::AnnotationCategory::kMemory);
  thread->push(category);
  thread->pop(kAnnotationDomain);
  thread->pop(kAnnotationDomain);
  step(2);
  wait_for_window(5);

  step(5);
  thread->push(named("inside"));
  thread->pop(kDefaultDomain);
  thread->pop(kDefaultDomain);  // of the range that the first file ended
  step(6);
  wait_for_window(8);
  EXPECT_TRUE(session->stop());

  EXPECT_EQ(names_of(read("steps-1-2"))["across"], 1);
  auto second = names_of(read("steps-5-6"));
  EXPECT_EQ(second["across"], 0);
  EXPECT_EQ(second["step"], 2);
}

TEST_F(SessionOfWindows, goes_on_where_steps_jump) {
  begin();
  step(7);  // of a program that goes on from a checkpoint
  wait_for_window(8);
  step(8);
  wait_for_end();
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(base::windows_in(folder.string()).size(), 1U);
  EXPECT_EQ(steps_of(read("steps-8-8")), (std::vector<int64_t>{8}));
}

TEST_F(SessionOfWindows, that_ends_in_the_midst_of_one_has_it_as_far_as_it_came) {
  begin();
  step(0);
  step(1);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(base::windows_in(folder.string()).size(), 1U);
  EXPECT_EQ(steps_of(read("steps-1-2")), (std::vector<int64_t>{1}));
}

TEST_F(SessionOfWindows, that_ends_before_the_first_shows_that_it_was_recorded) {
  begin();
  step(0);
  model::Trace const trace = stop_and_read();
  EXPECT_EQ(fs::path(session->report().path).parent_path(), folder);
  EXPECT_TRUE(base::windows_in(folder.string()).empty());
  auto const& facts = trace.info().facts;
  EXPECT_TRUE(std::any_of(facts.begin(), facts.end(),
                          [](auto const& fact) { return fact.first == kNeverBeganFact; }));
}

TEST_F(SessionOfWindows, says_what_was_lost_in_the_file_of_its_window) {
  options.buffer_bytes = 1 << 20;
  options.window.steps = StepRange{1, 1};
  begin();
  step(0);
  thread->push(step_args(1));
  while (thread->dropped() == 0) thread->mark(named("flood"));
  uint64_t const dropped = thread->dropped();
  thread->pop(kAnnotationDomain);
  wait_for_window(5);

  step(5);
  step(6);
  wait_for_window(8);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(read("steps-1-1").log().dropped, dropped);
  EXPECT_EQ(read("steps-5-6").log().dropped, 0U);
}

TEST_F(SessionOfWindows, whose_folder_is_gone_says_so_and_lets_the_program_go_on) {
  begin();
  for (int64_t i = 0; i < 3; ++i) step(i);
  wait_for_window(5);
  fs::remove_all(folder);
  step(5);
  wait_for_end();

  step(6);
  EXPECT_TRUE(session->stop());
  EXPECT_NE(session->report().failure, "");
  EXPECT_NE(session->message(), "");
}

class SessionOfCodeWindows : public SessionOfWindows {
 protected:
  SessionOfCodeWindows() {
    options.window = {};
    options.window.from_code = options.window.code_repeats = true;
  }
};

TEST_F(SessionOfCodeWindows, has_a_whole_file_for_each_that_the_program_opens) {
  begin();
  step(0);
  for (int64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(session->window().open_from_code());
    step(10 * i);
    thread->push(named("open"));
    EXPECT_TRUE(session->close_window(std::chrono::seconds(30)));
    thread->pop(kDefaultDomain);
    step(10 * i + 1);
  }
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");

  EXPECT_EQ(base::windows_in(folder.string()).size(), 3U);
  for (int64_t i = 1; i <= 3; ++i) {
    model::Trace const trace = read("window-" + std::to_string(i));
    EXPECT_EQ(steps_of(trace), std::vector<int64_t>{10 * i});
    EXPECT_EQ(names_of(trace)["open"], 1) << "it ends with its window";
    EXPECT_EQ(trace.event_count(), 3U);
  }
}

TEST_F(SessionOfCodeWindows, says_that_one_was_too_short_to_be_recorded) {
  begin();
  EXPECT_TRUE(session->window().open_from_code());
  step(1);
  session->window().close_from_code();
  EXPECT_TRUE(session->window().open_from_code());
  session->window().close_from_code();
  EXPECT_TRUE(session->close_window(std::chrono::seconds(30)));
  EXPECT_TRUE(session->stop());

  auto const notes = read("window-1").log().notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](std::string const& note) {
    return note.find("1 windows of the program are missing") != std::string::npos;
  }));
}

}  // namespace
}  // namespace stepscope::tracer
