// Runs traced_program with the tracer library inside, and reads what it recorded.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "trace/model/trace.h"

namespace stepscope::tracer {

/// A folder of its own for a test, removed at its end.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(TestFolder const&) = delete;
  TestFolder& operator=(TestFolder const&) = delete;
  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Environment = std::map<std::string, std::string>;

/// Starts traced_program with these arguments and the tracer recording into `folder`; its stdout
/// and stderr go to folder.out and folder.err. An empty value of `more` unsets the variable.
pid_t start_child(std::filesystem::path const& folder, std::vector<std::string> const& arguments,
                  Environment const& more = {});
/// As waitpid() gives it.
int wait_for(pid_t child);
int run_child(std::filesystem::path const& folder, std::vector<std::string> const& arguments,
              Environment const& more = {});
std::string stderr_of(std::filesystem::path const& folder);
std::string stdout_of(std::filesystem::path const& folder);

/// The traces of a folder by file name; one that cannot be read is a failure of the test.
std::map<std::string, model::Trace> read_traces(std::filesystem::path const& folder);

/// How often each name is there, on tracks of that kind.
std::map<std::string, int> count_names(model::Trace const& trace);

/// Why the injected library cannot be tested in this build, or null.
char const* why_no_injection();

}  // namespace stepscope::tracer
