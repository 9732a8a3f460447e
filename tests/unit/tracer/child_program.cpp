#include "tests/unit/tracer/child_program.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
#include "trace/file/reader.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;

fs::path beside(fs::path folder, char const* suffix) { return folder += suffix; }

void redirect(int fd, fs::path const& file) {
  int const opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(opened, fd);
  ::close(opened);
}

std::string text_of(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TestFolder::TestFolder() {
  auto const* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = test->name();
  std::replace(name.begin(), name.end(), '/',
               '_');  // of a test with parameters: a folder in a folder would stay
  path_ = fs::path(::testing::TempDir()) / ("stepscope_" + std::to_string(::getpid()) + "_" + name);
  fs::remove_all(path_);
  fs::create_directories(path_);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  fs::remove_all(path_, ignored);
  for (char const* const suffix : {".out", ".err"}) fs::remove(beside(path_, suffix), ignored);
}

pid_t start_child(fs::path const& folder, std::vector<std::string> const& arguments,
                  Environment const& more) {
  pid_t const child = ::fork();
  if (child != 0) return child;

  for (char const* const name :
       {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK", "STEPSCOPE_STEPS"})
    ::unsetenv(name);
  ::setenv("NVTX_INJECTION64_PATH", support::build_path("lib/libstepscope-tracer.so").c_str(), 1);
  ::setenv("STEPSCOPE_OUTPUT", folder.c_str(), 1);
  ::setenv("STEPSCOPE_REPORT_LOSS", "1", 1);
  for (auto const& [name, value] : more)
    value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);

  redirect(STDOUT_FILENO, beside(folder, ".out"));
  redirect(STDERR_FILENO, beside(folder, ".err"));

  std::vector<std::string> all = {support::build_path("tests/traced_program")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : all) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int run_child(fs::path const& folder, std::vector<std::string> const& arguments,
              Environment const& more) {
  return wait_for(start_child(folder, arguments, more));
}

std::string stderr_of(fs::path const& folder) { return text_of(beside(folder, ".err")); }
std::string stdout_of(fs::path const& folder) { return text_of(beside(folder, ".out")); }

std::map<std::string, model::Trace> read_traces(fs::path const& folder) {
  std::map<std::string, model::Trace> traces;
  for (auto const& entry : fs::directory_iterator(folder)) {
    auto trace = file::read_trace_file(entry.path().string());
    if (!trace)
      ADD_FAILURE() << trace.error().message;
    else
      traces.emplace(entry.path().filename().string(), std::move(*trace));
  }
  return traces;
}

std::map<std::string, int> count_names(model::Trace const& trace) {
  std::map<std::string, int> counts;
  for (uint32_t row = 0; row < trace.event_count(); ++row) ++counts[std::string(trace.name(row))];
  return counts;
}

char const* why_no_injection() {
  return support::kSanitized ? "a library built with a sanitizer cannot be injected into another "
                               "program; the session tests cover this build"
                             : nullptr;
}

}  // namespace stepscope::tracer
