// Which process takes which GPUs; see process_gpus.h.
#include "workloads/backend/cuda/process_gpus.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/ranges.h>

namespace stepscope::workloads::cuda {
namespace {

/// Where a process stands among those that see the same GPUs.
struct Place {
  size_t place, processes;
};
Place place_of(std::vector<GpuView> const& views, size_t rank) {
  GpuView const& mine = views[rank];
  Place result = {0, 0};
  for (size_t other = 0; other < views.size(); ++other) {
    GpuView const& theirs = views[other];
    if (theirs.visible != mine.visible) continue;
    ++result.processes;
    // Local ranks that no launcher told are all 0: the ranks decide then.
    if (std::pair(theirs.local_rank, other) < std::pair(mine.local_rank, rank)) ++result.place;
  }
  return result;
}

std::string count_of_gpus(size_t count) {
  return count == 1 ? "the same one GPU" : fmt::format("the same {} GPUs", count);
}

base::Expected<std::vector<int>> choose_for(std::vector<GpuView> const& views, size_t rank) {
  GpuView const& mine = views[rank];
  size_t const gpus = mine.visible.size();
  auto const [place, processes] = place_of(views, rank);

  if (!mine.wanted.given) {
    if (place < gpus) return std::vector{static_cast<int>(place)};
    return base::fail(
        "cuda: {} processes see {}: start as many processes as there are GPUs (mpirun -n {}), name "
        "one that all share (--device cuda:0, with NCCL 2.30 or newer), or use --device host",
        processes, count_of_gpus(gpus), gpus);
  }

  if (mine.wanted.gpus.empty()) {
    if (gpus % processes != 0) {
      return base::fail(
          "cuda:all: {} processes cannot share {} evenly: start a number of processes that divides "
          "them",
          processes, count_of_gpus(gpus));
    }

    std::vector<int> share(gpus / processes);
    std::iota(share.begin(), share.end(), static_cast<int>(place * share.size()));
    return share;
  }

  for (int const gpu : mine.wanted.gpus) {
    if (static_cast<size_t>(gpu) >= gpus) {
      return base::fail(
          "cuda:{}: rank {} sees no such GPU, it sees {}: cuda takes one for each process", gpu,
          rank, gpus);
    }
  }

  return mine.wanted.gpus;
}

bool is_named(GpuView const& view) { return view.wanted.given && !view.wanted.gpus.empty(); }

/// Fills `sharers`.
base::Expected<void> count_sharers(std::vector<GpuView> const& views,
                                   std::vector<GpuChoice>& choices) {
  std::map<std::string_view, std::vector<size_t>> ranks_of;  // of each GPU
  auto const ranks_on = [&](size_t rank, int gpu) -> std::vector<size_t>& {
    return ranks_of[views[rank].visible[static_cast<size_t>(gpu)]];
  };

  for (size_t rank = 0; rank < views.size(); ++rank) {
    for (int const gpu : choices[rank].gpus) {
      std::vector<size_t>& ranks = ranks_on(rank, gpu);
      if (!ranks.empty() && ranks.back() == rank) {
        return base::fail(
            "cuda:{}: rank {} names it twice; devices of one process share a GPU only where it "
            "trains alone",
            gpu, rank);
      }

      // Who names a GPU asks to share it.
      if (!ranks.empty() && !(is_named(views[rank]) && is_named(views[ranks.front()]))) {
        return base::fail(
            "cuda:{}: ranks {} and {} would both have it: use --device cuda on all, or name a GPU "
            "on all",
            gpu, ranks.front(), rank);
      }
      ranks.push_back(rank);
    }
  }

  for (size_t rank = 0; rank < views.size(); ++rank) {
    for (int const gpu : choices[rank].gpus)
      choices[rank].sharers.push_back(static_cast<uint32_t>(ranks_on(rank, gpu).size()));
  }
  return {};
}

}  // namespace

std::string pack(GpuView const& view) {
  return fmt::format("{} {} {} {} {} {}", view.local_rank, view.wanted.given ? 1 : 0,
                     view.wanted.gpus.size(), fmt::join(view.wanted.gpus, " "), view.visible.size(),
                     fmt::join(view.visible, " "));
}

GpuView unpack(std::string const& packed) {
  std::istringstream in(packed);
  GpuView view;
  size_t named = 0, visible = 0;
  in >> view.local_rank >> view.wanted.given >> named;
  for (int gpu = 0; view.wanted.gpus.size() < named && in >> gpu;) view.wanted.gpus.push_back(gpu);
  in >> visible;
  for (std::string id; view.visible.size() < visible && in >> id;) view.visible.push_back(id);
  return view;
}

base::Expected<std::vector<GpuChoice>> choose_gpus(std::vector<GpuView> const& views) {
  std::vector<GpuChoice> choices;
  for (size_t rank = 0; rank < views.size(); ++rank) {
    auto gpus = choose_for(views, rank);
    if (!gpus) return base::fail_with(gpus);

    choices.push_back({std::move(*gpus), {}});
    if (choices.back().gpus.size() == choices.front().gpus.size()) continue;
    return base::fail("cuda: rank {} has {} GPUs, rank 0 {}: all processes must have as many", rank,
                      choices.back().gpus.size(), choices.front().gpus.size());
  }

  if (auto counted = count_sharers(views, choices); !counted) return base::fail_with(counted);
  return choices;
}

bool share_gpus(std::vector<GpuChoice> const& choices) {
  return std::any_of(choices.begin(), choices.end(), [](GpuChoice const& choice) {
    return std::any_of(choice.sharers.begin(), choice.sharers.end(),
                       [](uint32_t sharers) { return sharers > 1; });
  });
}

}  // namespace stepscope::workloads::cuda
