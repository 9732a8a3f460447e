#include "tests/fuzz/fuzz_input.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "tests/fuzz/mutators/damaged_trace.h"
#include "trace/base/check.h"
#include "trace/file/block_list.h"

namespace stepscope::fuzz {
namespace {

namespace fs = std::filesystem;

uint64_t claimed_events(base::ByteSpan trace) {
  uint64_t events = 0;
  for (file::IndexEntry const& block : file::find_blocks(trace).blocks)
    if (block.header.type == static_cast<uint16_t>(file::BlockType::kEvents))
      events += block.header.rows;
  return events;
}

}  // namespace

InputFolder::InputFolder() {
  char const* const place = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  folder_ = fmt::format("{}/stepscope-fuzz-{}", place, ::getpid());
  input_ = folder_ + "/in/run.stepscope";
  output_ = folder_ + "/out";
  fs::create_directories(folder_ + "/in");
}

InputFolder::~InputFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool InputFolder::take(base::ByteSpan bytes, bool with_sound_checksums, uint64_t most_events) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  if (with_sound_checksums && begins_as_trace(copy)) repair_checksums(copy);
  if (begins_as_trace(copy) && claimed_events(copy) > most_events) return false;

  std::error_code ignored;
  fs::remove_all(output_, ignored);
  std::ofstream out(input_, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<char const*>(copy.data()), static_cast<std::streamsize>(copy.size()));
  out.close();
  STEPSCOPE_CHECK(out.good());
  return true;
}

}  // namespace stepscope::fuzz
