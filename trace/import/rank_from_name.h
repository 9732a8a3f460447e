// Which rank of a job a file belongs to, by its name and its folder's, and the order of names that hold numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::import {

/// "TP-9" before "TP-10": runs of digits compare as numbers. A strict order of all texts.
bool natural_less(std::string_view a, std::string_view b);

/// The rank that a path tells: 3 of "rank-3.json.gz", "worker3.12.pt.trace.json", "trace_8_rank_3.json", "ID-TP-3.trace.json.gz"
/// and, where the file's name tells none, of the folders "rank_3/host.json" and "worker3/host.json".
std::optional<int32_t> rank_of_name(std::string_view path);
/// The number at the end of a name, before extensions: 3 of "nccl_trace_rank_container-node06_3" and "dump_3.pkl.gz".
std::optional<int32_t> number_at_end(std::string_view path);

/// Ranks of files whose names differ in the parts of a parallel job: "…-TP-0-DP-1…", "…_pp1_tp0…". The numbers of tensor
/// parallelism alone where no two files share one, else tensor before context, data and pipeline parallelism. None when a
/// name has no such part, or two files would have one rank.
std::vector<int32_t> ranks_of_parallel_names(std::span<std::string const> paths);

}  // namespace stepscope::import
