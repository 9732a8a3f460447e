#include "trace/export/tables/table_files.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "trace/base/files/output_folder.h"

namespace stepscope::exporting {
namespace {

namespace fs = std::filesystem;
using base::Expected;

class TableFilesExporter final : public Exporter {
 public:
  explicit TableFilesExporter(OpenTableFile open_table) : open_table_(open_table) {}

  /// The events alone.
  Expected<void> open_file(std::string const& path) {
    for (model::TraceTable const& table : model::trace_tables())
      if (table.name == "events")
        if (auto const opened = open(path, table); !opened) return opened;
    return {};
  }
  /// Each file goes by itself, over an old one of its name.
  Expected<void> open_folder(std::string const& path, std::string_view suffix) {
    auto folder = base::OutputFolder::take(path);
    if (!folder) return base::fail_with(folder);
    folder_.emplace(std::move(*folder));
    auto const staging = folder_->staging();
    if (!staging) return base::fail_with(staging);

    for (model::TraceTable const& table : model::trace_tables()) {
      auto const opened = open(fmt::format("{}/{}{}", *staging, table.name, suffix), table);
      if (!opened) return in_place(opened);
    }
    return {};
  }

  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    model::TableSource const source(trace, offset_ns);
    for (auto const& file : files_)
      if (auto const added = file->add(source); !added) return in_place(added);
    return {};
  }
  Expected<void> finish() override {
    for (auto const& file : files_)
      if (auto const finished = file->finish(); !finished) return in_place(finished);
    return folder_ ? folder_->publish() : Expected<void>();
  }
  [[nodiscard]] std::string note() const override {
    std::string notes;
    for (auto const& file : files_) {
      std::string const note = file->note();
      if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
    }
    return notes;
  }

 private:
  Expected<void> open(std::string const& path, model::TraceTable const& table) {
    auto file = base::PartialFile::create(path);
    if (!file) return base::fail_with(file);
    files_.push_back(open_table_(std::move(*file), table));
    return {};
  }
  [[nodiscard]] Expected<void> in_place(Expected<void> const& failed) const {
    return tl::unexpected(folder_ ? folder_->in_place(failed.error()) : failed.error());
  }

  OpenTableFile open_table_;
  std::optional<base::OutputFolder> folder_;  ///< outlives the files in it
  std::vector<std::unique_ptr<TableFileWriter>> files_;
};

/// One that is there, a name that ends with "/", or one that no file of data would have.
bool names_folder(std::string const& path) {
  std::error_code ignored;
  return path.ends_with('/') || fs::is_directory(path, ignored) || !fs::path(path).has_extension();
}

}  // namespace

Expected<std::unique_ptr<Exporter>> open_table_files(std::string const& path,
                                                     std::string_view suffix, OpenTableFile open) {
  // "folder/" is the folder.
  std::string const place = path.substr(0, path.find_last_not_of('/') + 1);
  std::string const& target = place.empty() ? path : place;

  auto exporter = std::make_unique<TableFilesExporter>(open);
  auto const opened =
      names_folder(path) ? exporter->open_folder(target, suffix) : exporter->open_file(target);
  if (!opened) return base::fail_with(opened);
  return exporter;
}

}  // namespace stepscope::exporting
