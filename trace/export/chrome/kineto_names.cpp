#include "trace/export/chrome/kineto_names.h"

#include <fmt/format.h>

#include "trace/model/api_calls.h"

namespace stepscope::exporting {

std::string_view data_type_name(model::DataType type) {
  switch (type) {
    case model::DataType::kUnknown:
      return "";
    case model::DataType::kInt8:
      return "Char";
    case model::DataType::kUint8:
      return "Byte";
    case model::DataType::kInt32:
      return "Int";
    case model::DataType::kUint32:
      return "UInt32";
    case model::DataType::kInt64:
      return "Long";
    case model::DataType::kUint64:
      return "UInt64";
    case model::DataType::kFloat16:
      return "Half";
    case model::DataType::kFloat32:
      return "Float";
    case model::DataType::kFloat64:
      return "Double";
    case model::DataType::kBfloat16:
      return "BFloat16";
    case model::DataType::kFloat8E4m3:
      return "Float8_e4m3fn";
    case model::DataType::kFloat8E5m2:
      return "Float8_e5m2";
  }
  return "";
}

namespace {

std::string_view sync_name(model::SyncKind sync) {
  if (sync == model::SyncKind::kStream) return "cudaStreamSynchronize";
  return sync == model::SyncKind::kEvent ? "cudaEventSynchronize" : "cudaDeviceSynchronize";
}

}  // namespace

std::string_view call_name(model::Trace const& trace, uint32_t row) {
  using model::ApiClass;
  std::string_view const name = trace.name(row);
  ApiClass const known = model::classify(model::plain_name(name));

  switch (trace.kind(row)) {
    case model::EventKind::kLaunch:
      return known == ApiClass::kLaunch ? name : "cudaLaunchKernel";
    case model::EventKind::kSync: {
      if (known == ApiClass::kSync) return name;
      return sync_name(trace.detail<model::SyncDetail>(row).sync);
    }
    case model::EventKind::kMemory: {
      model::MemoryOp const op = trace.detail<model::MemoryDetail>(row).op;
      if (known == ApiClass::kMemory || op == model::MemoryOp::kUnknown) return name;
      return op == model::MemoryOp::kAllocate ? "cudaMalloc" : "cudaFree";
    }
    default:
      return name;
  }
}

std::string input_wait_name(std::string_view name) {
  bool const is_kineto_name = name.find("DataLoader") != std::string_view::npos &&
                              name.find("__next__") != std::string_view::npos;
  return is_kineto_name ? std::string(name)
                        : fmt::format("enumerate(DataLoader)#{}.__next__", name);
}

std::string copy_name(std::string_view name, model::CopyDetail const& copy) {
  std::string_view const host = copy.pinned != 0 ? "Pinned" : "Pageable";
  bool const tells_pinned = (name.find("Pinned") != std::string_view::npos) == (copy.pinned != 0);
  auto const named = [&](std::string_view direction, std::string_view from, std::string_view to) {
    bool const is_kineto_name = tells_pinned && name.find(direction) != std::string_view::npos;
    return is_kineto_name ? std::string(name)
                          : fmt::format("Memcpy {} ({} -> {})", direction, from, to);
  };

  switch (copy.direction) {
    case model::CopyDirection::kUnknown:
      return std::string(name);
    case model::CopyDirection::kHostToDevice:
      return named("HtoD", host, "Device");
    case model::CopyDirection::kDeviceToHost:
      return named("DtoH", "Device", host);
    case model::CopyDirection::kDeviceToDevice:
      return named("DtoD", "Device", "Device");
    case model::CopyDirection::kPeerToPeer:
      return named("PtoP", "Device", "Device");
    case model::CopyDirection::kHostToHost:
      return named("HtoH", host, host);
  }
  return std::string(name);
}

}  // namespace stepscope::exporting
