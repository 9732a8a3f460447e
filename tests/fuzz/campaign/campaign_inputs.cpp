#include "tests/fuzz/campaign/campaign_inputs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "tests/fuzz/mutators/damaged_trace.h"
#include "tests/fuzz/mutators/mutate_bytes.h"
#include "trace/base/check.h"

namespace stepscope::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostReadable = 512;
/// Largest piece of one input that is put into another.
constexpr size_t kMostSplicedBytes = 256;
constexpr size_t kMostBlocks = 64;

/// Folders of the corpus whose files are traces. The files of `commands` begin with a byte that
/// chooses the command.
constexpr std::pair<char const*, size_t> kFolders[] = {
    {"commands", 1},        {"trace_reader", 0},   {"chrome_trace", 0}, {"nsys", 0},
    {"flight_recorder", 0}, {"nccl_inspector", 0}, {"xplane", 0},       {"rocprofv3", 0}};

std::vector<uint8_t> as_numbers(Input const& input) {
  std::vector<uint8_t> numbers(input.size());
  if (!input.empty()) std::memcpy(numbers.data(), input.data(), input.size());
  return numbers;
}

Input as_input(std::vector<uint8_t> const& numbers) {
  auto const bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

std::mt19937_64& bytes_random() {
  static std::mt19937_64 random;
  return random;
}

/// As LLVMFuzzerMutate.
size_t mutate_in_place(uint8_t* data, size_t size, size_t max_size) {
  std::vector<uint8_t> bytes(data, data + size);
  mutate_once(bytes, bytes_random());
  bytes.resize(std::min(bytes.size(), max_size));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace

CampaignInputs::CampaignInputs(std::string const& corpus, uint64_t seed) : random_(seed) {
  bytes_random().seed(seed + 1);
  for (auto const& [folder, prefix] : kFolders) {
    std::vector<fs::path> files;
    for (auto const& entry : fs::directory_iterator(fs::path(corpus) / folder))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());

    for (fs::path const& file : files) {
      std::ifstream in(file, std::ios::binary);
      std::vector<uint8_t> const bytes{std::istreambuf_iterator<char>(in),
                                       std::istreambuf_iterator<char>()};
      STEPSCOPE_CHECK(bytes.size() >= prefix);
      Input input = as_input(bytes);
      input.erase(input.begin(), input.begin() + static_cast<ptrdiff_t>(prefix));
      seeds_.push_back(std::move(input));
    }
  }
}

Input const& CampaignInputs::pick() {
  bool const is_mutant = !readable_.empty() && random_() % 2 == 0;
  std::vector<Input> const& from = is_mutant ? readable_ : seeds_;
  return from[random_() % from.size()];
}

void CampaignInputs::keep(Input input) {
  if (readable_.size() < kMostReadable)
    readable_.push_back(std::move(input));
  else
    readable_[random_() % kMostReadable] = std::move(input);
}

Input CampaignInputs::next() {
  Input input = pick();
  if (begins_as_trace(input) && random_() % 8 != 0)
    mutate_trace(input);
  else
    mutate_other(input);

  input.resize(std::min(input.size(), kMostBytes));
  bool const is_repaired = begins_as_trace(input) && random_() % 8 != 0;
  if (is_repaired) repair_checksums(input);
  return input;
}

void CampaignInputs::mutate_trace(Input& input) {
  auto blocks = take_apart(input);
  for (uint64_t count = 1 + random_() % 3; count > 0; --count)
    mutate_blocks(blocks, random_, mutate_in_place);

  // A block of another file.
  if (random_() % 8 == 0 && blocks.size() < kMostBlocks) {
    if (Input const& other = pick(); begins_as_trace(other)) {
      auto const others = take_apart(other);
      auto const place = blocks.begin() + static_cast<ptrdiff_t>(random_() % (blocks.size() + 1));
      if (!others.empty()) blocks.insert(place, others[random_() % others.size()]);
    }
  }

  IndexForm const index = any_index_form(random_);
  auto made = put_together(blocks, index, random_);
  input = std::move(made);
}

void CampaignInputs::mutate_other(Input& input) {
  if (random_() % 2 == 0) {
    bool is_changed = false;
    for (uint64_t count = 1 + random_() % 3; count > 0; --count)
      is_changed = mutate_json(input, random_);
    if (is_changed) return;
  }

  std::vector<uint8_t> bytes = as_numbers(input);
  for (uint64_t count = 1 + random_() % 4; count > 0; --count) mutate_once(bytes, random_);
  input = as_input(bytes);

  // A piece of another file.
  if (random_() % 8 != 0) return;
  Input const& other = pick();
  if (other.empty()) return;
  size_t const from = random_() % other.size();
  size_t const size = std::min<size_t>(other.size() - from, 1 + random_() % kMostSplicedBytes);
  auto const place = input.begin() + static_cast<ptrdiff_t>(random_() % (input.size() + 1));
  input.insert(place, other.begin() + static_cast<ptrdiff_t>(from),
               other.begin() + static_cast<ptrdiff_t>(from + size));
}

}  // namespace stepscope::fuzz
