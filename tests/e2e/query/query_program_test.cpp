// `stepscope query` as a user runs it: answers as table, CSV and JSON, SQL from the standard input, and clear refusals.
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

class Query : public Program {
 protected:
  void SetUp() override { ASSERT_EQ(stepscope("synth --ranks 2 --events 20000 --seed 3 -o run").code, 0); }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("query " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
  }
};

TEST_F(Query, AnswersAsTableCsvAndJson) {
  std::string const sql =
      " \"select name, count(*) as n, sum(dur_ns) as total_ns from kernels group by name order by 3 desc limit 3\"";
  Outcome const table = stepscope("query run" + sql);
  EXPECT_EQ(table.code, 0) << table.output;
  EXPECT_TRUE(table.output.starts_with("name")) << table.output;
  EXPECT_TRUE(table.output.ends_with("3 rows\n")) << table.output;
  Outcome const csv = stepscope("query run --format csv" + sql);
  EXPECT_TRUE(csv.output.starts_with("name,n,total_ns\n")) << csv.output;
  auto const json = nlohmann::json::parse(stepscope("query run --format json" + sql).output);
  ASSERT_EQ(json.size(), 3U);
  EXPECT_GE(json[0]["total_ns"], json[1]["total_ns"]);
}

TEST_F(Query, SaysWhatAnalyzeSays) {
  auto const analysis = nlohmann::json::parse(stepscope("analyze run --json").output);
  auto const devices =
      nlohmann::json::parse(stepscope("query run --format json 'select * from device_time order by rank, device'").output);
  ASSERT_EQ(devices.size(), 2U);
  for (size_t rank = 0; rank < 2; ++rank)
    for (std::string const key : {"window_ns", "busy_ns", "idle_ns", "compute_ns", "exposed_comm_ns", "kernels", "utilization"})
      EXPECT_EQ(devices[rank][key], analysis["ranks"][rank]["devices"][0][key]) << key;
}

TEST_F(Query, ReadsSqlFromTheStandardInput) {
  Outcome const outcome = shell("echo 'select count(*) as n from processes' | " + program() + " query run - --format csv");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, "n\n2\n");
}

TEST_F(Query, TablesAreListed) {
  Outcome const outcome = stepscope("query --tables");
  EXPECT_EQ(outcome.code, 0);
  for (std::string const name :
       {"events: ", "kernels: ", "allocations: ", "matched_collectives: ", "  dur_ns", "  exposed_comm_ns"})
    EXPECT_NE(outcome.output.find(name), std::string::npos) << name;
}

TEST_F(Query, WrongUseIsSaid) {
  expect_refused("run", "name a run and a question");
  expect_refused("nowhere 'select 1'", "nowhere");
  expect_refused("run 'select * from kernel'", "did you mean kernels?");
  expect_refused("run 'select duration from kernels'", "did you mean dur_ns?");
  expect_refused("run 'select duration from kernels'", "  select duration from kernels\n         ^");
  expect_refused("run 'drop table kernels'", "only SELECT");
  expect_refused("run 'select 1' --format xml", "xml");
}

}  // namespace
}  // namespace stepscope::e2e
