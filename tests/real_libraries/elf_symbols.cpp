#include "tests/real_libraries/elf_symbols.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace stepscope::real_libraries {
namespace {

template <class Type>
std::optional<std::vector<Type>> read(std::ifstream& file, uint64_t offset, uint64_t bytes) {
  std::vector<Type> result(bytes / sizeof(Type));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(result.data()),
            static_cast<std::streamsize>(result.size() * sizeof(Type)));
  if (!file) return {};
  return result;
}

std::map<std::string, uint64_t> functions_of(std::ifstream& file, Elf64_Shdr const& table,
                                             Elf64_Shdr const& names) {
  auto const symbols = read<Elf64_Sym>(file, table.sh_offset, table.sh_size);
  auto const texts = read<char>(file, names.sh_offset, names.sh_size);
  std::map<std::string, uint64_t> result;
  if (!symbols || !texts || texts->empty() || texts->back() != '\0') return result;

  for (Elf64_Sym const& symbol : *symbols) {
    unsigned char const type = ELF64_ST_TYPE(symbol.st_info);
    bool const is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (!is_function || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts->size()) continue;
    result.emplace(texts->data() + symbol.st_name, symbol.st_value);
  }
  return result;
}

}  // namespace

ElfSymbols read_elf_symbols(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  ElfSymbols result;
  auto const header = read<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
  if (!header || std::memcmp(header->front().e_ident, ELFMAG, SELFMAG) != 0 ||
      header->front().e_ident[EI_CLASS] != ELFCLASS64)
    return result;

  Elf64_Ehdr const& elf = header->front();
  auto const sections = read<Elf64_Shdr>(file, elf.e_shoff, elf.e_shnum * sizeof(Elf64_Shdr));
  if (!sections) return result;
  for (Elf64_Shdr const& section : *sections) {
    if (section.sh_link >= sections->size()) continue;
    Elf64_Shdr const& names = (*sections)[section.sh_link];
    if (section.sh_type == SHT_DYNSYM) result.exported = functions_of(file, section, names);
    if (section.sh_type == SHT_SYMTAB) result.all = functions_of(file, section, names);
  }
  return result;
}

}  // namespace stepscope::real_libraries
