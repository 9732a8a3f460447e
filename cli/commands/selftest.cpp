// stepscope selftest: runs programs whose work is known under the tracer and says whether their
// traces are right. See selftest/selftest.h.
#include "selftest/selftest.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/commands/checks.h"
#include "trace/base/files/temporary.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;
using doctor::Verdict;

constexpr VerdictWords kSelftestWords = {"PASS", "WARN", "FAIL", "SKIP"};

struct SelftestOptions {
  std::string device, keep;
  bool json = false;
};

/// Where the recordings go: the folder that is to be kept, or one that is removed at the end.
class Workspace {
 public:
  explicit Workspace(std::string const& keep) : is_kept_(!keep.empty()) {
    std::error_code error;

    path_ = is_kept_ ? keep : fs::temp_directory_path(error).string();
    if (is_kept_) {
      fs::create_directories(path_, error);
      is_made_ = fs::is_directory(path_, error);
      return;
    }

    auto made = base::TemporaryFolder::create(path_);
    is_made_ = made.has_value();
    if (!is_made_) return;
    temporary_.emplace(std::move(*made));
    path_ = temporary_->path();
  }
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_;
  bool is_kept_, is_made_ = false;
  std::optional<base::TemporaryFolder> temporary_;
};

/// A warning is a pass: what was to be checked holds, what it costs is above the target.
struct Tally {
  size_t passed = 0, failed = 0, skipped = 0;
  void add(Verdict verdict) {
    passed += static_cast<size_t>(verdict == Verdict::kGood || verdict == Verdict::kWarning);
    failed += static_cast<size_t>(verdict == Verdict::kFailure);
    skipped += static_cast<size_t>(verdict == Verdict::kSkipped);
  }
};

int run_selftest(SelftestOptions const& options) {
  Workspace const workspace(options.keep);
  if (!workspace.is_made())
    return report_error(
        {workspace.path() + ": cannot be made, set TMPDIR to a folder that can be written"});

  std::string const here = program_folder();
  selftest::Setup const setup = {here + "/stepscope",
                                 here + "/../libexec/stepscope/stepscope-cuda-probe",
                                 options.device, workspace.path()};

  std::vector<doctor::Check> checks;
  Tally tally;
  auto const finished = selftest::run(setup, [&](doctor::Check const& check) {
    tally.add(check.verdict);
    checks.push_back(check);
    if (!options.json) print_check(check, kSelftestWords);
  });
  if (!finished) return report_error(finished.error());

  if (options.json) {
    nlohmann::json const all = {{"checks", json_of(checks, kSelftestWords)},
                                {"passed", tally.passed},
                                {"failed", tally.failed},
                                {"skipped", tally.skipped}};
    std::printf("%s\n", all.dump(2, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%zu passed, %zu failed, %zu skipped\n", tally.passed, tally.failed, tally.skipped);
  }

  return tally.failed == 0 ? kGood : kFinding;
}

}  // namespace

Action add_selftest(CLI::App& app) {
  auto const options = std::make_shared<SelftestOptions>();
  app.add_option("--device", options->device,
                 "host:N, cuda or cuda:N (default: host:2 and, where there is a GPU, cuda)");
  app.add_option("--keep", options->keep, "keep the recordings in this folder");
  app.add_flag("--json", options->json, "print the result as JSON");
  app.footer("Exit status: 0 no check failed, 1 a check failed, 2 wrong use.");
  return [options] { return run_selftest(*options); };
}

}  // namespace stepscope::cli
