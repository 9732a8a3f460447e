// Which rank of a job a file belongs to, by its name and its folder's, and the order of names that
// hold numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::import {

/// What notes of processes have whose rank their format's reader guessed.
inline constexpr std::string_view kRankIsAGuess = "its rank is a guess";

/// "TP-9" before "TP-10": runs of digits compare as numbers. A strict order of all texts.
bool natural_less(std::string_view a, std::string_view b);

/// The rank that a path alone tells: 3 of "rank-3.json.gz", "trace (rank 3).json",
/// "worker3.12.pt.trace.json", "trace_8_rank_3.json", "ID-TP-3-DECODE.trace.json.gz" and, where the
/// file's name tells none, of the folders "rank_3/host.json" and "worker3/host.json".
std::optional<int32_t> rank_of_name(std::string_view path);
/// The number at the end of a name, before extensions: 3 of "nccl_trace_rank_container-node06_3"
/// and "dump_3.pkl.gz".
std::optional<int32_t> number_at_end(std::string_view path);

}  // namespace stepscope::import
