// What a team shares: how files are divided, who answers, and what happens when a helper is gone or
// sees other files. Programs are played by threads.
#include "run_loading/team/team.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/analyze.h"
#include "run_loading/analyzed_files.h"
#include "run_loading/team/cores.h"
#include "run_loading/team/helper.h"
#include "run_loading/team/team_files.h"
#include "tests/support/fake_mpi.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/writer.h"

namespace stepscope::run_loading {
namespace {

using mpi::Processes;
using mpi::testing::as_processes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kLong{60'000}, kShort{300};

TEST(DividedWork, OwnersGetTheSameButTheFirstTakesInAnswers) {
  std::vector<uint64_t> const sizes(300, 1'000);
  std::vector<uint32_t> const owners = divide(sizes, {300, {0, 1, 2}}, 3);
  std::array<int64_t, 3> count = {};
  for (uint32_t const owner : owners) ++count.at(owner);
  EXPECT_THAT(count, ElementsAre(84, 108, 108));
}

TEST(DividedWork, TheFirstOfManyOwnersOnlyTakesInAnswers) {
  std::vector<uint32_t> candidates(32);
  std::iota(candidates.begin(), candidates.end(), 0U);
  std::vector<uint32_t> const owners =
      divide(std::vector<uint64_t>(64, 1'000), {64, candidates}, 32);
  EXPECT_THAT(owners, ::testing::Each(::testing::Gt(0U)));
}

TEST(DividedWork, OnlyWhoSeesAFileGetsIt) {
  EXPECT_THAT(divide({5, 5, 5, 5}, {{1}, {0}, {1}, {2}}, 4), ElementsAre(1, 0, 1, 2));
  EXPECT_THAT(divide({}, {}, 4), ElementsAre());
}

TEST(DividedWork, LargeFilesGoFirst) {
  std::vector<uint32_t> const owners = divide({1, 100, 1, 100, 1}, {5, {0, 1}}, 2);
  EXPECT_NE(owners[1], owners[3]);
}

TEST(SharedCores, ProcessesOfOneMachineHaveTheirOwnAndTogetherAll) {
  std::vector<std::string> const all = {"n1 0 1", "n1 2 3", "n2 0 1 2 3"};
  CoreShare const first = share_of_cores(all, 0);
  EXPECT_EQ(first.own, 2U);
  EXPECT_THAT(first.of_machine, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(share_of_cores(all, 2).own, 4U);
}

TEST(SharedCores, ProcessesWithTheSameCoresShareThem) {
  std::vector<std::string> const all = {"n1 0 1 2 3", "n1 0 1 2 3", "n1 4", "n2 0 1 2 3"};
  EXPECT_EQ(share_of_cores(all, 0).own, 2U);
  EXPECT_EQ(share_of_cores(all, 2).own, 1U);
  EXPECT_EQ(share_of_cores(all, 3).own, 4U);
  EXPECT_EQ(share_of_cores({"n1 0", "n1 0", "n1 0"}, 1).own, 1U) << "more processes than cores";
  EXPECT_EQ(share_of_cores({"n1", "n1"}, 0).own, 1U) << "the system does not tell";
}

TEST(SharedCores, AThreadUsesTheCoresItMay) {
  std::thread([] {
    std::string const before = cores_of_process();
    CoreShare const all = share_of_cores({before}, 0);
    if (all.of_machine.empty()) return;
    use_cores({*all.of_machine.begin()});
    EXPECT_EQ(share_of_cores({cores_of_process()}, 0).of_machine,
              std::set<int>({*all.of_machine.begin()}));

    use_cores(all.of_machine);
    EXPECT_EQ(cores_of_process(), before);
    use_cores({});
    EXPECT_EQ(cores_of_process(), before) << "no cores are none to run on";
  }).join();
}

TEST(TeamOfPrograms, DoesTheWorkOfASlowHelperHere) {
  constexpr size_t kItems = 60, kLeast = 20;
  std::atomic<size_t> here = 0;
  as_processes(2, kLong, [&](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() > 0) {
      EXPECT_TRUE(serve(*processes, [&](std::string_view) {
        while (here < kLeast) std::this_thread::yield();
        return std::string("there");
      }));
      return;
    }

    Team team(processes, 1);
    std::vector<std::atomic<int>> done(kItems);
    auto const there = [&](size_t i) {
      EXPECT_EQ(team.ask(1, "?").value_or(""), "there");
      ++done[i];
    };
    auto const work_here = [&](size_t i) {
      ++done[i];
      ++here;
    };
    team.spread(std::vector<uint32_t>(kItems, 1), there, work_here);

    for (auto const& times : done) EXPECT_EQ(times, 1);
    EXPECT_LT(here, kItems) << "the helper does its last items";
  });
}

TEST(TeamOfPrograms, AsksManyQuestionsAtOnceAndEachGetsItsAnswer) {
  as_processes(3, kLong, [](std::shared_ptr<Processes> const& processes) {
    uint32_t const rank = processes->rank();
    if (rank > 0) {
      auto const answer = [rank](std::string_view question) -> base::Expected<std::string> {
        if (question == "9") return base::fail("nine is too many");
        return fmt::format("{} of {}", question, rank);
      };
      EXPECT_TRUE(serve(*processes, answer));
      return;
    }

    Team team(processes, 1);
    std::vector<uint32_t> owners;
    for (uint32_t i = 0; i < 60; ++i) owners.push_back(i % 3);
    std::vector<std::string> answers(owners.size());
    team.spread(owners, [&](size_t i) {
      auto const answer = owners[i] == 0 ? base::Expected<std::string>(fmt::format("{} of 0", i))
                                         : team.ask(owners[i], std::to_string(i));
      answers[i] = answer ? *answer : answer.error().message;
    });

    std::vector<std::string> expected;
    for (size_t i = 0; i < owners.size(); ++i)
      expected.push_back(i == 9 ? "9 of 0" : fmt::format("{} of {}", i, owners[i]));
    EXPECT_EQ(answers, expected);
    EXPECT_EQ(team.ask(2, "9").error().message, "nine is too many");
  });
}

TEST(TeamOfPrograms, AHelperWorksOnOneQuestionACoreAndNotOnThoseThatWait) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() > 0) {
      std::atomic<size_t> at_work = 0, most = 0;
      EXPECT_TRUE(serve(*processes, [&](std::string_view) {
        size_t const now = ++at_work;
        for (size_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the others' time to come
        --at_work;
        return std::string("done");
      }));
      EXPECT_LE(most, analyzer::processes_at_once());
      return;
    }

    Team team(processes, 1);
    std::vector<uint32_t> const owners(40, 1);
    team.spread(owners, [&](size_t) { EXPECT_TRUE(team.ask(1, "what?")); });
  });
}

TEST(TeamOfPrograms, SaysWhoDoesNotAnswerAnyMore) {
  as_processes(3, kShort, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() == 2) {
      // Meets the others, and says nothing ever after.
      processes->all_gather("2");
      char nothing = 0;
      EXPECT_FALSE(processes->receive(0, 9'999, &nothing, 1));
      return;
    }
    if (processes->rank() == 1) {
      auto const served = serve(*processes, [](std::string_view) { return std::string("fine"); });
      EXPECT_FALSE(served);
      return;
    }

    Team team(processes, 1);
    EXPECT_EQ(team.ask(1, "?").value_or(""), "fine");
    auto const answer = team.ask(2, "?");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("rank 2"));
    EXPECT_THAT(team.failure().value_or(""), HasSubstr("rank 2"));
  });
}

TEST(TeamOfPrograms, HandsOnWhatIsThrownAfterAllIsDone) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() > 0) {
      EXPECT_TRUE(serve(*processes, [](std::string_view) { return std::string("fine"); }));
      return;
    }

    Team team(processes, 1);
    std::atomic<int> done = 0;
    auto const work = [&](size_t i) {
      ++done;
      if (i == 3) throw std::runtime_error("out of memory");
    };
    EXPECT_THROW(team.spread({0, 1, 0, 1, 0, 1}, work), std::runtime_error);
    EXPECT_EQ(done, 6);
  });
}

TEST(TeamOfPrograms, EndsWithWhatAHelperThrows) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() > 0) {
      auto const answer = [](std::string_view) -> base::Expected<std::string> {
        throw std::runtime_error("out of memory");
      };
      EXPECT_FALSE(serve(*processes, answer));
      return;
    }

    Team team(processes, 1);
    auto const answer = team.ask(1, "?");
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("out of memory"));
  });
}

/// A run in files of its own.
class TeamOnFiles : public ::testing::Test {
 protected:
  TeamOnFiles() { std::filesystem::create_directories(folder_); }
  ~TeamOnFiles() override { std::filesystem::remove_all(folder_); }

  void write_run() const {
    support::SyntheticOptions job;
    job.process_per_device = true;
    auto const run = support::make_synthetic_run(job);
    for (size_t rank = 0; rank < run.ranks.size(); ++rank)
      ASSERT_TRUE(file::write_trace(run.ranks[rank].trace,
                                    (folder_ / fmt::format("rank-{}.stepscope", rank)).string()));
  }
  /// Asks with three programs.
  template <class Work>
  void with_team(Work const& work) const {
    as_processes(3, kLong, [&](std::shared_ptr<Processes> const& processes) {
      if (processes->rank() > 0) {
        EXPECT_TRUE(help(*processes));
        return;
      }
      Team team(processes, 1);
      work(team);
    });
  }

  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / fmt::format("team_{}", ::getpid());
};

TEST_F(TeamOnFiles, HelpersOpenMostOfThem) {
  write_run();
  with_team([&](Team& team) {
    auto const sources = open_with_team({folder_.string()}, false, team);
    ASSERT_TRUE(sources) << sources.error().message;
    std::set<uint32_t> owners;
    for (import::RankSource const& rank : sources->ranks) owners.insert(owner_of(rank.source).rank);
    EXPECT_GE(owners.size(), 2U);
    EXPECT_TRUE(owners.contains(1) || owners.contains(2));
  });
}

TEST_F(TeamOnFiles, ProcessZeroReadsAHelpersFileThatItSeesToo) {
  write_run();
  with_team([&](Team& team) {
    auto const sources = open_with_team({folder_.string()}, false, team);
    ASSERT_TRUE(sources) << sources.error().message;
    for (import::RankSource const& rank : sources->ranks) {
      auto const here = opened_here(rank.source);
      ASSERT_EQ(here.has_value(), owner_of(rank.source).rank > 0);
      if (!here) continue;

      EXPECT_EQ(here->remote(), nullptr);
      EXPECT_EQ(here->info().rank, rank.source.info().rank);
      auto const read_here = here->copy(), read_there = rank.source.copy();
      ASSERT_TRUE(read_here && read_there);
      EXPECT_EQ(read_here->columns().start, read_there->columns().start);
      EXPECT_EQ(read_here->columns().dur, read_there->columns().dur);
    }
  });
}

/// As where each machine has a disk of its own, or a file still grows.
TEST_F(TeamOnFiles, ProcessZeroLeavesAHelpersFileThatDiffersHere) {
  write_run();
  with_team([&](Team& team) {
    auto const sources = open_with_team({folder_.string()}, false, team);
    ASSERT_TRUE(sources) << sources.error().message;
    for (import::RankSource const& rank : sources->ranks) {
      std::string const cut = rank.file + ".cut";
      std::filesystem::copy_file(rank.file, cut);
      std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
      std::filesystem::rename(cut, rank.file);  // the helper keeps the whole one
    }

    for (import::RankSource const& rank : sources->ranks) EXPECT_FALSE(opened_here(rank.source));
  });
}

TEST_F(TeamOnFiles, OnlyTheHelperReadsWhatHadToBeConverted) {
  std::ofstream(folder_ / "rank-0.json")
      << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,)"
         R"( "ts": 1, "dur": 2, "args": {"device": 0, "stream": 7}}]})";
  with_team([&](Team& team) {
    auto const sources = open_with_team({folder_.string()}, false, team);
    ASSERT_TRUE(sources) << sources.error().message;
    ASSERT_GT(owner_of(sources->ranks.front().source).rank, 0U);
    EXPECT_FALSE(opened_here(sources->ranks.front().source));
  });
}

TEST_F(TeamOnFiles, NoneIsTheSameErrorAsAlone) {
  with_team([&](Team& team) {
    auto const alone = analyze_files({folder_.string()}, {}, Reading::kBySize);
    auto const together = analyze_files({folder_.string()}, {}, Reading::kBySize, false, &team);
    ASSERT_FALSE(alone || together);
    EXPECT_EQ(alone.error().message, together.error().message);
  });
}

TEST_F(TeamOnFiles, FewerThanProgramsLeaveSomeWithoutAny) {
  write_run();
  std::string const one = (folder_ / "rank-0.stepscope").string();
  with_team([&](Team& team) {
    auto const alone = analyze_files({one}, {}, Reading::kBySize);
    auto const together = analyze_files({one}, {}, Reading::kBySize, false, &team);
    ASSERT_TRUE(alone && together);
    EXPECT_EQ(alone->analysis.steps.size(), together->analysis.steps.size());
  });
}

TEST_F(TeamOnFiles, QuestionsThatAreNoneAreRefused) {
  Helper helper;
  EXPECT_FALSE(helper.answer(""));
  for (int asks = 0; asks < 256; ++asks)
    for (size_t const length : {0, 7, 8, 9, 40})
      EXPECT_FALSE(
          helper.answer(std::string(1, static_cast<char>(asks)) + std::string(length, 'x')))
          << asks;
}

}  // namespace
}  // namespace stepscope::run_loading
