// What goes through the folder of requests comes out as it went in, and nothing else counts.
#include <fstream>
#include <random>
#include <string>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/unit/tracer/requests/run_with_requests.h"
#include "trace/base/host_name.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RequestMessages : public RunWithRequests {
 protected:
  [[nodiscard]] std::string path(std::string const& name) const {
    return requests_folder(run) + "/" + name;
  }
};

TEST_F(RequestMessages, ComeOutAsTheyWentIn) {
  Request const request{.id = "a\"b", .kind = Request::Kind::kWindow, .steps = {100, 104}};
  ASSERT_TRUE(write_request(run, request));
  EXPECT_EQ(read_request(run), request);
  Request const timed{.id = "t",
                      .kind = Request::Kind::kWindow,
                      .begin_epoch_ns = 1'795'867'200'000'000'000,
                      .end_epoch_ns = 1'795'867'201'000'000'000};
  EXPECT_EQ(parse_request(to_text(timed)), timed);
  Request backwards = timed;
  backwards.end_epoch_ns = timed.begin_epoch_ns;
  EXPECT_FALSE(parse_request(to_text(backwards)));

  ProcessState state = process(3, 1234);
  state.process_ids = 4026531836;
  state.command = "python3 \x01 train.py";
  state.phase = ProcessState::Phase::kRecording;
  state.window = {100, 104};
  state.written = 7;
  state.file = "run/steps-1-2/rank-3.stepscope";
  state.problem = "the disk is full";
  state.request = "a\"b";
  state.answer = ProcessState::Answer::kTooLate;
  state.failed = 2;
  state.ring = "y";
  put(state);
  EXPECT_THAT(read_process_states(run), ElementsAre(state));
}

TEST_F(RequestMessages, AskForRings) {
  Request const request{.id = "x",
                        .kind = Request::Kind::kRing,
                        .steps = {106, INT64_MAX},
                        .ring = "ring-152-2",
                        .reason = "step 152 took \"1.06 s\""};
  ASSERT_TRUE(write_request(run, request));
  EXPECT_EQ(read_ring_request(run), request);
  EXPECT_FALSE(read_request(run)) << "others are not disturbed";

  for (char const* const name : {"ring-152", "ring-last", "ring-at-20261128-120000"})
    EXPECT_TRUE(is_ring_name(name)) << name;
  for (std::string const& name :
       {std::string(), std::string("ring-"), std::string("ring-../../x"), std::string("ring-a b"),
        std::string("steps-1-2"), std::string("/ring-1"), std::string("ring-1/"),
        std::string("ring-\xc3\xa9"), "ring-" + std::string(100, '1')}) {
    EXPECT_FALSE(is_ring_name(name)) << name;
    Request other = request;
    other.ring = name;
    EXPECT_FALSE(parse_request(to_text(other))) << name;
  }
}

TEST_F(RequestMessages, AreListedByRank) {
  for (int32_t const rank : {10, 2, 0}) put(process(rank, 5, 11));
  std::vector<int32_t> ranks;
  for (ProcessState const& state : read_process_states(run)) ranks.push_back(state.rank);
  EXPECT_THAT(ranks, ElementsAre(0, 2, 10));
}

TEST_F(RequestMessages, OfAnotherVersionAreKnownAsSuch) {
  auto const request = parse_request(R"({"version": 7, "id": "x", "wish": []})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->version, 7);
  EXPECT_EQ(request->id, "x");

  auto const state = parse_process_state(R"({"version": 7, "host": "node", "process_id": 12})");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->version, 7);
  EXPECT_EQ(state->process_id, 12);
}

TEST_F(RequestMessages, ThatAreNoneAreLeftOut) {
  for (char const* const text :
       {"", "[]", "null", "{", R"({"version": 3})", R"({"version": "1", "id": "x"})",
        R"({"version": 3, "id": "x", "kind": "window", "first_step": 5, "last_step": 4})",
        R"({"version": 3, "id": "x", "kind": "window", "first_step": -5, "last_step": 4})",
        R"({"version": 3, "id": "x", "kind": "window", "first_step": 5, "last_step": 1e30})",
        R"({"version": 3, "id": "x", "kind": "window", "first_step": 5,
            "last_step": 18446744073709551615})",
        R"({"version": 3, "id": "x", "kind": "dance", "first_step": 5, "last_step": 6})",
        R"({"version": 4294967297, "id": "x", "kind": "stop", "first_step": 5, "last_step": 6})"})
    EXPECT_FALSE(parse_request(text)) << text;

  EXPECT_FALSE(parse_process_state(R"({"version": 3, "host": "node", "process_id": 12})"));
}

/// Damaged text is no message, or another one.
TEST_F(RequestMessages, WithAnyByteChangedEndNothing) {
  std::string const request = to_text(Request{.id = "abc", .kind = Request::Kind::kStop});
  std::string const state = to_text(process(1, 7));
  std::minstd_rand random(1);

  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? request : state;
    for (int change = 0; change < 3; ++change)
      text[random() % text.size()] = static_cast<char>(random());
    static_cast<void>(parse_request(text));
    auto const parsed = parse_process_state(text);
    EXPECT_TRUE(!parsed || parsed->step_ns >= 0) << text;
  }
}

TEST_F(RequestMessages, BehindLinksOrTooLargeOrNoFilesDoNotCount) {
  Request const request{.id = "x", .kind = Request::Kind::kStop};
  std::ofstream(run + "/elsewhere") << to_text(request);
  fs::create_symlink(run + "/elsewhere", path("request.json"));
  EXPECT_FALSE(read_request(run));
  fs::remove(path("request.json"));

  std::ofstream(path("request.json")) << std::string(100'000, ' ') << to_text(request);
  EXPECT_FALSE(read_request(run));
  fs::remove(path("request.json"));

  ASSERT_EQ(::mkfifo(path("request.json").c_str(), 0600), 0);
  EXPECT_FALSE(read_request(run)) << "and does not wait for a writer";
  fs::remove(path("request.json"));

  fs::create_directory(path("a.process.json"));
  std::ofstream(path("notes.txt")) << "mine";
  EXPECT_THAT(read_process_states(run), IsEmpty());
}

TEST_F(RequestMessages, OfAnotherUserDoNotCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  constexpr uid_t kNobody = 65534;
  ASSERT_TRUE(write_request(run, {.id = "x", .kind = Request::Kind::kStop, .steps = {0, 0}}));
  put(process(0, 1));
  ASSERT_TRUE(read_request(run));

  for (auto const& file : fs::directory_iterator(requests_folder(run)))
    ASSERT_EQ(::chown(file.path().c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(read_request(run));
  EXPECT_THAT(read_process_states(run), IsEmpty());
  EXPECT_EQ(foreign_process_files(run), 1U);

  ASSERT_TRUE(has_requests_folder(run));
  ASSERT_EQ(::chown(requests_folder(run).c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(has_requests_folder(run));
}

TEST_F(RequestMessages, AreWrittenOverNoFileBehindALink) {
  std::ofstream(run + "/elsewhere") << "mine";
  std::string const beside =
      fmt::format(".request.json.{}-{}-{}.new", base::host_name(), own_process_ids(), ::getpid());
  fs::create_symlink(run + "/elsewhere", path(beside));
  EXPECT_TRUE(write_request(run, {.id = "x"}));
  fs::create_hard_link(run + "/elsewhere", path(beside));
  EXPECT_TRUE(write_request(run, {.id = "y"}));

  std::ifstream file(run + "/elsewhere");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "mine");
}

TEST_F(RequestMessages, CannotBeWrittenToAFolderThatIsGone) {
  fs::remove_all(requests_folder(run));
  auto const written = write_request(run, {.id = "x"});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, ::testing::HasSubstr("requests cannot reach the run"));
  EXPECT_FALSE(read_request(run));
}

TEST_F(RequestMessages, OfAnEarlierRunAreForgotten) {
  for (int32_t const rank : {0, 1}) put(process(rank, 5));
  ASSERT_TRUE(write_request(run, {.id = "x"}));
  std::ofstream(path("notes.txt")) << "mine";

  forget_processes(run, 1);
  ASSERT_EQ(read_process_states(run).size(), 1U);
  EXPECT_EQ(read_process_states(run).front().rank, 0);
  EXPECT_TRUE(read_request(run));

  forget_processes(run, {});
  EXPECT_THAT(read_process_states(run), IsEmpty());
  EXPECT_FALSE(read_request(run));
  EXPECT_TRUE(fs::exists(path("notes.txt")));
}

TEST_F(RequestMessages, OfTheDeadOfThisMachineAreForgotten) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ProcessState dead = process(0, 5), elsewhere = process(1, 5), contained = process(2, 5);
  for (ProcessState* const one : {&dead, &contained}) one->host = base::host_name();
  for (ProcessState* const one : {&dead, &elsewhere}) one->process_ids = own_process_ids();
  contained.process_ids = own_process_ids() + 1;

  ProcessState alive = dead;
  alive.rank = 3;
  alive.process_id = ::getpid();
  for (ProcessState* const one : {&dead, &elsewhere, &contained}) one->process_id = child;
  for (ProcessState const& one : {dead, elsewhere, contained, alive}) put(one);

  forget_dead_processes(run);
  std::vector<int32_t> ranks;
  for (ProcessState const& state : read_process_states(run)) ranks.push_back(state.rank);
  EXPECT_THAT(ranks, ElementsAre(1, 2, 3));
}

/// A host's name is no path.
TEST_F(RequestMessages, HaveNamesWithinTheFolder) {
  ProcessState state = process(0, 1);
  state.host = "../../x y";
  state.process_ids = 7;
  EXPECT_EQ(state_file_name(state), "______x_y-7-1000.process.json");
}

/// As in a container whose first process waits for no child.
TEST(IsAlive, EndsWithTheProcessThoughItsParentDoesNotWait) {
  EXPECT_TRUE(is_alive(::getpid()));
  pid_t const child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);

  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(::kill(child, 0), 0) << "the system still has it";
  EXPECT_FALSE(is_alive(child));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_alive(child));
}

}  // namespace
}  // namespace stepscope::tracer
