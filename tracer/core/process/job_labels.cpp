#include "tracer/core/process/job_labels.h"

#include <array>
#include <cstdlib>
#include <string_view>

namespace stepscope::tracer {
namespace {

struct Label {
  char const* name;
  char const* variable;
};

/// srun(1), "OUTPUT ENVIRONMENT VARIABLES".
constexpr std::array kOfSlurm = {
    Label{"Slurm job", "SLURM_JOB_ID"},
    Label{"Slurm job name", "SLURM_JOB_NAME"},
    Label{"Slurm array task", "SLURM_ARRAY_TASK_ID"},
    Label{"Slurm cluster", "SLURM_CLUSTER_NAME"},
    Label{"Slurm partition", "SLURM_JOB_PARTITION"},
    Label{"Slurm step", "SLURM_STEP_ID"},
    Label{"Slurm node", "SLURMD_NODENAME"},
    Label{"Slurm node number", "SLURM_NODEID"},
    Label{"Slurm nodes", "SLURM_JOB_NUM_NODES"},
    Label{"Slurm task", "SLURM_PROCID"},
    Label{"Slurm task on its node", "SLURM_LOCALID"},
    Label{"Slurm restarts", "SLURM_RESTART_COUNT"},
};

/// A pod's template names these variables itself; examples/kubernetes has them as most templates
/// do. Indexed jobs have the last one by themselves.
constexpr std::array kOfKubernetes = {
    Label{"Kubernetes pod", "POD_NAME"},
    Label{"Kubernetes namespace", "POD_NAMESPACE"},
    Label{"Kubernetes node", "NODE_NAME"},
    Label{"Kubernetes job index", "JOB_COMPLETION_INDEX"},
};

/// A cluster's own variable says whether the others are its.
template <size_t N>
void add_labels(std::vector<std::pair<std::string, std::string>>& labels, char const* cluster,
                std::array<Label, N> const& known) {
  if (std::getenv(cluster) == nullptr) return;
  for (Label const& label : known)
    if (char const* const value = std::getenv(label.variable); value != nullptr && *value != '\0')
      labels.emplace_back(label.name, value);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> job_labels() {
  std::vector<std::pair<std::string, std::string>> labels;
  add_labels(labels, "SLURM_JOB_ID", kOfSlurm);
  add_labels(labels, "KUBERNETES_SERVICE_HOST", kOfKubernetes);
  return labels;
}

}  // namespace stepscope::tracer
