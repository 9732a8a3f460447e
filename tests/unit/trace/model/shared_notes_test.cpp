// Stepscope reports a note that several processes of a run have in common once.
#include "trace/model/derive/shared_notes.h"

#include <gtest/gtest.h>

namespace stepscope::model {
namespace {

std::vector<SharedNote> share(
    std::vector<std::pair<int32_t, std::vector<std::string>>> const& notes_by_rank) {
  std::vector<ProcessNotes> processes;
  for (auto const& [rank, notes] : notes_by_rank) processes.push_back({rank, &notes});
  return share_notes(processes);
}

TEST(SharedNotes, TheSameOfSeveralProcessesIsOneWithTheirRanks) {
  auto const notes = share({{1, {"of all", "of one"}}, {0, {"of all"}}, {2, {"of all", "of all"}}});
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].text, "of all");
  EXPECT_EQ(notes[0].ranks, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(notes[0].processes, 3U);
  EXPECT_EQ(notes[1].ranks, (std::vector<int32_t>{1}));
  EXPECT_EQ(notes[1].process, 0U);
}

TEST(SharedNotes, ThoseThatDifferInNumbersAreOneAndSaySo) {
  auto const notes = share({{4, {"20 calls, the first: send 0->3"}},
                            {5, {"8 calls, the first: send 1->2"}},
                            {6, {"a cut end"}}});
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].text,
            "20 calls, the first: send 0->3 (the numbers of rank 4; the others differ in numbers)");
  EXPECT_EQ(notes[0].ranks, (std::vector<int32_t>{4, 5}));
}

TEST(SharedNotes, RanksAreListedAsRuns) {
  EXPECT_EQ(rank_list({3}), "rank 3");
  EXPECT_EQ(rank_list({0, 1, 2, 3, 4, 5, 6, 7}), "ranks 0–7");
  EXPECT_EQ(rank_list({0, 2, 3, 9}), "ranks 0, 2, 3, 9");
  std::vector<int32_t> even;
  for (int32_t rank = 0; rank < 40; rank += 2) even.push_back(rank);
  EXPECT_EQ(rank_list(even), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more");
}

}  // namespace
}  // namespace stepscope::model
