#include "tracer/nccl/names.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stepscope::tracer::nccl {
namespace {

using model::CollectiveAlgorithm;
using model::CollectiveOp;
using model::CollectiveProtocol;
using model::DataType;

template <class Value>
using Name = std::pair<std::string_view, Value>;

// Indexed by number: the order of NCCL's enumerations ncclFunc_t, ncclDataType_t, NCCL_ALGO_… and
// NCCL_PROTO_…
constexpr std::array<Name<CollectiveOp>, 8> kFunctions = {
    {{"Broadcast", CollectiveOp::kBroadcast},
     {"Reduce", CollectiveOp::kReduce},
     {"AllGather", CollectiveOp::kAllGather},
     {"ReduceScatter", CollectiveOp::kReduceScatter},
     {"AllReduce", CollectiveOp::kAllReduce},
     {"SendRecv", CollectiveOp::kUnknown},
     {"Send", CollectiveOp::kSend},
     {"Recv", CollectiveOp::kReceive}}};
/// Since version 2.28; never told as a number.
constexpr std::string_view kAllToAll = "AlltoAll";
constexpr std::array<Name<DataType>, 12> kDataTypes = {{{"ncclInt8", DataType::kInt8},
                                                        {"ncclUint8", DataType::kUint8},
                                                        {"ncclInt32", DataType::kInt32},
                                                        {"ncclUint32", DataType::kUint32},
                                                        {"ncclInt64", DataType::kInt64},
                                                        {"ncclUint64", DataType::kUint64},
                                                        {"ncclFloat16", DataType::kFloat16},
                                                        {"ncclFloat32", DataType::kFloat32},
                                                        {"ncclFloat64", DataType::kFloat64},
                                                        {"ncclBfloat16", DataType::kBfloat16},
                                                        {"ncclFloat8e4m3", DataType::kFloat8E4m3},
                                                        {"ncclFloat8e5m2", DataType::kFloat8E5m2}}};
constexpr std::array<Name<CollectiveAlgorithm>, 7> kAlgorithms = {
    {{"TREE", CollectiveAlgorithm::kTree},
     {"RING", CollectiveAlgorithm::kRing},
     {"COLLNET_DIRECT", CollectiveAlgorithm::kCollnetDirect},
     {"COLLNET_CHAIN", CollectiveAlgorithm::kCollnetChain},
     {"NVLS", CollectiveAlgorithm::kNvls},
     {"NVLS_TREE", CollectiveAlgorithm::kNvlsTree},
     {"PAT", CollectiveAlgorithm::kPat}}};
constexpr std::array<Name<CollectiveProtocol>, 3> kProtocols = {
    {{"LL", CollectiveProtocol::kLl},
     {"LL128", CollectiveProtocol::kLl128},
     {"SIMPLE", CollectiveProtocol::kSimple}}};

template <class Value, size_t N>
Value find(std::array<Name<Value>, N> const& names, char const* name) {
  if (name == nullptr) return Value{};
  for (auto const& [text, value] : names) {
    if (text == name) return value;
  }
  return Value{};
}

template <class Value, size_t N>
Value at(std::array<Name<Value>, N> const& names, uint8_t number) {
  return number < N ? names[number].second : Value{};
}

}  // namespace

CollectiveOp op_of(char const* function) {
  return function != nullptr && function == kAllToAll ? CollectiveOp::kAllToAll
                                                      : find(kFunctions, function);
}
CollectiveOp op_of(uint8_t function) { return at(kFunctions, function); }
DataType data_type_of(char const* name) { return find(kDataTypes, name); }
DataType data_type_of(uint8_t number) { return at(kDataTypes, number); }
CollectiveAlgorithm algorithm_of(char const* name) { return find(kAlgorithms, name); }
CollectiveAlgorithm algorithm_of(uint8_t number) { return at(kAlgorithms, number); }
CollectiveProtocol protocol_of(char const* name) { return find(kProtocols, name); }
CollectiveProtocol protocol_of(uint8_t number) { return at(kProtocols, number); }

}  // namespace stepscope::tracer::nccl
