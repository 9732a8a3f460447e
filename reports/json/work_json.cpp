#include "reports/json/work_json.h"

#include <cmath>

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using WorkJson = nlohmann::ordered_json;

template <class T>
WorkJson value_or_null(std::optional<T> const& value) {
  return value ? WorkJson(*value) : WorkJson(nullptr);
}
/// JSON has no NaN and no infinity: a number that does not exist is null.
WorkJson finite_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? WorkJson(*value) : WorkJson(nullptr);
}

void add_queue(WorkJson& to, std::optional<analyzer::QueueStats> const& queue) {
  to["queue_mean"] = queue ? finite_or_null(queue->mean_depth) : WorkJson(nullptr);
  to["queue_max"] = queue ? WorkJson(queue->max_depth) : WorkJson(nullptr);
  to["queue_empty_share"] = queue ? finite_or_null(queue->empty_share) : WorkJson(nullptr);
}

char const* name_of(analyzer::OpStats::What what) {
  switch (what) {
    case analyzer::OpStats::What::kRange:
      return "range";
    case analyzer::OpStats::What::kOutside:
      return "outside";
    case analyzer::OpStats::What::kUnlaunched:
      return "no_launch";
    case analyzer::OpStats::What::kRest:
      break;
  }
  return "rest";
}

}  // namespace

nlohmann::ordered_json launch_json(analyzer::LaunchStats const& launch) {
  WorkJson json = {{"calls", launch.calls},
                   {"calls_per_step", finite_or_null(launch.calls_per_step)},
                   {"latency_median_ns", value_or_null(launch.latency_median_ns)},
                   {"latency_p95_ns", value_or_null(launch.latency_p95_ns)},
                   {"latency_max_ns", value_or_null(launch.latency_max_ns)},
                   {"negative_latencies", launch.negative_latencies},
                   {"call_median_ns", value_or_null(launch.call_median_ns)},
                   {"kernel_median_ns", value_or_null(launch.kernel_median_ns)}};
  add_queue(json, launch.queue);

  WorkJson streams = WorkJson::array();
  for (analyzer::StreamQueue const& stream : launch.streams) {
    WorkJson row = {{"stream", stream.stream}, {"launches", stream.launches}};
    add_queue(row, stream.queue);
    streams.push_back(std::move(row));
  }

  json["streams"] = std::move(streams);
  json["graph_ops"] = launch.graph_ops;
  json["graph_launches"] = launch.graph_launches;
  json["graph_share"] = finite_or_null(launch.graph_share);

  return json;
}

nlohmann::ordered_json slow_json(analyzer::SlowTime const& slow) {
  return {{"simt_matrix", slow.simt_matrix_ns},
          {"small_grid", slow.small_grid_ns},
          {"small_grid_lost", slow.small_grid_lost_ns},
          {"serialized", slow.serialized_ns},
          {"slow_copy", slow.slow_copy_ns},
          {"device_copy", slow.device_copy_ns}};
}

nlohmann::ordered_json kernels_json(model::Run const& run, analyzer::Analysis const& analysis) {
  WorkJson kernels = WorkJson::array();

  for (analyzer::KernelStats const& kernel : analysis.kernels)
    kernels.push_back({{"rank", rank_of(run, kernel.ref)},
                       {"device", kernel.ref.device},
                       {"name", base::printable(kernel.name)},
                       {"kind", model::kind_info(kernel.kind).name},
                       {"count", kernel.count},
                       {"total_ns", kernel.total_ns},
                       {"mean_ns", kernel.mean_ns},
                       {"median_ns", kernel.median_ns},
                       {"p95_ns", kernel.p95_ns},
                       {"min_ns", kernel.min_ns},
                       {"max_ns", kernel.max_ns},
                       {"share", finite_or_null(kernel.share)},
                       {"tensor_cores", value_or_null(kernel.tensor_cores)},
                       {"occupancy_percent", finite_or_null(kernel.occupancy_percent)},
                       {"small_grid_share", finite_or_null(kernel.small_grid_share)},
                       {"flops_per_second", finite_or_null(kernel.flops_rate)},
                       {"peak_share", finite_or_null(kernel.peak_share)},
                       {"bytes_per_second", finite_or_null(kernel.bytes_rate)},
                       {"flops_per_byte", finite_or_null(kernel.flops_per_byte)}});

  return kernels;
}

nlohmann::ordered_json ops_json(model::Run const& run, analyzer::Analysis const& analysis) {
  WorkJson ops = WorkJson::array();

  for (analyzer::OpStats const& op : analysis.ops)
    ops.push_back(
        {{"rank", rank_of(run, op.ref)},
         {"device", op.ref.device},
         {"level", op.level == analyzer::OpStats::Level::kOp ? "op" : "layer"},
         {"what", name_of(op.what)},
         {"name", op.what == analyzer::OpStats::What::kRange ? WorkJson(base::printable(op.name))
                                                             : WorkJson(nullptr)},
         {"count", op.count},
         {"total_ns", op.total_ns},
         {"share", finite_or_null(op.share)}});

  return ops;
}

nlohmann::ordered_json graphs_json(model::Run const& run, analyzer::Analysis const& analysis) {
  WorkJson graphs = WorkJson::array();

  for (analyzer::GraphStats const& graph : analysis.graphs)
    graphs.push_back({{"rank", rank_of(run, graph.ref)},
                      {"device", graph.ref.device},
                      {"graph", graph.graph == 0 ? WorkJson(nullptr) : WorkJson(graph.graph)},
                      {"launches", graph.launches},
                      {"ops", graph.ops},
                      {"nodes", value_or_null(graph.nodes)},
                      {"total_ns", graph.total_ns},
                      {"gap_ns", graph.gap_ns}});

  return graphs;
}

nlohmann::ordered_json copies_json(model::Run const& run, analyzer::Analysis const& analysis) {
  WorkJson copies = WorkJson::array();
  for (analyzer::CopyStats const& copy : analysis.copies) {
    bool const is_known = copy.direction != model::CopyDirection::kUnknown;

    copies.push_back(
        {{"rank", rank_of(run, copy.ref)},
         {"device", copy.ref.device},
         {"direction", is_known ? WorkJson(model::to_string(copy.direction)) : WorkJson(nullptr)},
         {"count", copy.count},
         {"bytes", copy.bytes},
         {"total_ns", copy.total_ns},
         {"gbps", finite_or_null(copy.gbps)},
         {"small_count", copy.small_count},
         {"pageable_count", value_or_null(copy.pageable_count)},
         {"pageable_bytes", value_or_null(copy.pageable_bytes)},
         {"blocking_count", copy.blocking_count},
         {"both_ways_ns", copy.both_ways_ns}});
  }

  return copies;
}

}  // namespace stepscope::reports
