// Symbols of an ELF file: those that a library exports, and the local ones where it kept them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepscope::real_libraries {

struct ElfSymbols {
  std::map<std::string, uint64_t> exported;  ///< functions that it defines: value by name
  std::map<std::string, uint64_t> all;       ///< of its full table; empty when it was stripped
};

/// Empty for a file that is no 64-bit ELF file of this machine.
ElfSymbols read_elf_symbols(std::string const& path);

}  // namespace stepscope::real_libraries
