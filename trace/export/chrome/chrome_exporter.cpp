#include "trace/export/chrome/chrome_exporter.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/export/chrome/chrome_document.h"

namespace stepscope::exporting {
namespace {

namespace fs = std::filesystem;
using base::Expected;

class ChromeFile final : public Exporter {
 public:
  explicit ChromeFile(base::PartialFile file) : document_(std::move(file), true) {}
  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override { return document_.add(trace, offset_ns); }
  Expected<void> finish() override {
    auto file = std::move(document_).close();
    return file ? file->finish() : base::fail_with(file);
  }

 private:
  ChromeDocument document_;
};

class ChromeFolder final : public Exporter {
 public:
  ChromeFolder(fs::path folder, bool is_new) : folder_(std::move(folder)), is_new_(is_new) {}
  ~ChromeFolder() override {
    files_.clear();  // removes them
    std::error_code ignored;
    if (is_new_ && !is_finished_) fs::remove(folder_, ignored);
  }

  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    std::string name = fmt::format("rank-{}.json", trace.info().rank);
    for (int copy = 2; !names_.insert(name).second; ++copy) name = fmt::format("rank-{}-{}.json", trace.info().rank, copy);
    auto file = base::PartialFile::create((folder_ / name).string());
    if (!file) return base::fail_with(file);
    ChromeDocument document(std::move(*file), false);
    if (auto const added = document.add(trace, offset_ns); !added) return added;
    auto written = std::move(document).close();
    if (!written) return base::fail_with(written);
    files_.push_back(std::move(*written));
    return {};
  }

  Expected<void> finish() override {
    for (base::PartialFile& file : files_)
      if (auto const finished = file.finish(); !finished) return finished;
    is_finished_ = true;
    remove_old();
    return {};
  }

 private:
  /// Of a run with more ranks that was here before: they would be taken for this one's.
  void remove_old() const {
    std::error_code ignored;
    std::vector<fs::path> old;
    for (auto const& entry : fs::directory_iterator(folder_, ignored)) {
      std::string const name = entry.path().filename().string();
      if (name.starts_with("rank-") && name.ends_with(".json") && !names_.contains(name)) old.push_back(entry.path());
    }
    for (fs::path const& path : old) fs::remove(path, ignored);
  }

  fs::path folder_;
  bool is_new_, is_finished_ = false;
  std::set<std::string> names_;
  std::vector<base::PartialFile> files_;
};

}  // namespace

Expected<std::unique_ptr<Exporter>> open_chrome(std::string const& path) {
  std::error_code error;
  bool const is_there = fs::is_directory(path, error);
  if (is_there || path.ends_with('/')) {
    if (!is_there) fs::create_directories(path, error);
    if (!is_there && error) return base::fail("{}: cannot be made ({}), choose another folder with -o", path, error.message());
    return std::make_unique<ChromeFolder>(path, !is_there);
  }
  auto file = base::PartialFile::create(path);
  if (!file) return base::fail_with(file);
  return std::make_unique<ChromeFile>(std::move(*file));
}

}  // namespace stepscope::exporting
