// Any trace, made from any bytes, is exported. JSON is valid and opens again with as many device
// ops. In a Perfetto trace every length fits, and begins and ends nest.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "trace/base/check.h"
#include "trace/base/files/mapped_file.h"
#include "trace/export/exporters.h"
#include "trace/import/formats/chrome/chrome_importer.h"

namespace {

using namespace stepscope;

/// Walks protobuf's wire format: calls visit(field, number, bytes) for each field of a message.
template <class Visit>
void walk(std::string_view message, Visit&& visit) {
  auto const varint = [&] {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      STEPSCOPE_CHECK(!message.empty() && shift < 64);
      auto const byte = static_cast<unsigned char>(message[0]);
      message.remove_prefix(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  };

  while (!message.empty()) {
    uint64_t const tag = varint();
    if ((tag & 7U) == 0) {
      visit(tag >> 3U, varint(), std::string_view());
      continue;
    }

    STEPSCOPE_CHECK((tag & 7U) == 1 || (tag & 7U) == 2);
    uint64_t const length = (tag & 7U) == 1 ? 8 : varint();
    STEPSCOPE_CHECK(length <= message.size());
    visit(tag >> 3U, 0, message.substr(0, length));
    message.remove_prefix(length);
  }
}

void check_perfetto(std::string_view trace) {
  struct Track {
    int64_t open = 0;
    uint64_t last = 0;
  };
  std::map<uint64_t, Track> tracks;

  walk(trace, [&](uint64_t field, uint64_t, std::string_view packet) {
    STEPSCOPE_CHECK(field == 1);
    uint64_t time = 0, type = 0, uuid = 0;
    walk(packet, [&](uint64_t of_packet, uint64_t number, std::string_view message) {
      if (of_packet == 8) time = number;
      if (of_packet != 11) return;
      walk(message, [&](uint64_t of_event, uint64_t value, std::string_view) {
        if (of_event == 9) type = value;
        if (of_event == 11) uuid = value;
      });
    });

    if (type != 1 && type != 2) return;
    Track& track = tracks[uuid];
    STEPSCOPE_CHECK(time >= track.last);
    track.last = time;
    track.open += type == 1 ? 1 : -1;
    STEPSCOPE_CHECK(track.open >= 0);
  });

  for (auto const& [uuid, track] : tracks) STEPSCOPE_CHECK(track.open == 0);
}

uint64_t device_ops(model::Trace const& trace) {
  uint64_t ops = 0;
  for (model::EventKind const kind : trace.columns().kind) ops += model::is_device_op(kind) ? 1 : 0;
  return ops;
}

void check_json(base::ByteSpan bytes, model::Trace const& trace) {
  std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  STEPSCOPE_CHECK(nlohmann::json::accept(text));
  auto const again = import::read_chrome_trace(import::Input(bytes, "rank-1.json"));
  STEPSCOPE_CHECK(again.has_value());
  STEPSCOPE_CHECK(device_ops(*again) == device_ops(trace));
}

/// One file a process of the fuzzer, removed when it ends.
class Target {
 public:
  ~Target() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("stepscope-fuzz-export-" + std::to_string(::getpid())))
                          .string();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* data, size_t size) {
  static Target const target;
  auto const trace =
      import::read_chrome_trace(import::Input(std::as_bytes(std::span(data, size)), "rank-1.json"));
  if (!trace) return 0;

  for (exporting::ExportFormat const& format : exporting::export_formats()) {
    if (format.name != "perfetto" && format.name != "chrome") continue;
    auto const exporter = format.open(target.path());
    STEPSCOPE_CHECK(exporter && (*exporter)->add(*trace, 0) && (*exporter)->finish());

    auto const written = base::MappedFile::open(target.path());
    STEPSCOPE_CHECK(written.has_value());
    if (format.name == "chrome") {
      check_json(written->bytes(), *trace);
    } else {
      check_perfetto(
          {reinterpret_cast<char const*>(written->bytes().data()), written->bytes().size()});
    }
  }
  return 0;
}
