#include "trace/import/communication_names.h"

#include <algorithm>
#include <array>
#include <string>

namespace stepscope::import {
namespace {

using model::CollectiveAlgorithm;
using model::CollectiveOp;
using model::CollectiveProtocol;

/// Parts of names, in lower case. Not "hip": that is every kernel of an AMD GPU.
constexpr std::array<std::string_view, 7> kLibraries = {"ncclkernel",  "nccldevkernel", "rcclkernel", "rccldevkernel",
                                                        "mscclkernel", "nvshmem",       "deep_ep"};
/// Begins of names.
constexpr std::array<std::string_view, 4> kPrefixes = {"nccl", "rccl", "oneccl", "ccl::"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(char a, char b) { return lower(a) == b; }

bool contains(std::string_view name, std::string_view part) {
  return std::search(name.begin(), name.end(), part.begin(), part.end(), equal_ignoring_case) != name.end();
}

/// Lower case letters alone.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (char const c : name) {
    if (char const l = lower(c); l >= 'a' && l <= 'z') letters += l;
  }
  return letters;
}

}  // namespace

bool is_communication_kernel(std::string_view name) {
  // Arguments and template parameters name other things.
  name = name.substr(0, name.find('('));
  if (name.starts_with("void ")) name.remove_prefix(5);
  auto const begins = [&](std::string_view prefix) {
    return name.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), name.begin(), [](char a, char b) { return a == lower(b); });
  };
  if (std::any_of(kPrefixes.begin(), kPrefixes.end(), begins)) return true;
  return std::any_of(kLibraries.begin(), kLibraries.end(), [&](std::string_view part) { return contains(name, part); });
}

CollectiveOp collective_op_of(std::string_view name) {
  struct Name {
    std::string_view part;
    CollectiveOp op;
  };
  // "reduce" is in others: last.
  constexpr std::array<Name, 10> kNames = {{{"allreduce", CollectiveOp::kAllReduce},
                                            {"reducescatter", CollectiveOp::kReduceScatter},
                                            {"allgather", CollectiveOp::kAllGather},
                                            {"alltoall", CollectiveOp::kAllToAll},
                                            {"broadcast", CollectiveOp::kBroadcast},
                                            {"sendrecv", CollectiveOp::kUnknown},
                                            {"send", CollectiveOp::kSend},
                                            {"recv", CollectiveOp::kReceive},
                                            {"barrier", CollectiveOp::kBarrier},
                                            {"reduce", CollectiveOp::kReduce}}};
  std::string const letters = letters_of(name);
  auto const found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](Name const& known) { return letters.find(known.part) != std::string::npos; });
  return found == kNames.end() ? CollectiveOp::kUnknown : found->op;
}

model::CollectiveDetail collective_of_kernel(std::string_view name) {
  name = name.substr(0, name.find('('));
  model::CollectiveDetail detail;
  detail.op = collective_op_of(name);
  if (contains(name, "_ring")) detail.algorithm = CollectiveAlgorithm::kRing;
  if (contains(name, "_tree")) detail.algorithm = CollectiveAlgorithm::kTree;
  if (contains(name, "_nvls")) detail.algorithm = CollectiveAlgorithm::kNvls;
  if (contains(name, "_collnet")) detail.algorithm = CollectiveAlgorithm::kCollnetDirect;
  if (contains(name, "_simple")) detail.protocol = CollectiveProtocol::kSimple;
  if (contains(name, "_ll")) detail.protocol = CollectiveProtocol::kLl;
  if (contains(name, "_ll128")) detail.protocol = CollectiveProtocol::kLl128;
  return detail;
}

}  // namespace stepscope::import
