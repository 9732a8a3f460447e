// What whatif says of a synthetic pipeline in another shape, against the pipeline that is made in
// that shape: numbers and sizes of micro-batches, layers of stages.
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

struct ShapePair {
  char const* from;  ///< options of stepscope synth
  char const* to;    ///< what the change makes of it
  char const* change;
  char const* probe = nullptr;  ///< of a second run
  double most_error = 0.01;

  friend void PrintTo(ShapePair const& pair, std::ostream* out) {
    *out << pair.from << " " << pair.change;
  }
};

constexpr ShapePair kShapePairs[] = {
    {"--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 16", "micro-batches=16:same-size"},
    {"--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 4", "micro-batches=4:same-size"},
    {"--ranks 2 --micro-batches 4", "--ranks 2 --micro-batches 12", "micro-batches=12:same-size"},
    {"--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 16 --micro-batch-percent 50",
     "micro-batches=16", "--ranks 4 --micro-batches 4 --micro-batch-percent 200", 0.02},
    {"--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 4 --micro-batch-percent 200",
     "micro-batches=4", "--ranks 4 --micro-batches 16 --micro-batch-percent 50", 0.02},
    {"--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 8 --micro-batch-percent 300",
     "batch:100,200=300", "--ranks 4 --micro-batches 8 --micro-batch-percent 200"},
    {"--ranks 4 --micro-batches 8", "--ranks 4 --micro-batches 8 --micro-batch-percent 50",
     "batch:100,200=50", "--ranks 4 --micro-batches 8 --micro-batch-percent 200"},
    {"--ranks 4 --stage-layers 3,3,3,7", "--ranks 4 --stage-layers 4,4,4,4", "stages=balanced"},
    {"--ranks 2 --stage-layers 6,2", "--ranks 2 --stage-layers 4,4", "stages=balanced"},
};

class ShapeProgram : public Program {
 protected:
  void make(char const* options, std::string const& name) const {
    Outcome const made = stepscope("synth --pattern pipeline --fault none --steps 16 " +
                                   std::string(options) + " -o " + name);
    ASSERT_EQ(made.code, 0) << made.output;
  }
  [[nodiscard]] json answers_of(std::string const& arguments, int code = 0) const {
    Outcome const outcome =
        stepscope("whatif --only-changes --json " + arguments + " 2> /dev/null");
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
    return json::parse(outcome.output);
  }
};

class WhatIfShapes : public ShapeProgram, public testing::WithParamInterface<ShapePair> {};
INSTANTIATE_TEST_SUITE_P(Pipelines, WhatIfShapes, testing::ValuesIn(kShapePairs));

TEST_P(WhatIfShapes, ThePredictedStepIsThatOfThePipelineInThatShape) {
  ShapePair const& pair = GetParam();
  make(pair.from, "from");
  make(pair.to, "to");
  std::string arguments = "from --change " + std::string(pair.change);
  if (pair.probe != nullptr) {
    make(pair.probe, "probe");
    arguments += " --probe probe";
  }

  json const stats = answers_of(arguments);
  double const there = answers_of("to --change class:compute=*1")["baseline"]["step_ns"];
  ASSERT_FALSE(bool(stats["answers"][0]["refused"])) << stats["answers"][0]["reason"];
  EXPECT_NEAR(double(stats["answers"][0]["step_ns"]) / there, 1, pair.most_error);
}

class WhatIfShapeErrors : public ShapeProgram {};

TEST_F(WhatIfShapeErrors, AnotherSizeOfMicroBatchesNeedsAProbe) {
  make("--ranks 2", "from");
  json const stats = answers_of("from --change micro-batches=16", 3);
  EXPECT_TRUE(bool(stats["answers"][0]["refused"]));
  EXPECT_NE(std::string(stats["answers"][0]["reason"]).find("--probe"), std::string::npos);
}

TEST_F(WhatIfShapeErrors, OnlyPipelinesAreMadeInShapes) {
  for (std::string const option :
       {"--micro-batches 4", "--micro-batch-percent 50", "--stage-layers 4,4"}) {
    Outcome const made = stepscope("synth --ranks 2 --steps 2 -o made " + option);
    EXPECT_EQ(made.code, 2) << made.output;
    EXPECT_NE(made.output.find("--pattern pipeline"), std::string::npos) << made.output;
  }

  Outcome const made =
      stepscope("synth --pattern pipeline --ranks 4 --steps 2 -o made --stage-layers 4,4");
  EXPECT_EQ(made.code, 2) << made.output;
  EXPECT_NE(made.output.find("one for each of the 4 ranks"), std::string::npos) << made.output;
}

}  // namespace
}  // namespace stepscope::e2e
