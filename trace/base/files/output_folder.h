// A folder that a command writes its output to. While the command lives the folder is locked; new
// files stand in a hidden folder inside until all are whole, and then take their places. What the
// command does not finish goes, and so do folders made for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/expected.h"
#include "trace/base/files/lock_file.h"
#include "trace/base/files/temporary.h"

namespace stepscope::base {

using IsNamed = std::function<bool(std::string_view file_name)>;

/// Whether a file is Stepscope's own lock or temporary: no content of a folder.
bool is_hidden_helper(std::string_view file_name);

/// Removes the files of these names in `folder`, and links of these names without following them.
/// Errors: no permission.
Expected<void> remove_files(std::string const& folder, IsNamed const& is_old);

/// Whether anything else is in the folder.
bool has_content(std::string const& folder);

/// A folder, and those that it is in, made where they are missing. Destroyed: those made here go
/// where nothing is in them.
class MadeFolders {
 public:
  /// Errors: a file has the name, no permission.
  static Expected<MadeFolders> make(std::string const& folder);

  MadeFolders() = default;
  MadeFolders(MadeFolders&&) = default;
  MadeFolders& operator=(MadeFolders&&) = default;
  MadeFolders(MadeFolders const&) = delete;
  MadeFolders& operator=(MadeFolders const&) = delete;
  ~MadeFolders();

 private:
  std::vector<Unfinished> made_;  ///< the outermost first
};

class OutputFolder {
 public:
  /// Makes the folder, and those it is in, where they are missing. Errors: a file has its name, no
  /// permission, or another command is writing there.
  static Expected<OutputFolder> take(std::string folder,
                                     LockFile::Share share = LockFile::Share::kAlone);

  OutputFolder(OutputFolder&&) = default;
  OutputFolder& operator=(OutputFolder&&) = delete;
  OutputFolder(OutputFolder const&) = delete;
  OutputFolder& operator=(OutputFolder const&) = delete;

  [[nodiscard]] std::string const& path() const { return folder_; }
  /// Where new files are written. Made at the first call. Errors: the disk is full.
  Expected<std::string> staging();
  /// Removes the old files and moves the staged ones to their places. Errors: a folder has the name
  /// of one (then nothing has changed), the disk is full.
  Expected<void> publish(IsNamed const& is_old);
  /// The same, and only files of the staged ones' names are replaced.
  Expected<void> publish() {
    return publish([](std::string_view) { return false; });
  }
  /// With the name of the hidden folder replaced by that of the output.
  [[nodiscard]] Error in_place(Error error) const;

 private:
  explicit OutputFolder(std::string folder) : folder_(std::move(folder)) {}

  // Destroyed from the last to the first.
  std::string folder_;
  MadeFolders made_;
  std::optional<LockFile> lock_;
  std::optional<TemporaryFolder> staging_;
};

}  // namespace stepscope::base
