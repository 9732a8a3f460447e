#include "reports/json/host_json.h"

#include "reports/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using HostJson = nlohmann::ordered_json;

HostJson ns_or_null(std::optional<int64_t> const& ns) { return ns ? HostJson(*ns) : HostJson(nullptr); }

}  // namespace

nlohmann::ordered_json phases_json(model::Run const& run, analyzer::Analysis const& analysis) {
  HostJson phases = HostJson::array();
  for (analyzer::PhaseFacts const& phase : analysis.phases)
    phases.push_back({{"rank", rank_of(run, phase.ref)},
                      {"device", phase.ref.device},
                      {"name", phase.busy_ns ? HostJson(base::printable(phase.name)) : HostJson(nullptr)},
                      {"names", phase.names},
                      {"count", phase.count},
                      {"host_ns", phase.host_ns},
                      {"ops", phase.ops},
                      {"busy_ns", ns_or_null(phase.busy_ns)},
                      {"compute_ns", ns_or_null(phase.compute_ns)},
                      {"exposed_comm_ns", ns_or_null(phase.exposed_comm_ns)},
                      {"median_ns", ns_or_null(phase.median_ns)},
                      {"p95_ns", ns_or_null(phase.p95_ns)}});
  return phases;
}

nlohmann::ordered_json host_ops_json(model::Run const& run, analyzer::Analysis const& analysis) {
  HostJson rows = HostJson::array();
  for (analyzer::HostOpFacts const& row : analysis.host_ops)
    rows.push_back({{"rank", rank_of(run, row.ref)},
                    {"device", row.ref.device},
                    {"cause", analyzer::to_string(row.cause)},
                    {"host_op", row.host_op ? HostJson(base::printable(*row.host_op)) : HostJson(nullptr)},
                    {"names", row.names},
                    {"gaps", row.gaps},
                    {"idle_ns", row.idle_ns}});
  return rows;
}

}  // namespace stepscope::reports
