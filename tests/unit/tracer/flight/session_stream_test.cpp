// A session that writes sums of each step: alone, or in addition to a ring.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/full_disk.h"
#include "tests/support/sanitized.h"
#include "tests/unit/tracer/session/session_fixture.h"
#include "trace/base/files/run_folder.h"
#include "trace/stream/stream_file.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SessionWithStream : public SessionOfParts {
 protected:
  SessionWithStream() { options.stream = true; }

  void step(int64_t index, std::string const& name = "forward") const {
    thread->push(step_args(index));
    thread->push(named(name));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    thread->pop(kDefaultDomain);
    thread->pop(kAnnotationDomain);
  }
  void steps(int64_t first, int64_t count) const {
    for (int64_t i = first; i < first + count; ++i) step(i);
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    std::error_code error;
    for (auto const& entry : fs::recursive_directory_iterator(folder, error))
      if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] std::string stream_path() const {
    std::error_code error;
    for (auto const& entry : fs::directory_iterator(folder / base::kStreamFolder, error))
      return entry.path().string();
    return {};
  }
  [[nodiscard]] stream::StreamRecords records() const {
    stream::GrowingStream file(stream_path());
    auto read = file.read_new(SIZE_MAX);
    EXPECT_TRUE(read.has_value());
    return read ? std::move(*read) : stream::StreamRecords();
  }
  /// The numbers of the steps, one after the other without a gap.
  static void expect_steps(stream::StreamRecords const& records, int64_t first, int64_t count) {
    int64_t next = first;
    for (stream::StepRecord const& record : records.steps) {
      EXPECT_EQ(record.step, next);
      next += record.steps;
    }
    EXPECT_EQ(next, first + count);
  }
};

TEST_F(SessionWithStream, AloneWritesNothingElse) {
  begin();
  allocate(1);
  steps(7, 100);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");
  EXPECT_EQ(session->report().path, stream_path());

  EXPECT_THAT(files(), SizeIs(1));
  stream::StreamRecords const read = records();
  expect_steps(read, 7, 100);
  EXPECT_TRUE(read.has_ended);
  EXPECT_EQ(read.damaged, 0U);
}

/// A program that is killed loses no more than the last seconds.
TEST_F(SessionWithStream, WritesStepsWhileTheProgramRuns) {
  begin();
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool has_steps = false;
  for (int64_t i = 0; !has_steps && std::chrono::steady_clock::now() < end; ++i) {
    step(i);
    has_steps = i % 100 == 0 && !stream_path().empty() && !records().steps.empty();
  }

  EXPECT_TRUE(has_steps);
  EXPECT_FALSE(records().has_ended);
  EXPECT_TRUE(session->stop());
}

TEST_F(SessionWithStream, HasARingInAddition) {
  options.ring.emplace();
  begin();
  steps(0, 60);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");

  expect_steps(records(), 0, 60);
  EXPECT_THAT(steps_of(read("ring-last")), SizeIs(60));
}

TEST_F(SessionWithStream, SaysWhyStepsAreMissingAndKeepsItsRing) {
  options.ring.emplace();
  std::ofstream(folder / base::kStreamFolder) << "in the way";
  begin();
  steps(0, 20);
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(session->message(), HasSubstr("steps are missing in the stream: "));
  EXPECT_THAT(session->message(), HasSubstr("cannot be made"));
  EXPECT_THAT(steps_of(read("ring-last")), SizeIs(20));
}

/// A disk that is full for a while.
TEST_F(SessionWithStream, MakesAFileWithAHeadOnceThereIsRoom) {
  std::optional<support::FullDisk> full(16);

  // Long enough for the first steps to be written, which fails.
  begin();
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  int64_t next = 0;
  for (; std::chrono::steady_clock::now() < end; ++next) step(next);
  full.reset();
  for (int64_t const last = next + 100; next < last; ++next) step(next);
  EXPECT_TRUE(session->stop());

  EXPECT_THAT(session->message(), HasSubstr("cannot be written"));
  stream::StreamRecords const read = records();
  EXPECT_TRUE(read.has_ended);
  ASSERT_FALSE(read.steps.empty());
  EXPECT_EQ(read.steps.back().step + read.steps.back().steps, next);
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(SessionWithStream, TwoProcessesOfOneRankHaveAFileEach) {
  options.rank = 3;
  begin();
  steps(0, 60);
  EXPECT_TRUE(session->stop());
  EXPECT_EQ(fs::path(session->report().path).filename(), "rank-3.steps");

  begin();
  steps(0, 60);
  EXPECT_TRUE(session->stop());
  EXPECT_THAT(fs::path(session->report().path).filename().string(), HasSubstr("rank-3-process-"));
  EXPECT_THAT(files(), SizeIs(2));
}

/// Names that a program makes up are no part of the stream, and must not fill its memory.
TEST_F(SessionWithStream, ForgetsNamesThatAreMadeUp) {
  options.buffer_bytes = size_t{1} << 30;
  begin();
  constexpr int64_t kSteps = 200;
  int64_t const names_of_step = support::kSanitized ? 100 : 3000;
  for (int64_t i = 0; i < kSteps; ++i) {
    thread->push(step_args(i));
    for (int64_t n = 0; n < names_of_step; ++n) {
      thread->push(named(fmt::format("range {} of step {}, and no other", n, i)));
      thread->pop(kDefaultDomain);
    }
    thread->pop(kAnnotationDomain);
    std::this_thread::sleep_for(std::chrono::milliseconds(support::kSanitized ? 10 : 2));
  }

  EXPECT_TRUE(session->stop());
  EXPECT_EQ(session->message(), "");
  expect_steps(records(), 0, kSteps);
}

TEST_F(SessionWithStream, AForkedProcessHasNone) {
  options.forked = true;
  session = std::make_unique<Session>(options);
  EXPECT_FALSE(session->start());
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace stepscope::tracer
