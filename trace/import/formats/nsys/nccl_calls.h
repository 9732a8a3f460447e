// Finds the calls of NCCL that a kernel carries by the ranges that NCCL pushes around its calls,
// where the report has them. A kernel is launched inside the range of its call, or inside the range
// that ends the group of its calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/import/formats/nsys/device_tables.h"
#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

/// What NCCL says with a range.
struct NcclPayload {
  uint64_t communicator = 0;  ///< the same number on all ranks; 0 = not known
  uint64_t bytes = 0;         ///< of one message: the share of a rank where each has one
  std::optional<int32_t> ranks, rank, device;  ///< of a communicator that is made
  std::optional<int32_t> peer;  ///< of a send or receive; the root of a broadcast or reduce
};

/// The layouts of binary payloads, and payloads as the export has them.
class NcclPayloads {
 public:
  void read(Database& database);
  /// A header of 32 bytes (domain, layout, bytes of the payload, and all bytes), then the payload.
  [[nodiscard]] NcclPayload decode(base::ByteSpan binary) const;
  /// {"NCCL communicator ID": "1,234", "Message size [bytes]": 4096}
  [[nodiscard]] static NcclPayload decode(std::string_view json);

 private:
  struct Field {
    std::string name;
    uint64_t offset = 0;
    unsigned bytes = 0;
  };
  std::map<std::pair<uint64_t, uint64_t>, std::vector<Field>> layouts_;  ///< by domain and number
};

enum class NcclRole : uint8_t {
  kNone,
  kCall,
  kGroupStart,
  kGroupEnd,
  kFramework  ///< around calls of NCCL: PyTorch's "nccl:all_reduce"
};
/// The role of a range of this name.
NcclRole nccl_role(std::string_view name);

class NcclCalls {
 public:
  /// A range of a thread. `name` is NCCL's.
  void add(Process& process, TrackRows& thread, std::string_view name, int64_t start, int64_t end,
           NcclPayload const& payload);
  /// Completes the details of the kernels: what one call or group carries, and nothing where that
  /// cannot be known.
  void refine(DeviceRows& devices);
  /// The process's rank in its largest communicator, and how many there are; nothing where NCCL did
  /// not say.
  [[nodiscard]] std::optional<std::pair<int32_t, int32_t>> rank_of(Process const& process) const;

 private:
  struct Range {
    int64_t start = 0, end = 0;
    NcclRole role = NcclRole::kNone;
    model::CollectiveDetail detail;
  };
  struct Communicator {
    int32_t ranks = 0;
    std::map<int32_t, int32_t> ranks_of_devices;
  };
  struct Plan {
    int64_t start = 0, end = 0;
    std::vector<model::CollectiveDetail> calls;
    std::vector<CommunicationKernel const*> kernels;  ///< launched in that time
  };
  struct OfProcess {
    std::map<TrackRows*, std::vector<Range>> threads;
    std::map<uint64_t, Communicator> communicators;
  };
  static void drop_known_frameworks(std::vector<Range>& ranges);
  static std::vector<Plan> plans_of(std::vector<Range>& ranges);
  static Plan* plan_at(std::vector<Plan>& plans, int64_t time);
  static void assign(Plan& plan, OfProcess const& process);
  static void complete(model::CollectiveDetail& call, int32_t device, OfProcess const& process);

  std::map<Process const*, OfProcess> processes_;
};

}  // namespace stepscope::import::nsys
