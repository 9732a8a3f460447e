#include "trace/export/perfetto/perfetto_exporter.h"

#include <utility>

#include "trace/export/perfetto/packets.h"
#include "trace/export/perfetto/process_events.h"

namespace stepscope::exporting {
namespace {

class PerfettoExporter final : public Exporter {
 public:
  explicit PerfettoExporter(base::PartialFile file) : file_(std::move(file)) {}
  base::Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    ProcessEvents(trace, offset_ns, file_).write();
    return file_.status();
  }
  base::Expected<void> finish() override { return file_.finish(); }

 private:
  PacketFile file_;
};

}  // namespace

base::Expected<std::unique_ptr<Exporter>> open_perfetto(std::string const& path) {
  auto file = base::PartialFile::create(path);
  if (!file) return base::fail_with(file);
  return std::make_unique<PerfettoExporter>(std::move(*file));
}

}  // namespace stepscope::exporting
