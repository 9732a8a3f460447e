#include "trace/import/formats/rocprofv3/rocprofv3_importer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "trace/file/trace_file.h"
#include "trace/import/common/whole_input.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/rocprofv3/json_capture.h"
#include "trace/import/formats/rocprofv3/ranks.h"

namespace stepscope::import {
namespace {

using rocm::Process;

constexpr std::string_view kRocprofv3Member = "\"rocprofiler-sdk-tool\"";

/// rocprofv3 writes each format that it is asked for: of one process the trace for Perfetto repeats
/// the JSON.
void drop_perfetto_copies(std::vector<std::string>& files) {
  constexpr std::string_view kJsonEnding = "_results.json", kPerfettoEnding = "_results.pftrace";
  std::set<std::string> stems;
  for (std::string const& file : files)
    if (file.ends_with(kJsonEnding)) stems.insert(file.substr(0, file.size() - kJsonEnding.size()));

  std::erase_if(files, [&](std::string const& file) {
    return file.ends_with(kPerfettoEnding) &&
           stems.contains(file.substr(0, file.size() - kPerfettoEnding.size()));
  });
}

}  // namespace

bool is_rocprofv3_json(Input const& input) {
  std::string_view const head = input.head();
  size_t const first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos || head[first] != '{') return false;
  size_t const member = head.find_first_not_of(" \t\r\n", first + 1);
  return member != std::string_view::npos && head.substr(member).starts_with(kRocprofv3Member);
}

base::Expected<std::vector<model::Trace>> read_rocprofv3_json(Input const& input) {
  auto const whole = WholeInput::read(input);
  if (!whole) return base::fail_with(whole);

  std::string_view text = whole->text();
  text.remove_prefix(std::min(text.find('{'), text.size()));
  auto capture = rocm::read_capture(text, file::events_that_fit());
  if (!capture)
    return base::fail(
        "{}: {}, record a shorter part (rocprofv3 --collection-period) or use a larger machine",
        input.name(), capture.error().message);

  auto const& damage = whole->damage() ? whole->damage() : capture->damage;
  if (capture->processes.empty())
    return damage ? base::fail("{}: {}, before its first event; record or copy it again",
                               input.name(), *damage)
                  : base::fail(
                        "{}: holds no kernels, copies, calls or ranges; record with "
                        "rocprofv3 --sys-trace --output-format json",
                        input.name());

  std::vector<model::Trace> traces;
  for (Process* const process : rocm::order_by_rank(capture->processes, input.name())) {
    if (damage) {
      process->builder.log().truncated = true;
      process->builder.log().notes.push_back(
          fmt::format("the file {}: what came before was read", *damage));
    }
    traces.push_back(std::move(*process).finish());
  }
  return traces;
}

Importer rocprofv3_importer() {
  return {.name = "rocprofv3 JSON",
          .file_suffix = "_results.json",
          .sniff = is_rocprofv3_json,
          .read = read_rocprofv3_json,
          .first_members = " rocprofiler-sdk-tool ",
          .events_member = "\"buffer_records\"",
          .drop_copies = drop_perfetto_copies};
}

}  // namespace stepscope::import
