// Models of scaling compared with SciPy (scaling_fits_reference.py printed the numbers), and with
// the laws that made the costs.
#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "analyzer/scaling/fits.h"

namespace stepscope::analyzer {
namespace {

using FitPoints = std::vector<CostPoint>;

FitPoints const kGentle = {{1, 100.0}, {2, 103.1},  {4, 105.9},
                           {8, 109.2}, {16, 111.8}, {32, 115.3}};
FitPoints const kRepeats = {{1, 10.0}, {1, 10.2}, {2, 10.9}, {2, 10.7},
                            {4, 12.1}, {4, 12.4}, {8, 15.2}, {8, 14.9}};
FitPoints const kContended = {{1, 50.0}, {2, 53.0}, {4, 60.5}, {8, 78.0}, {16, 127.0}, {32, 260.0}};
FitPoints const kSuperlinear = {{1, 20.0}, {2, 19.0}, {4, 18.8}, {8, 19.5}, {16, 21.0}};
FitPoints const kThree = {{1, 15.0}, {2, 15.9}, {4, 18.1}};

CostTerm const kOfOthers{CostTerm::Shape::kOthers}, kOfPairs{CostTerm::Shape::kPairs};

/// SciPy's numbers for a law; 0 = the law lacks the coefficient.
struct LawReference {
  double c, sigma, kappa, squares, loo;
  double at_64, low_64, high_64;
  double gain_at_16, gain_reach, sigma_reach;
};

void expect_share_near(double found, double expected, double precision = 1e-6) {
  EXPECT_NEAR(found, expected, std::abs(expected) * precision) << "expected " << expected;
}

void expect_law(std::vector<CostTerm> const& terms, FitPoints const& points,
                LawReference const& expected) {
  auto const model = CostModel::fit(terms, points);
  ASSERT_TRUE(model);
  expect_share_near(model->coefficient(0), expected.c);
  EXPECT_NEAR(model->ratio_to_first(1).value, expected.sigma, 1e-8);
  double const kappa = terms.size() > 2 ? model->ratio_to_first(2).value : 0;
  EXPECT_NEAR(kappa, expected.kappa, 1e-8);
  expect_share_near(model->squared_error(), expected.squares);
  expect_share_near(leave_one_out_error(terms, points).value(), expected.loo);

  Estimate const at_64 = model->predict(64);
  expect_share_near(at_64.value, expected.at_64);
  expect_share_near(at_64.low.value(), expected.low_64, 1e-5);
  expect_share_near(at_64.high.value(), expected.high_64, 1e-5);

  Estimate const gain = model->gain_of_doubling(16);
  expect_share_near(gain.value, expected.gain_at_16);
  expect_share_near(gain.high.value() - gain.value, expected.gain_reach, 1e-5);

  if (expected.sigma_reach > 0)
    expect_share_near(model->ratio_to_first(1).high.value() - model->ratio_to_first(1).value,
                      expected.sigma_reach, 1e-5);
}

TEST(ScalingFits, AmdahlIsThatOfSciPy) {
  std::vector<CostTerm> const amdahl = {CostTerm{}, kOfOthers};

  expect_law(amdahl, kGentle,
             {103.2055292, 0.00434638373, 0, 0.002427241281, 0.04232059, 131.4654916, 114.4163,
              151.05518, 1.934714216, 0.040689242, 0.0028854827});
  expect_law(amdahl, kRepeats,
             {10.09927733, 0.07014820745, 0, 0.0008750113889, 0.010693179, 54.73138798, 51.310525,
              58.38032, 1.453094884, 0.022331622, 0.0058782688});
  expect_law(amdahl, kContended,
             {46.1319361, 0.1244873202, 0, 0.04080752547, 0.13193528, 407.9309254, 280.76656,
              592.69039, 1.305342896, 0.10464444, 0.053770668});
  expect_law(amdahl, kSuperlinear,
             {19.08323578, 0.005515325232, 0, 0.003743024957, 0.053197761, 25.71400164, 16.52166,
              40.02079, 1.918497489, 0.13858071, 0.01015367});
  expect_law(amdahl, kThree,
             {14.94861401, 0.06943733708, 0, 4.567643952e-05, 0.01566827, 80.34210683, 47.610276,
              135.57691, 1.455809595, 0.18636579, 0.048547908});
}

/// In two sets one coefficient is fixed at zero; the bounds are those of the remaining ones.
TEST(ScalingFits, TheUniversalScalabilityLawIsThatOfSciPy) {
  std::vector<CostTerm> const usl = {CostTerm{}, kOfOthers, kOfPairs};

  expect_law(usl, kGentle,
             {103.2055292, 0.00434638373, 0, 0.002427241281, 0.04232059, 131.4654916, 109.38806,
              157.99873, 1.934714216, 0.053854372, 0.0038190895});
  expect_law(usl, kRepeats,
             {10.09927733, 0.07014820743, 0, 0.0008750113889, 0.01423752, 54.73138798, 50.813515,
              58.95134, 1.453094884, 0.025699461, 0.0067647722});
  expect_law(usl, kContended,
             {49.65428343, 0.06551558564, 0.002249031379, 0.0003610125707, 0.031806586, 704.8711747,
              648.75408, 765.84239, 1.256336198, 0.015824366, 0.010818321});
  expect_law(usl, kSuperlinear,
             {19.18786015, 0, 0.0003809089076, 0.00243484156, 0.040983731, 48.65705001, 13.976065,
              169.39736, 1.871566659, 0.24931606, 0});
}

struct PmnfReference {
  CostTerm term;
  double loo, constant, factor, squares;
};

TEST(ScalingFits, PmnfChoosesAndFitsAsSciPyDoes) {
  using Shape = CostTerm::Shape;
  for (auto const& [points, expected] : std::vector<std::pair<FitPoints, PmnfReference>>{
           {kGentle,
            {{Shape::kPower, 0, 1, 1}, 0.0022547549, 99.99160182, 3.023124772, 1.325923988e-05}},
           {kRepeats,
            {{Shape::kPower, 1, 1, 0}, 0.010693179, 9.390831125, 0.7084462006, 0.0008750113889}},
           {kContended,
            {{Shape::kPower, 3, 2, 0}, 0.027268858, 49.91062213, 1.18451772, 0.001493849409}},
           {kSuperlinear,
            {{Shape::kPower, 3, 1, 0},
             0.029182111,
             19.24167179,
             0.0004283347282,
             0.002229046115}}}) {
    CostTerm const chosen = choose_pmnf_term(points);
    EXPECT_EQ(chosen, expected.term)
        << chosen.numerator << "/" << chosen.denominator << " log " << chosen.logs;

    auto const model = CostModel::fit({CostTerm{}, chosen}, points);
    ASSERT_TRUE(model);
    expect_share_near(leave_one_out_error({CostTerm{}, chosen}, points).value(), expected.loo);
    expect_share_near(model->coefficient(0), expected.constant);
    expect_share_near(model->coefficient(1), expected.factor);
    expect_share_near(model->squared_error(), expected.squares);
  }
}

/// Costs by a law, with a little noise.
template <class Law>
FitPoints points_of(Law const& law, double noise, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> deviation(0, 1);
  FitPoints points;
  for (double n = 1; n <= 64; n *= 2)
    points.push_back({n, law(n) * (1 + noise * deviation(random))});
  return points;
}

TEST(ScalingFits, FindWhatMadeTheCosts) {
  auto const contended = [](double n) { return 7 * (1 + 0.03 * (n - 1) + 0.0004 * n * (n - 1)); };
  ScalingFits const fits = fit_scaling(points_of(contended, 1e-6, 1));
  ASSERT_EQ(fits.fits.size(), 3U);
  EXPECT_EQ(fits.best, 1U);
  EXPECT_NEAR(fits.fits[1].sigma.value, 0.03, 1e-4);
  EXPECT_NEAR(fits.fits[1].kappa.value, 0.0004, 1e-5);
  EXPECT_NEAR(*fits.fits[1].peak_devices, std::sqrt(0.97 / 0.0004), 1);

  auto const logarithmic = [](double n) { return 5 + 0.25 * std::sqrt(n) * std::log2(n); };
  CostTerm const term = choose_pmnf_term(points_of(logarithmic, 1e-6, 2));
  EXPECT_EQ(term, (CostTerm{CostTerm::Shape::kPower, 1, 2, 1}));
}

TEST(ScalingFits, AConstantCostGrowsByNothingAndPaysOffAsFarAsIsAsked) {
  ScalingFits const fits = fit_scaling(FitPoints{{1, 5}, {2, 5}, {4, 5}, {8, 5}});
  ASSERT_EQ(fits.fits.size(), 3U);
  EXPECT_EQ(fits.farthest_devices, 128U);
  for (ScalingFit const& fit : fits.fits) {
    EXPECT_NEAR(fit.cost.cost(100), 5, 1e-9);
    EXPECT_EQ(fit.pays_to.devices, 128U);
    EXPECT_TRUE(fit.pays_to.is_open);
  }

  EXPECT_EQ(fits.fits[2].term, CostTerm{});
  EXPECT_FALSE(fits.fits[0].most_speedup);
  EXPECT_FALSE(fits.fits[1].peak_devices);
}

/// With σ = 0.11 a doubling to n gives (1.78 + 0.11 n) / (0.89 + 0.11 n) times the work, 1.5 times
/// where n = 8.09.
TEST(ScalingFits, PaysOffUpToTheLastDoublingThatGivesOneAndAHalf) {
  auto const serial = [](double n) { return 1 + 0.11 * (n - 1); };
  ScalingFits const fits = fit_scaling(points_of(serial, 0, 1));
  EXPECT_EQ(fits.fits[0].pays_to.devices, 8U);
  EXPECT_FALSE(fits.fits[0].pays_to.is_open);
  EXPECT_NEAR(*fits.fits[0].most_speedup, 1 / 0.11, 1e-9);
}

TEST(ScalingFits, FewPointsAllowFewModels) {
  ScalingFits const two = fit_scaling(FitPoints{{1, 5}, {2, 6}});
  ASSERT_EQ(two.fits.size(), 1U);
  EXPECT_EQ(two.fits[0].model, ScalingModel::kAmdahl);
  EXPECT_NEAR(two.fits[0].sigma.value, 0.2, 1e-12);
  EXPECT_FALSE(two.fits[0].sigma.low);
  EXPECT_FALSE(two.fits[0].cost.predict(4).low);
  EXPECT_FALSE(two.fits[0].loo_error);
  EXPECT_EQ(two.too_few, (std::vector{ScalingModel::kUsl, ScalingModel::kPmnf}));

  // Repeats give an error bar.
  EXPECT_TRUE(fit_scaling(FitPoints{{1, 5}, {1, 5.1}, {2, 6}, {2, 6.1}}).fits[0].sigma.low);

  ScalingFits const three = fit_scaling(kThree);
  ASSERT_EQ(three.fits.size(), 2U);
  EXPECT_NEAR(three.fits[1].cost.coefficient(0), 15, 1e-9);
  EXPECT_NEAR(three.fits[1].sigma.value, 0.05111111111, 1e-9);
  EXPECT_NEAR(three.fits[1].kappa.value, 0.004444444444, 1e-9);
  EXPECT_EQ(three.best, 0U);

  EXPECT_TRUE(fit_scaling(FitPoints{{4, 5}}).fits.empty());
  EXPECT_TRUE(fit_scaling(FitPoints{}).fits.empty());
}

/// No model near the fitted one is better for any points: the problem has one minimum.
TEST(ScalingFits, NoNearbyModelIsBetter) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(0.5, 2.0), step(-0.01, 0.01);
  for (int round = 0; round < 200; ++round) {
    FitPoints points;
    for (double n = 1; n <= 32; n *= 2) points.push_back({n, 10 * share(random)});
    auto const model = CostModel::fit({CostTerm{}, kOfOthers, kOfPairs}, points);
    if (!model) continue;

    for (int nearby = 0; nearby < 20; ++nearby) {
      double const a = model->coefficient(0) + step(random),
                   b = std::max(model->coefficient(1) + step(random), 0.0),
                   c = std::max(model->coefficient(2) + step(random) / 10, 0.0);
      double squares = 0;
      for (CostPoint const& point : points) {
        double const off =
            (a + b * (point.devices - 1) + c * point.devices * (point.devices - 1)) / point.cost -
            1;
        squares += off * off;
      }
      EXPECT_GE(squares, model->squared_error() * (1 - 1e-12));
    }
  }
}

/// If the model is right, 95 % of prediction intervals cover the next run.
TEST(ScalingFits, PredictionIntervalsCoverNineteenOfTwentyFurtherRuns) {
  auto const law = [](double n) { return 3 * (1 + 0.02 * (n - 1)); };
  std::mt19937 random(11);
  std::normal_distribution<double> noise(1, 0.01);
  int covered = 0;
  constexpr int kRounds = 2000;

  for (int round = 0; round < kRounds; ++round) {
    auto const model =
        CostModel::fit({CostTerm{}, kOfOthers}, points_of(law, 0.01, static_cast<uint32_t>(round)));
    ASSERT_TRUE(model);
    Estimate const at = model->predict(128);
    double const next = law(128) * noise(random);
    covered += *at.low <= next && next <= *at.high ? 1 : 0;
  }

  EXPECT_NEAR(static_cast<double>(covered) / kRounds, 0.95, 0.02);
}

}  // namespace
}  // namespace stepscope::analyzer
