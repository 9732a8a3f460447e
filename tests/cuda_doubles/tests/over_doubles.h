// Runs stepscope over the doubles as on a machine with a GPU, and compares what it recorded with
// what CUPTI's double says that it handed over.
#pragma once

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/support/paths.h"
#include "trace/import/open/open_run.h"
#include "trace/model/api_calls.h"

namespace stepscope::cuda_doubles {

/// Rows of a recorded run.
struct Rows {
  std::map<model::EventKind, uint64_t> by_kind;
  uint64_t copied_bytes = 0;
  uint64_t lost = 0;       ///< that the trace counts as dropped
  uint64_t unmatched = 0;  ///< launches without their operation, and the other way round
  std::vector<std::string> notes;

  [[nodiscard]] uint64_t of(model::EventKind kind) const {
    auto const found = by_kind.find(kind);
    return found == by_kind.end() ? 0 : found->second;
  }
  /// NCCL's kernels are rows of collectives.
  [[nodiscard]] uint64_t kernels() const {
    return of(model::EventKind::kKernel) + of(model::EventKind::kCollective);
  }
};

/// What the doubles of all processes of a run handed over, by name (cupti/ledger.cpp).
class Handed {
 public:
  explicit Handed(std::filesystem::path const& folder) {
    for (auto const& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      auto const counts = nlohmann::json::parse(std::ifstream(entry.path()), nullptr, false);
      for (auto const& [what, count] : counts.items()) counts_[what] += count.get<uint64_t>();
    }
  }
  [[nodiscard]] uint64_t operator[](std::string const& what) const {
    auto const found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  /// Calls that launch something.
  [[nodiscard]] uint64_t launches() const {
    constexpr std::string_view kCall = "call ";
    uint64_t sum = 0;
    for (auto const& [what, count] : counts_)
      if (what.starts_with(kCall) &&
          model::classify(what.substr(kCall.size())) == model::ApiClass::kLaunch)
        sum += count;
    return sum;
  }

 private:
  std::map<std::string, uint64_t> counts_;
};

class OverDoubles : public e2e::Program {
 protected:
  OverDoubles() { std::filesystem::create_directories(folder_ / "handed"); }

  /// Runs `stepscope ARGUMENTS` with the doubles, `knobs` as a shell sets variables. Code 77: this
  /// system makes no namespace for it.
  [[nodiscard]] e2e::Outcome over_doubles(std::string const& arguments,
                                          std::string const& knobs = "") const {
    return shell(command_over_doubles(program_over_doubles() + " " + arguments, knobs));
  }
  /// What a shell runs for `command` with the doubles.
  [[nodiscard]] std::string command_over_doubles(std::string const& command,
                                                 std::string const& knobs) const {
    // A core is enough for one training, and OpenMP's threads would wait by turning.
    return "env OMP_NUM_THREADS=1 DOUBLE_CUPTI_LEDGER='" + path("handed") + "' " + knobs +
           " bash " + quoted(support::source_path("tests/cuda_doubles/with_doubles.sh")) + " " +
           quoted(vendor_) + " " + command;
  }
  /// From now on the library of this soname is a file of another one, which has none of its
  /// functions.
  void take_functions_of(std::string const& soname) {
    std::string const other =
        soname.starts_with("libnvidia-ml") ? "libnccl.so.2" : "libnvidia-ml.so.1";
    auto const whole = copy_vendor();
    std::filesystem::copy_file(whole / other, std::filesystem::path(vendor_) / soname,
                               std::filesystem::copy_options::overwrite_existing);
  }
  /// From now on half of the library's file is missing, as after a download that broke off.
  void cut(std::string const& soname) {
    copy_vendor();
    std::filesystem::path const file = std::filesystem::path(vendor_) / soname;
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  }
  /// Stepscope with the parts that go over the doubles.
  [[nodiscard]] static std::string program_over_doubles() {
    return quoted(support::build_path("cuda_doubles/bin/stepscope"));
  }
  [[nodiscard]] static std::string quoted(std::string const& file) {
    return "'" + std::filesystem::absolute(file).string() + "'";
  }

  /// The doubles may be changed from now on. Returns where they are unchanged.
  std::filesystem::path copy_vendor() {
    std::filesystem::path whole = support::build_path("cuda_doubles/vendor");
    vendor_ = path("vendor");
    std::filesystem::copy(whole, vendor_);
    return whole;
  }

  std::string vendor_ = support::build_path("cuda_doubles/vendor");  ///< where the doubles are

  [[nodiscard]] Handed handed() const { return Handed(folder_ / "handed"); }

  [[nodiscard]] Rows rows_of(std::string const& run_folder) const {
    Rows rows;
    auto const run = import::open_run(path(run_folder));
    if (!run) {
      ADD_FAILURE() << run.error().message;
      return rows;
    }

    for (model::RankTrace const& rank : run->ranks) {
      for (model::EventKind const kind : rank.trace.columns().kind) ++rows.by_kind[kind];
      for (auto const& copy : rank.trace.details<model::CopyDetail>())
        rows.copied_bytes += copy.bytes;
      model::ImportLog const& log = rank.trace.log();
      rows.lost += log.dropped;
      rows.unmatched += log.unmatched_launches + log.unmatched_ops;
      rows.notes.insert(rows.notes.end(), log.notes.begin(), log.notes.end());
    }
    return rows;
  }

  /// Every record became a row, and nothing else did.
  static void expect_all_rows(Rows const& rows, Handed const& handed) {
    EXPECT_GT(rows.kernels(), 0U);
    EXPECT_EQ(rows.kernels(), handed["kernels"]);
    EXPECT_EQ(rows.of(model::EventKind::kMemcpy), handed["copies"]);
    EXPECT_EQ(rows.of(model::EventKind::kMemset), handed["fills"]);
    EXPECT_EQ(rows.of(model::EventKind::kLaunch), handed.launches());
    EXPECT_EQ(rows.lost, 0U);
  }

  /// The last line of a program's output that is a JSON object.
  static nlohmann::json summary_in(std::string const& output) {
    size_t const begin = output.rfind("{\"all_reduce_bytes\"");
    if (begin == std::string::npos) return nlohmann::json::object();
    size_t const end = output.find('\n', begin);
    return nlohmann::json::parse(output.substr(begin, end - begin), nullptr, false);
  }

  static void expect_near(nlohmann::json const& losses, nlohmann::json const& expected,
                          double tolerance) {
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t step = 0; step < losses.size(); ++step)
      EXPECT_NEAR(losses[step].get<double>(), expected[step].get<double>(),
                  tolerance * std::fabs(expected[step].get<double>()))
          << "step " << step;
  }
};

/// Ends a test where the doubles cannot run, with the reason that with_doubles.sh prints.
#define SKIP_WITHOUT_NAMESPACE(outcome)                         \
  do {                                                          \
    if ((outcome).code == 77) GTEST_SKIP() << (outcome).output; \
  } while (false)

}  // namespace stepscope::cuda_doubles
