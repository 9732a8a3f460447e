// Numbers in the names of the files or folders of one run, and what each counts: ranks, GPUs of a
// host, steps at which a profiler was started. The names are judged together: what is the same in
// all of them tells no rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::import {

enum class NameCounts : uint8_t {
  kOther,    ///< no word tells
  kRank,     ///< "rank3", "global_rank_3", "worker3", "trace-3-of-16"
  kPlace,    ///< in a parallel job: "tp0", "pp_rank_1"
  kNode,     ///< "node1", "host-12"
  kLocal,    ///< of a host: "gpu3", "local_rank1", "npu_0"
  kCapture,  ///< "step100", "iteration_10", "epoch2"
  kTime,     ///< of more digits than ranks have
  kTotal     ///< "of 16"
};

struct NameNumber {
  std::string word;  ///< before it, in lower case: "rank", "tp rank"; behind it for "3_rank"
  NameCounts counts = NameCounts::kOther;
  uint64_t value = 0;
  size_t begin = 0, end = 0;  ///< in the text
};
/// In their order. `text`: a name or a path without its extensions, in lower case.
std::vector<NameNumber> numbers_in(std::string_view text);
/// In lower case, without ".pt.trace.json.gz" and the like.
std::string name_without_extensions(std::string_view path);

struct NamedRanks {
  std::vector<int32_t> ranks;  ///< one a path; empty: the names do not tell
  bool is_known = false;       ///< by the word before the number; else it is a guess
};
/// Ranks of files of one run, by what differs in their paths: the number behind "rank", places in a
/// parallel job, node and GPU, or the only number that differs. Files whose names differ in steps
/// or times alone have one rank. Numbers too large for ranks of so few files (process ids) tell
/// nothing. Nor do files that are named twice, as they hold several processes. `world_size`: 0 or
/// 1 = not known.
NamedRanks ranks_of_names(std::span<std::string const> paths, int32_t world_size);

enum class FoldersAre : uint8_t {
  kOthers,      ///< their names differ in more than numbers, or in nothing that tells
  kRanks,       ///< by their words: "rank_0", "gpu1", "node0_gpu1", "HOST_PID_TIME_ascend_pt"
  kMaybeRanks,  ///< bare numbers from 0
  kCaptures     ///< "iteration_10", times, or other numbers
};
/// What the folders of one parent stand for, by their names.
FoldersAre meaning_of_folders(std::span<std::string const> names);

}  // namespace stepscope::import
