// The files of a run that is shown, looked at from outside: whether one has grown, was cut,
// replaced or removed, and whether another one came.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace stepscope::viewer {

/// What happened to a run's files between two looks.
struct FileChange {
  bool grew = false;  ///< something was written behind what is known, or a file came
  std::string lost;   ///< "rank-3.stepscope became shorter": what was read is not what is there any
                      ///< more; hostile text
  [[nodiscard]] bool is_any() const { return grew || !lost.empty(); }
};

/// Not for several threads at once.
class RunFiles {
 public:
  RunFiles() = default;
  /// As they are now: taken before they are read, whatever is written meanwhile is a change.
  /// `paths`: files and folders.
  explicit RunFiles(std::vector<std::string> const& paths);
  /// Files that opening found elsewhere; known ones are passed over.
  void add(std::vector<std::string> const& files);

  /// What has changed since the last look. Costs a system call a file and folder, of many files
  /// some at a time; a folder is read where something came or went.
  FileChange look();
  /// Seconds since one of them was written, by the clock of the file system; large without files.
  [[nodiscard]] double seconds_since_written() const;
  [[nodiscard]] bool is_empty() const { return files_.empty(); }

 private:
  struct Stamp {
    bool exists = false;
    uint64_t device = 0, inode = 0, size = 0;
    int64_t made_ns = 0, written_ns = 0;  ///< epoch; 0 = the file system does not know
  };
  struct File {
    std::string path;
    Stamp stamp;
    bool is_suspect =
        false;  ///< was written without having grown: at the next look that is known for sure
  };
  struct Folder {
    std::string path;
    int64_t written_ns = 0;
    std::unordered_set<std::string> names;  ///< all that were seen in it
  };
  static Stamp stamp_of(std::string const& path);
  bool add_file(std::string const& path);
  bool read_folder(Folder& folder);
  void look_at(File& file, FileChange& change);

  std::vector<File> files_;
  std::unordered_set<std::string> known_;
  std::vector<Folder> folders_;
  size_t next_ = 0;  ///< of files_
};

}  // namespace stepscope::viewer
