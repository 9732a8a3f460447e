// THE list of workloads.
#include <array>
#include <string>

#include "mpi/launch.h"
#include "workloads/micro/allreduce.h"
#include "workloads/micro/matpow.h"
#include "workloads/model_parallel/train.h"
#include "workloads/networks/cifar10.h"
#include "workloads/networks/gan.h"
#include "workloads/networks/gpt.h"
#include "workloads/networks/mnist.h"
#include "workloads/workload.h"

namespace stepscope::workloads {

std::span<Workload const> workloads() {
  static constexpr std::array kWorkloads = {
      Workload{"cifar10", kCifar10Description, run_cifar10, true},
      Workload{"mnist", kMnistDescription, run_mnist, true},
      Workload{"gan", kGanDescription, run_gan, true},
      Workload{"gpt", kGptDescription, run_gpt, true},
      Workload{"split", kSplitDescription, run_split},
      Workload{"allreduce", kAllReduceDescription, run_all_reduce},
      Workload{"matpow", kMatpowDescription, run_matpow},
  };
  return kWorkloads;
}

base::Expected<int> run_workload(std::string_view name, std::span<std::string const> arguments) {
  std::string known;
  for (Workload const& workload : workloads()) {
    if (workload.name == name) {
      auto const launch = mpi::launch_from_environment();
      if (launch && !workload.in_processes) {
        return base::fail(
            "run {}: works in one process and was started as one of {}, start it without mpirun or "
            "srun",
            name, launch->size);
      }

      auto code = workload.run(arguments);
      if (!code && code.error().unsupported)
        code.error().message += ", or --soft-placement to compute it on the host";
      return code;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", workload.name);
  }

  return base::fail("{}: unknown workload, choose one of: {}", name, known);
}

}  // namespace stepscope::workloads
