#include "trace/base/csv.h"

#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

std::string field(std::string_view text) {
  std::string line;
  append_csv_text(line, text);
  return line;
}

TEST(CsvText, IsQuotedOnlyWhereItMustBe) {
  EXPECT_EQ(field(""), "");
  EXPECT_EQ(field("plain text"), "plain text");
  EXPECT_EQ(field("a,b"), "\"a,b\"");
  EXPECT_EQ(field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(field("two\r\nlines"), "\"two\r\nlines\"");
}

TEST(CsvText, IsNoFormulaToASpreadsheet) {
  EXPECT_EQ(field("=1+1"), "'=1+1");
  EXPECT_EQ(field("+1"), "'+1");
  EXPECT_EQ(field("-1"), "'-1");
  EXPECT_EQ(field("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(field("\t=1"), "'\t=1");
  EXPECT_EQ(field("=HYPERLINK(\"http://x\",\"y\")"), "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
  EXPECT_EQ(field("a=1"), "a=1");
}

TEST(CsvText, WhatBeginsWithAnApostropheCanBeToldFromWhatWasGuarded) {
  EXPECT_EQ(field("'quoted'"), "''quoted'");
}

}  // namespace
}  // namespace stepscope::base
