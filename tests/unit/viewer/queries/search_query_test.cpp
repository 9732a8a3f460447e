#include "viewer/queries/search_query.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/viewer/scenes.h"
#include "viewer/interaction/navigate.h"

namespace stepscope::viewer {
namespace {

TEST(Query, FindsPartsOfNamesWhateverTheirCase) {
  Query const query = parse_query("All Reduce");
  EXPECT_TRUE(query.matches_name("my ALL reduce kernel"));
  EXPECT_FALSE(query.matches_name("all-reduce"));
  EXPECT_FALSE(query.is_empty());
}

TEST(Query, InQuotationMarksIsTheWholeName) {
  Query const query = parse_query("\"void k<int, 3>(a \"b\")\"");
  EXPECT_TRUE(query.whole);
  EXPECT_TRUE(query.matches_name("void k<int, 3>(a \"b\")"));
  EXPECT_FALSE(query.matches_name("void k<int, 3>(a \"b\") tail"));
}

TEST(Query, NarrowsByKindRankAndDuration) {
  Query const query = parse_query("gemm kind:kernel rank:3 >10us <=2ms");
  EXPECT_EQ(query.name, "gemm");
  EXPECT_EQ(query.rank, 3);
  EXPECT_TRUE(query.matches_kind(model::EventKind::kKernel));
  EXPECT_FALSE(query.matches_kind(model::EventKind::kMemcpy));
  EXPECT_FALSE(query.matches_duration(10'000));
  EXPECT_TRUE(query.matches_duration(10'001));
  EXPECT_TRUE(query.matches_duration(2'000'000));
  EXPECT_FALSE(query.matches_duration(2'000'001));
}

TEST(Query, TakesWhatIsNoFilterAsPartOfTheName) {
  EXPECT_EQ(parse_query("vector<3> rank:x >fast kind:").name, "vector<3> rank:x >fast kind:");
  EXPECT_EQ(parse_query("a <3").name, "a <3");
  EXPECT_EQ(parse_query("  two   words ").name, "two words");
}

TEST(Query, OfNothingAsksForNothing) {
  EXPECT_TRUE(parse_query("").is_empty());
  EXPECT_TRUE(parse_query("   ").is_empty());
  EXPECT_FALSE(parse_query(">1ms").is_empty());
}

TEST(Query, SurvivesAnyText) {
  for (std::string_view const text :
       {"\"", "\"\"", "\"a", "a\"", "<", ">", "<=", ">=", "rank:", "rank:99999999999999999999",
        ">99999999999999999999s", "kind:\xFF", "\xFF\xFE \"\xC3\""})
    static_cast<void>(parse_query(text));
}

TEST(Query, ForANameFindsExactlyIt) {
  Query const query = parse_query(query_for("conv <2> \"x\"", 100, 200));
  EXPECT_TRUE(query.matches_name("conv <2> \"x\""));
  EXPECT_EQ(query.least_ns, 100);
  EXPECT_EQ(query.most_ns, 200);
  EXPECT_EQ(parse_query(query_for("a")).most_ns, std::numeric_limits<int64_t>::max());
}

TEST(FindHits, AreThoseThatALookAtEveryEventFinds) {
  Scene const scene = synthetic_scene({.devices = 3, .steps = 10, .process_per_device = true});
  for (char const* text : {"reduce", "reduce rank:1", "kind:kernel >1ms", "kind:kernel <1ms rank:2",
                           "nothing like it"}) {
    Query const query = parse_query(text);
    uint64_t expected = 0;
    for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank) {
      auto const& trace = scene.trace(rank);
      if (query.rank && trace.info().rank != *query.rank) continue;
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        expected += query.matches_name(trace.name(row)) && query.matches_kind(trace.kind(row)) &&
                            query.matches_duration(trace.columns().dur[row])
                        ? 1U
                        : 0U;
    }

    SearchHits const found = find_hits(scene, text);
    EXPECT_EQ(found.total, expected) << text;
    EXPECT_EQ(found.hits.size(), expected) << text;
  }
}

TEST(FindHits, EndWhenToldToStop) {
  Scene const scene = synthetic_scene();
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(find_hits(scene, "reduce", source.get_token()).total, 0U);
}

TEST(SearchFor, IsPendingUntilTheHitsAreShown) {
  Scene const scene = synthetic_scene();
  ViewState state = initial_view(scene);
  search_for(state, "reduce");
  EXPECT_TRUE(state.search.pending);
  EXPECT_TRUE(state.search.open);
  show_hits(state, find_hits(scene, "reduce"));
  EXPECT_FALSE(state.search.pending);
  EXPECT_GT(state.search.total, 0U);
}

}  // namespace
}  // namespace stepscope::viewer
