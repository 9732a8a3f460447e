// Readers who are colour-blind can tell the parts of a step's time apart: by their colours as they
// see them, or by the direction in which idle time is hatched.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "reports/words/labels.h"

namespace stepscope::reports {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

Triple product(Matrix const& matrix, Triple const& value) {
  Triple result{};
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j) result[i] += matrix[i][j] * value[j];
  return result;
}

// Readers with all kinds of cones, then readers without one kind, see this of linear sRGB. Source:
// Machado, Oliveira and Fernandes 2009, severity 1.0.
constexpr std::array<Matrix, 4> kSights = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
}};

Triple linear_of(uint32_t hex) {
  Triple linear{};
  for (size_t i = 0; i < 3; ++i) {
    double const value = (hex >> (16 - 8 * i) & 0xFFU) / 255.0;
    linear[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  return linear;
}

/// CIE L*a*b* under D65: distances are about as large as people find them.
Triple lab_of(Triple const& linear) {
  constexpr Matrix kToXyz = {{{0.4124564, 0.3575761, 0.1804375},
                              {0.2126729, 0.7151522, 0.0721750},
                              {0.0193339, 0.1191920, 0.9503041}}};
  constexpr Triple kWhite = {0.95047, 1, 1.08883};

  Triple f = product(kToXyz, linear);
  for (size_t i = 0; i < 3; ++i) {
    double const t = f[i] / kWhite[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

double distance(uint32_t one, uint32_t other, Matrix const& sight) {
  std::array<Triple, 2> labs{};
  for (size_t i = 0; i < 2; ++i) {
    Triple seen = product(sight, linear_of(i == 0 ? one : other));
    for (double& value : seen) value = std::clamp(value, 0.0, 1.0);
    labs[i] = lab_of(seen);
  }
  return std::hypot(labs[0][0] - labs[1][0], labs[0][1] - labs[1][1], labs[0][2] - labs[1][2]);
}

/// The least of light and dark pages and all kinds of sight.
double least_distance(Part const& one, Part const& other) {
  double least = 1000;
  for (Matrix const& sight : kSights)
    least = std::min(
        {least, distance(one.light, other.light, sight), distance(one.dark, other.dark, sight)});
  return least;
}

TEST(PartColours, DistancesAreThoseOfTheStandard) {
  EXPECT_NEAR(distance(0x000000, 0xFFFFFF, kSights[0]), 100, 0.01);
  EXPECT_NEAR(distance(0xFF0000, 0x00FF00, kSights[0]), 170.6, 0.1);
  EXPECT_LT(distance(0x8B7D00, 0x7A8B00, kSights[1]), distance(0x8B7D00, 0x7A8B00, kSights[0]));
}

TEST(PartColours, PartsThatLookAlikeAreHatchedInOtherDirections) {
  constexpr double kAlike = 10;
  for (int i = 0; i < kPartCount; ++i) {
    EXPECT_EQ(part(i).hatch != Hatch::kNone, part(i).idle) << part(i).key;

    for (int j = 0; j < i; ++j) {
      if (part(i).hatch != part(j).hatch) continue;
      EXPECT_GE(least_distance(part(i), part(j)), kAlike) << part(i).key << ", " << part(j).key;
    }
  }
}

}  // namespace
}  // namespace stepscope::reports
