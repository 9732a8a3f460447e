#include "trace/export/chrome/chrome_exporter.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
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
  Expected<void> add(model::Trace const& trace, int64_t offset_ns) override {
    ++processes_;
    return document_.add(trace, offset_ns);
  }
  Expected<void> finish() override {
    auto file = std::move(document_).close();
    return file ? file->finish() : base::fail_with(file);
  }
  /// Readers of PyTorch's traces, ours among them, take a file for one rank.
  [[nodiscard]] std::string note() const override {
    if (processes_ < 2) return {};
    return fmt::format("{} ranks in one file: for viewing; -o FOLDER/ makes one that can be analyzed", processes_);
  }

 private:
  ChromeDocument document_;
  size_t processes_ = 0;
};

bool skip_digits(std::string_view& text) {
  size_t const length = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(length);
  return length > 0;
}

/// Such a name as ranks get here: rank-N.json, rank-N-COPY.json.
bool is_name_of_rank(std::string_view name) {
  constexpr std::string_view kBegin = "rank-", kEnd = ".json";
  if (!name.starts_with(kBegin)) return false;
  name.remove_prefix(kBegin.size());
  if (!skip_digits(name)) return false;
  if (name.starts_with('-')) {
    name.remove_prefix(1);
    if (!skip_digits(name)) return false;
  }
  return name == kEnd;
}

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
    return {};
  }

  size_t remove_leftovers() override {
    std::error_code ignored;
    std::vector<fs::path> old;
    for (auto const& entry : fs::directory_iterator(folder_, ignored)) {
      std::string const name = entry.path().filename().string();
      if (is_name_of_rank(name) && !names_.contains(name) && entry.is_regular_file(ignored)) old.push_back(entry.path());
    }
    return static_cast<size_t>(
        std::count_if(old.begin(), old.end(), [&](fs::path const& path) { return fs::remove(path, ignored); }));
  }

 private:
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
