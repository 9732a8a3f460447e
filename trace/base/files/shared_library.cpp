#include "trace/base/files/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace stepscope::base {
namespace {

template <class Type>
bool read_at(std::ifstream& file, uint64_t offset, Type& value) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return static_cast<bool>(file);
}

/// Bytes of the file that the loader maps; 0 = it is no library, or not of this machine.
uint64_t mapped_bytes(std::ifstream& file) {
  ElfW(Ehdr) header{};
  bool const is_elf = read_at(file, 0, header) &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_phentsize == sizeof(ElfW(Phdr));
  if (!is_elf) return 0;

  uint64_t most = header.e_phoff + uint64_t{header.e_phnum} * sizeof(ElfW(Phdr));
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) break;
    // A sum that overflows is no size: the loader refuses such a file.
    uint64_t const end = segment.p_offset + segment.p_filesz;
    if (segment.p_type == PT_LOAD && end >= segment.p_offset) most = std::max(most, end);
  }
  return most;
}

/// Empty when it is in none of them.
std::string find(std::string const& name, std::vector<std::string> const& folders) {
  std::error_code error;
  if (name.find('/') != std::string::npos) return name;
  for (std::string const& folder : folders)
    if (std::string path = folder + "/" + name; std::filesystem::is_regular_file(path, error))
      return path;
  return {};
}

}  // namespace

Expected<void> check_shared_library(std::string const& name,
                                    std::vector<std::string> const& folders) {
  std::string const path = find(name, folders);
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error)) return {};
  uint64_t const size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return {};

  uint64_t const needed = mapped_bytes(file);
  if (needed <= size) return {};
  return fail("{}: is incomplete, it has {} of {} bytes: install its package again", path, size,
              needed);
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  Dl_info self{};
  void* const own = ::dladdr(reinterpret_cast<void const*>(&library_folders), &self) != 0
                        ? ::dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : nullptr;
  // The program itself is not found by its name.
  void* const handle = own != nullptr ? own : ::dlopen(nullptr, RTLD_LAZY);
  if (handle == nullptr) return folders;

  Dl_serinfo size{};
  if (::dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<uint64_t> memory(size.dls_size / sizeof(uint64_t) + 1);
    auto* const all = reinterpret_cast<Dl_serinfo*>(memory.data());
    all->dls_size = size.dls_size;
    all->dls_cnt = size.dls_cnt;
    if (::dlinfo(handle, RTLD_DI_SERINFO, all) == 0)
      for (unsigned i = 0; i < all->dls_cnt; ++i)
        if (char const* const folder = all->dls_serpath[i].dls_name; *folder != '\0')
          folders.emplace_back(folder);
  }

  ::dlclose(handle);
  return folders;
}

}  // namespace stepscope::base
