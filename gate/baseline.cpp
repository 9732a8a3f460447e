#include "gate/baseline.h"

#include <algorithm>
#include <array>

#include "analyzer/gate/kept_sample.h"
#include "gate/json_fields.h"
#include "trace/base/check.h"
#include "trace/base/format.h"

namespace stepscope::gate {
namespace {

using analyzer::RunMeasurements;
using analyzer::StepPart;
using base::Expected;

constexpr std::string_view kBaselineKind = "stepscope baseline";
/// Names in order of StepSource: words in files outlive the numbers of enumerators.
constexpr std::array kStepSources = {"none", "annotation", "nvtx_pattern", "detected"};
constexpr auto kLastCause = static_cast<analyzer::IdleCause>(analyzer::kIdleCauseCount - 1);
constexpr int64_t kMostCount = 1'000'000'000'000;

WriteJson optional_number(std::optional<double> value) {
  return value ? file_number(*value) : WriteJson(nullptr);
}

WriteJson parts_json(RunMeasurements const& run) {
  WriteJson parts = WriteJson::object();
  for (size_t p = 0; p < run.parts_ns.size(); ++p) {
    bool const is_there = std::any_of(run.parts_ns[p].begin(), run.parts_ns[p].end(),
                                      [](double ns) { return ns != 0; });
    if (is_there)
      parts[analyzer::to_string(static_cast<StepPart>(p))] = file_numbers(run.parts_ns[p]);
  }
  return parts;
}

WriteJson kernels_json(RunMeasurements const& run) {
  WriteJson kernels = WriteJson::array();
  for (RunMeasurements::Kernel const& kernel : run.kernels)
    kernels.push_back({{"name", kernel.name},
                       {"ns", file_numbers(kernel.ns)},
                       {"calls", file_numbers(kernel.calls)}});
  return kernels;
}

WriteJson collectives_json(RunMeasurements const& run) {
  WriteJson collectives = WriteJson::array();
  for (RunMeasurements::Collective const& collective : run.collectives)
    collectives.push_back({{"op", model::to_string(collective.op)},
                           {"bytes", collective.bytes},
                           {"per_step", file_number(collective.per_step)},
                           {"total_ns", file_number(collective.total_ns)},
                           {"transfer_ns", file_numbers(collective.transfer_ns)}});
  return collectives;
}

WriteJson host_ops_json(RunMeasurements const& run) {
  WriteJson ops = WriteJson::array();
  for (RunMeasurements::HostOp const& op : run.host_ops)
    ops.push_back({{"cause", analyzer::to_string(op.cause)},
                   {"host_op", op.name},
                   {"ns", file_number(op.ns)}});
  return ops;
}

WriteJson ranges_json(RunMeasurements const& run) {
  WriteJson ranges = WriteJson::array();
  for (RunMeasurements::HostRange const& range : run.ranges)
    ranges.push_back({{"name", range.name}, {"waits", range.waits}, {"ns", file_number(range.ns)}});
  return ranges;
}

WriteJson late_json(RunMeasurements const& run) {
  WriteJson rows = WriteJson::array();
  for (RunMeasurements::Late const& late : run.late)
    rows.push_back({{"rank", late.rank},
                    {"device", late.device},
                    {"cause", late.cause},
                    {"host_op", late.host_op},
                    {"ns", file_number(late.exposed_ns)}});
  return rows;
}

WriteJson facts_json(RunMeasurements const& run) {
  WriteJson facts = WriteJson::array();
  for (auto const& [name, value] : run.facts) facts.push_back({name, value});
  return facts;
}

std::vector<std::string> sorted_names(RunMeasurements const& run) {
  std::vector<std::string> names(run.kernel_names.begin(), run.kernel_names.end());
  std::sort(names.begin(), names.end());
  return names;
}

WriteJson run_json(RunMeasurements const& run) {
  WriteJson json = {{"name", run.name},
                    {"command", run.command},
                    {"tool", run.tool},
                    {"hosts", run.hosts},
                    {"device_names", run.device_names},
                    {"devices", run.devices},
                    {"devices_without_steps", run.devices_without},
                    {"processes", run.processes},
                    {"facts", facts_json(run)},
                    {"busy_clock_mhz", optional_number(run.busy_clock_mhz)},
                    {"quality", run.integrity},
                    {"missing_ranks", run.missing_ranks},
                    {"step_source", kStepSources[static_cast<size_t>(run.step_source)]},
                    {"warmup_steps", run.warmup_steps},
                    {"slow_start_steps", run.slow_start_steps},
                    {"outlier_steps", run.outlier_steps},
                    {"incomplete_steps", run.incomplete_steps},
                    {"all_steps_ns", file_number(run.all_steps_ns)},
                    {"usual_steps_ns", file_number(run.steady_steps_ns)},
                    {"copied_in_bytes", file_number(run.copied_in_bytes)},
                    {"kernel_calls", file_number(run.kernel_calls)},
                    {"peak_allocated_bytes", optional_number(run.peak_allocated_bytes)},
                    {"peak_reserved_bytes", optional_number(run.peak_reserved_bytes)},
                    {"steps", run.steps},
                    {"step_ns", file_numbers(run.step_ns)},
                    {"parts_ns", parts_json(run)},
                    {"allocated_bytes", file_numbers(run.allocated_bytes)},
                    {"reserved_bytes", file_numbers(run.reserved_bytes)},
                    {"kernels", kernels_json(run)},
                    {"kernel_names", sorted_names(run)},
                    {"knows_all_kernels", run.knows_all_kernels},
                    {"collectives", collectives_json(run)},
                    {"host_ops", host_ops_json(run)},
                    {"late", late_json(run)}};

  if (run.of_hosts) json["host_ranges"] = ranges_json(run);

  return json;
}

/// A key a line.
std::string lines_of(WriteJson const& object) {
  std::string text;
  for (auto const& [key, value] : object.items())
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",\n", key,
                        value.dump(-1, ' ', false, WriteJson::error_handler_t::replace));
  return text;
}

uint64_t read_count(Fields& run, char const* key) {
  return static_cast<uint64_t>(run.whole(key, 0, kMostCount));
}

std::optional<double> read_optional(Fields& run, char const* key) {
  return run.has(key) ? std::optional(run.number(key, 0, kMostFileNumber)) : std::nullopt;
}

std::vector<double> read_times(Fields& run, char const* key, size_t count) {
  return run.numbers(key, count, analyzer::kMostKeptSteps, 0, kMostFileNumber);
}

void read_conditions(Fields& run, RunMeasurements& sample) {
  using namespace analyzer;
  sample.name = run.text("name", kMostKeptTextBytes);
  sample.command = run.text("command", kMostKeptTextBytes);
  sample.tool = run.text("tool", kMostKeptTextBytes);

  sample.hosts = run.texts("hosts", kMostKeptConditions, kMostKeptTextBytes);
  sample.device_names = run.texts("device_names", kMostKeptConditions, kMostKeptTextBytes);
  sample.devices = read_count(run, "devices");
  sample.devices_without = read_count(run, "devices_without_steps");
  sample.processes = read_count(run, "processes");
  sample.busy_clock_mhz = read_optional(run, "busy_clock_mhz");
  sample.integrity = static_cast<int32_t>(run.whole("quality", 0, 100));

  for (int64_t const rank : run.wholes("missing_ranks", kMostKeptConditions, 0, INT32_MAX))
    sample.missing_ranks.push_back(static_cast<int32_t>(rank));

  std::string const source = run.text("step_source", kMostKeptTextBytes);
  auto const known = std::find(kStepSources.begin(), kStepSources.end(), source);
  if (known == kStepSources.end())
    run.fail("step_source", "is not known");
  else
    sample.step_source = static_cast<StepSource>(known - kStepSources.begin());
}

void read_facts(ReadJson const& json, Fields& run, RunMeasurements& sample) {
  auto const found = json.find("facts");
  if (found == json.end() || !found->is_array() || found->size() > analyzer::kMostKeptConditions)
    return run.fail("facts",
                    fmt::format("is no list of at most {}", analyzer::kMostKeptConditions));

  for (ReadJson const& fact : *found) {
    bool const is_pair =
        fact.is_array() && fact.size() == 2 && fact[0].is_string() && fact[1].is_string();
    if (!is_pair || fact[0].get_ref<std::string const&>().size() > analyzer::kMostKeptTextBytes ||
        fact[1].get_ref<std::string const&>().size() > analyzer::kMostKeptTextBytes)
      return run.fail("facts", "has an item that is no pair of short texts");
    sample.facts.emplace_back(fact[0].get<std::string>(), fact[1].get<std::string>());
  }
}

void read_steps(Fields& run, RunMeasurements& sample) {
  sample.warmup_steps = read_count(run, "warmup_steps");
  sample.slow_start_steps = read_count(run, "slow_start_steps");
  sample.outlier_steps = read_count(run, "outlier_steps");
  sample.incomplete_steps = read_count(run, "incomplete_steps");

  sample.all_steps_ns = run.number("all_steps_ns", 0, kMostFileNumber);
  sample.steady_steps_ns = run.number("usual_steps_ns", 0, kMostFileNumber);
  sample.copied_in_bytes = run.number("copied_in_bytes", 0, kMostFileNumber);
  sample.kernel_calls = run.number("kernel_calls", 0, kMostFileNumber);
  sample.peak_allocated_bytes = read_optional(run, "peak_allocated_bytes");
  sample.peak_reserved_bytes = read_optional(run, "peak_reserved_bytes");

  sample.steps = run.wholes("steps", analyzer::kMostKeptSteps, INT64_MIN, INT64_MAX);
  bool const ascend = std::adjacent_find(sample.steps.begin(), sample.steps.end(),
                                         std::greater_equal<>()) == sample.steps.end();
  if (!ascend) run.fail("steps", "do not ascend");
  if (sample.steps.empty()) run.fail("steps", "has no step");

  sample.step_ns = read_times(run, "step_ns", sample.steps.size());
}

void read_parts(Fields& run, RunMeasurements& sample) {
  size_t const count = sample.steps.size();
  sample.parts_ns.assign(analyzer::kStepPartCount, std::vector<double>(count, 0));

  auto parts = run.object("parts_ns");
  if (!parts) return;

  for (std::string const& key : parts->keys()) {
    auto const part = analyzer::step_part_of(key);
    if (!part) return parts->fail(key.c_str(), "is no part of a step");
    // What overlaps in odd traces makes a part a little less than nothing.
    sample.parts_ns[static_cast<size_t>(*part)] =
        parts->numbers(key.c_str(), count, count, -kMostFileNumber, kMostFileNumber);
  }
}

void read_memory(Fields& run, RunMeasurements& sample) {
  for (auto const& [key, bytes] : {std::pair("allocated_bytes", &sample.allocated_bytes),
                                   {"reserved_bytes", &sample.reserved_bytes}}) {
    *bytes = run.numbers(key, std::nullopt, analyzer::kMostKeptSteps, 0, kMostFileNumber);
    if (!bytes->empty() && bytes->size() != sample.steps.size())
      run.fail(key, "does not have a number for each step");
  }
}

void read_kernels(Fields& run, RunMeasurements& sample) {
  using namespace analyzer;

  for (Fields& kernel : run.objects("kernels", kMostKeptKernels + 1)) {
    RunMeasurements::Kernel& to = sample.kernels.emplace_back();
    to.name = kernel.text("name", kMostKeptTextBytes);
    to.ns = read_times(kernel, "ns", sample.steps.size());
    to.calls = read_times(kernel, "calls", sample.steps.size());
    bool const is_double =
        std::any_of(sample.kernels.begin(), sample.kernels.end() - 1,
                    [&](RunMeasurements::Kernel const& other) { return other.name == to.name; });
    if (is_double) kernel.fail("name", "is that of another kernel too");
  }

  for (std::string& name :
       run.texts("kernel_names", kMostKeptKernelNames + kMostKeptKernels, kMostKeptTextBytes))
    sample.kernel_names.insert(std::move(name));
  sample.knows_all_kernels = run.boolean("knows_all_kernels");
}

/// The enumerator from the first to `last` that to_string() gives this text for.
template <class Enum>
std::optional<Enum> named(std::string const& text, Enum last, char const* (*to_text)(Enum)) {
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i)
    if (text == to_text(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return std::nullopt;
}

void read_collectives(Fields& run, RunMeasurements& sample) {
  using namespace analyzer;

  for (Fields& collective : run.objects("collectives", kMostKeptCollectives)) {
    RunMeasurements::Collective& to = sample.collectives.emplace_back();
    auto const op = model::find_collective_op(collective.text("op", kMostKeptTextBytes));
    if (!op) return collective.fail("op", "is not known");

    to.op = *op;
    to.bytes = static_cast<uint64_t>(collective.whole("bytes", 0, INT64_MAX));
    to.per_step = collective.number("per_step", 0, kMostFileNumber);
    to.total_ns = collective.number("total_ns", 0, kMostFileNumber);
    to.transfer_ns =
        collective.numbers("transfer_ns", std::nullopt, kMostKeptSteps, 0, kMostFileNumber);
  }
}

void read_blame(Fields& run, RunMeasurements& sample) {
  using namespace analyzer;
  for (Fields& op : run.objects("host_ops", kMostKeptBlame)) {
    auto const cause =
        named<IdleCause>(op.text("cause", kMostKeptTextBytes), kLastCause, &analyzer::to_string);
    if (!cause) return op.fail("cause", "is not known");
    std::string name = op.text("host_op", kMostKeptTextBytes);
    sample.host_ops.push_back({*cause, std::move(name), op.number("ns", 0, kMostFileNumber)});
  }

  for (Fields& late : run.objects("late", kMostKeptBlame)) {
    RunMeasurements::Late& to = sample.late.emplace_back();
    to.rank = static_cast<int32_t>(late.whole("rank", INT32_MIN, INT32_MAX));
    to.device = static_cast<int32_t>(late.whole("device", INT32_MIN, INT32_MAX));
    to.cause = late.text("cause", kMostKeptTextBytes);
    to.host_op = late.text("host_op", kMostKeptTextBytes);
    to.exposed_ns = late.number("ns", 0, kMostFileNumber);
  }
}

/// Programs without a device have them, if only an empty list.
void read_ranges(Fields& run, RunMeasurements& sample) {
  sample.of_hosts = run.has("host_ranges");
  if (!sample.of_hosts) return;
  for (Fields& range : run.objects("host_ranges", analyzer::kMostKeptBlame)) {
    RunMeasurements::HostRange& to = sample.ranges.emplace_back();
    to.name = range.text("name", analyzer::kMostKeptTextBytes);
    to.waits = range.boolean("waits");
    to.ns = range.number("ns", 0, kMostFileNumber);
  }
}

RunMeasurements read_run(ReadJson const& json, Fields run) {
  RunMeasurements sample;

  read_conditions(run, sample);
  read_facts(json, run, sample);
  read_steps(run, sample);
  read_parts(run, sample);
  read_memory(run, sample);
  read_kernels(run, sample);
  read_collectives(run, sample);
  read_blame(run, sample);
  read_ranges(run, sample);

  return sample;
}

}  // namespace

std::string baseline_text(Baseline const& baseline) {
  STEPSCOPE_CHECK(!baseline.runs.empty() && baseline.runs.size() <= kMostBaselineRuns);
  std::string runs;
  for (RunMeasurements const& run : baseline.runs)
    runs += fmt::format("{}{{{}}}", runs.empty() ? "" : ",\n", lines_of(run_json(run)));
  WriteJson const head = {{"kind", kBaselineKind},
                          {"schema", kBaselineSchema},
                          {"name", base::valid_utf8(baseline.name, 256)}};
  return fmt::format("{{{},\n\"runs\":[{}]}}\n", lines_of(head), runs);
}

Expected<Baseline> parse_baseline(std::string_view text, std::string const& path) {
  auto const document =
      parse_document(text, path, kBaselineKind, kBaselineSchema, kMostBaselineBytes);
  if (!document) return base::fail_with(document);

  std::optional<std::string> error;
  Fields fields(*document, {}, error);
  Baseline baseline;
  baseline.name = fields.text("name", analyzer::kMostKeptTextBytes);

  std::vector<Fields> const runs = fields.objects("runs", kMostBaselineRuns);
  for (size_t i = 0; i < runs.size() && !error; ++i)
    baseline.runs.push_back(read_run((*document)["runs"][i], runs[i]));
  if (baseline.runs.empty()) fields.fail("runs", "has no run");

  if (error)
    return base::fail("{}: {}, restore the file or make it anew with --update-baseline", path,
                      *error);
  return baseline;
}

bool is_baseline(std::string_view begin) { return is_document(begin, kBaselineKind); }

}  // namespace stepscope::gate
