// One palette: the parts of a step have the report's colours in the viewer. Words are readable on
// every surface (WCAG 2: a contrast of 4.5).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/results/time_split.h"
#include "reports/words/labels.h"
#include "tests/support/paths.h"
#include "viewer/widgets/palette.h"

namespace stepscope::viewer {
namespace {

/// ImGui has red in the lowest byte.
uint32_t hex_of(uint32_t colour) {
  return (colour & 0xFFU) << 16U | (colour & 0xFF00U) | (colour >> 16U & 0xFFU);
}

double luminance(uint32_t colour) {
  auto const linear = [&](uint32_t shift) {
    double const value = (colour >> shift & 0xFFU) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
}

double contrast(uint32_t a, uint32_t b) {
  auto const [dark, light] = std::minmax(luminance(a), luminance(b));
  return (light + 0.05) / (dark + 0.05);
}

TEST(Palette, IdleCausesHaveTheColoursOfTheReport) {
  for (int cause = 0; cause < analyzer::kIdleCauseCount; ++cause) {
    reports::Part const& part = reports::part(analyzer::kFirstIdlePart + cause);
    Paint const paint = paint_of(static_cast<analyzer::IdleCause>(cause));
    EXPECT_EQ(hex_of(paint_colour(paint, Theme::kDark)), part.dark) << part.key;
    EXPECT_EQ(hex_of(paint_colour(paint, Theme::kLight)), part.light) << part.key;
  }
}

TEST(Palette, ClassesHaveTheColoursOfTheReport) {
  for (auto const& [paint, index] :
       {std::pair(Paint::kCompute, 0), {Paint::kCommunication, 1}, {Paint::kCopy, 2}}) {
    EXPECT_EQ(hex_of(paint_colour(paint, Theme::kDark)), reports::part(index).dark);
    EXPECT_EQ(hex_of(paint_colour(paint, Theme::kLight)), reports::part(index).light);
  }
}

/// The values of "--name: #rrggbb;" in the report's style sheet, in its order: on light pages, on
/// dark ones.
std::vector<uint32_t> values_in_page(std::string const& name) {
  std::ifstream file(support::source_path("reports/web/report.css"));
  std::string const css((std::istreambuf_iterator<char>(file)), {});
  std::string const key = "--" + name + ": #";

  std::vector<uint32_t> values;
  for (size_t at = css.find(key); at != std::string::npos; at = css.find(key, at + 1))
    values.push_back(
        static_cast<uint32_t>(std::stoul(css.substr(at + key.size(), 6), nullptr, 16)));
  return values;
}

TEST(Palette, WhatMeansSomethingHasTheColoursOfTheReport) {
  Surface const &dark = surface(Theme::kDark), &light = surface(Theme::kLight);
  auto const paint = [](Paint one) {
    return std::vector{hex_of(paint_colour(one, Theme::kLight)),
                       hex_of(paint_colour(one, Theme::kDark))};
  };

  std::vector<std::pair<std::string, std::vector<uint32_t>>> const colours = {
      {"critical", {hex_of(light.critical), hex_of(dark.critical)}},
      {"warning", {hex_of(light.warning), hex_of(dark.warning)}},
      {"accent", {hex_of(light.accent), hex_of(dark.accent)}},
      {"step", paint(Paint::kStep)},
      {"phase", paint(Paint::kPhase)},
      {"launch", paint(Paint::kLaunch)},
  };
  for (auto const& [name, values] : colours) EXPECT_EQ(values_in_page(name), values) << name;
}

TEST(Palette, WordsAreReadableOnEverySurface) {
  constexpr double kReadable = 4.5;
  for (Theme const theme : {Theme::kDark, Theme::kLight}) {
    Surface const& s = surface(theme);
    for (uint32_t const below : {s.background, s.row, s.row_alternate, s.header, s.gutter})
      for (uint32_t const words : {s.text, s.text_dim, s.warning, s.critical, s.accent})
        EXPECT_GE(contrast(words, below), kReadable)
            << std::hex << hex_of(words) << " on " << hex_of(below);
  }
}

TEST(Palette, WordsOnColoursAreReadable) {
  constexpr double kReadable = 4.5;
  for (int i = 0; i < analyzer::kPartCount; ++i)
    for (uint32_t const hex : {reports::part(i).dark, reports::part(i).light}) {
      uint32_t const colour = 0xFF000000U | hex_of(hex);
      EXPECT_GE(contrast(text_on(colour), colour), kReadable) << reports::part(i).key;
    }
}

}  // namespace
}  // namespace stepscope::viewer
