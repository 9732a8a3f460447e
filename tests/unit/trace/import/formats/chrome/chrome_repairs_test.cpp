// Chrome trace events that are not quite as they should be: what is repaired or left out of them is
// counted, and what stands before them does not hide them.
#include <array>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/packed.h"
#include "trace/import/formats/chrome/chrome_importer.h"
#include "trace/import/formats/importers.h"

namespace stepscope::import::chrome_repairs_tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

model::Trace trace_of(std::string const& text, size_t block_bytes = size_t{1} << 20U) {
  auto trace = read_chrome_trace(Input(std::as_bytes(std::span(text)), "trace.json"), block_bytes);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
  return trace ? std::move(*trace) : model::Trace();
}
bool is_known(std::string const& text) {
  Importer const* const importer = find_importer(Input(std::as_bytes(std::span(text)), "x"));
  return importer != nullptr && importer->name == "PyTorch or Chrome JSON";
}

TEST(ChromeRepairs, ValuesOfCountersThatAreNoNumbersAreCounted) {
  model::Trace const trace =
      trace_of(R"([{"ph":"C","name":"c","pid":1,"ts":1,"args":{"v":NaN,"unit":"bytes"}},
                                          {"ph":"C","name":"c","pid":1,"ts":2,"args":{"v":1e400}},
                                          {"ph":"C","name":"c","pid":1,"ts":3,"args":{"v":3}}])");
  EXPECT_EQ(trace.event_count(), 1U);
  EXPECT_EQ(trace.log().dropped, 2U);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("2 values of counters are no finite numbers")));
}

TEST(ChromeRepairs, NamesThatAreNoUtf8AreCountedOnceWhateverTheBlocks) {
  constexpr std::array<char const*, 4> kNames = {"\xFF\xFE", "a\xC0", "\\ufffd said", "ü€😀"};
  std::string text = "[";
  for (size_t i = 0; i < 40; ++i) {
    text += fmt::format(R"({}{{"ph":"X","name":"{}","pid":1,"tid":1,"ts":{},"dur":1}})",
                        i > 0 ? "," : "", kNames[i % kNames.size()], i);
  }
  text += "]";

  for (size_t const block : {100U, 1U << 20U}) {
    model::Trace const trace = trace_of(text, block);
    EXPECT_EQ(trace.event_count(), 40U);
    EXPECT_THAT(trace.log().notes, Contains(HasSubstr("2 names hold bytes that are no UTF-8")));
    EXPECT_EQ(trace.log().dropped, 0U) << "no event is lost";
  }
}

TEST(ChromeRepairs, ALongFirstNameDoesNotHideATrace) {
  std::string const event = R"({"name":")" + std::string(10'000'000, 'A') +
                            R"(","ph":"X","ts":1,"dur":2,"pid":1,"tid":1})";
  for (std::string const& text : {"[" + event + "]", "{\"traceEvents\":[" + event + "]}"}) {
    EXPECT_TRUE(is_known(text));
    EXPECT_TRUE(is_known(support::packed_by_zstd(text)));
    EXPECT_EQ(trace_of(text).event_count(), 1U);
  }

  std::string const description = "{\"about\": \"" + std::string(10'000'000, 'A') + "\", ";
  EXPECT_TRUE(is_known(support::packed_by_zstd(description + "\"traceEvents\": [" + event + "]}")));
  EXPECT_FALSE(is_known("[\"" + std::string(10'000'000, 'A') + "\"]"));
}

TEST(ChromeRepairs, AnotherTraceBehindTheEndIsNotLeftOutInSilence) {
  std::string const event = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2})";
  for (std::string const& one : {"{\"traceEvents\":[" + event + "]}", "[" + event + "]"}) {
    for (char const* const between : {"", "\n", " , "})
      EXPECT_THAT(trace_of(one + between + one).log().notes,
                  Contains(HasSubstr("another document")))
          << one << between;
    EXPECT_THAT(trace_of(one + "\n \n").log().notes, IsEmpty()) << one;
  }
}

TEST(ChromeRepairs, AByteOrderMarkIsPassedOver) {
  std::string const event = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2})";
  for (std::string const& text :
       {"\xEF\xBB\xBF[" + event + "]", "\xEF\xBB\xBF {\"traceEvents\": [" + event + "]}"}) {
    for (std::string const& bytes : {text, support::packed_by_gzip(text)}) {
      EXPECT_TRUE(is_known(bytes));
      for (size_t const block : {size_t{30}, size_t{1} << 20U}) {
        model::Trace const trace = trace_of(bytes, block);
        EXPECT_EQ(trace.event_count(), 1U);
        EXPECT_THAT(trace.log().notes, IsEmpty());
      }
    }
  }

  std::string const broken = "\xEF\xBB\xBF[" + event + ", 5]";
  size_t const place = broken.find('5');
  EXPECT_THAT(trace_of(broken).log().notes,
              Contains(HasSubstr(fmt::format("near byte {} ", place))));
}

TEST(ChromeRepairs, ATimeOfZeroAmongEpochTimesIsLeftOutAndHidesNothing) {
  std::string text = R"([{"ph":"X","name":"wrong","pid":1,"tid":1,"ts":0,"dur":1})";
  for (int i = 0; i < 100; ++i)
    text += fmt::format(R"(,{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{},"dur":1}})",
                        1'700'000'000'000'000 + i);

  for (size_t const block : {200, 1 << 20}) {
    model::Trace const trace = trace_of(text + "]", block);
    EXPECT_EQ(trace.event_count(), 100U);
    EXPECT_EQ(trace.log().dropped, 1U);
    EXPECT_EQ(trace.time_range().second - trace.time_range().first, 100'000);
    EXPECT_THAT(trace.log().notes,
                Contains(HasSubstr("1 event has times more than a day from all others")));
    // The first block alone decides where the trace begins.
    EXPECT_TRUE(block == 200 || trace.info().origin_epoch_ns == 1'700'000'000'000'000'000);
  }
}

}  // namespace
}  // namespace stepscope::import::chrome_repairs_tests
