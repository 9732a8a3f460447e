#include "trace/model/build/order_batches.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>

#include "trace/model/event_view.h"

namespace stepscope::model {
namespace {

using DetailRows = std::array<size_t, kDetailTableCount>;

/// About so many rows of each batch are merged at once: small enough for the cache, and for all
/// cores to have work.
constexpr size_t kPieceRows = size_t{1} << 14U;

/// Rows [first, last) of a sorted batch, and the detail rows that the first of them would own.
struct Stretch {
  EventBatch const* batch = nullptr;
  size_t first = 0, last = 0;
  DetailRows details{};
};
/// What several batches have between two times, in the order of the batches.
using Piece = std::vector<Stretch>;

bool follow_each_other(std::vector<EventBatch> const& batches) {
  for (size_t i = 1; i < batches.size(); ++i) {
    auto const last = std::pair(batches[i - 1].start.back(), -batches[i - 1].dur.back());
    if (last > std::pair(batches[i].start.front(), -batches[i].dur.front())) return false;
  }
  return true;
}

/// Times between which there are at most kPieceRows rows of each batch; ascending, the first is the
/// first of all.
std::vector<int64_t> piece_begins(std::vector<EventBatch> const& batches) {
  std::vector<int64_t> begins;
  for (EventBatch const& batch : batches)
    for (size_t row = 0; row < batch.size(); row += kPieceRows) begins.push_back(batch.start[row]);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  return begins;
}

/// Cuts sorted batches at the same times.
std::vector<Piece> cut(std::vector<EventBatch> const& batches) {
  std::vector<int64_t> const begins = piece_begins(batches);
  // Batches by their begin, so that only those are looked at that have rows here.
  std::vector<Stretch> waiting(batches.size());
  std::transform(batches.begin(), batches.end(), waiting.begin(), [](EventBatch const& batch) {
    return Stretch{&batch, 0, 0, {}};
  });
  std::stable_sort(waiting.begin(), waiting.end(), [](Stretch const& a, Stretch const& b) {
    return a.batch->start.front() < b.batch->start.front();
  });
  std::vector<Piece> pieces(begins.size());
  std::vector<Stretch> open;
  size_t next = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    for (; next < waiting.size() && waiting[next].batch->start.front() <= begins[i]; ++next)
      open.push_back(waiting[next]);
    for (Stretch& stretch : open) {
      std::vector<int64_t> const& start = stretch.batch->start;
      auto const from = start.begin() + static_cast<ptrdiff_t>(stretch.first);
      auto const to =
          i + 1 < begins.size() ? std::lower_bound(from, start.end(), begins[i + 1]) : start.end();
      stretch.last = static_cast<size_t>(to - start.begin());
      if (stretch.first == stretch.last) continue;
      pieces[i].push_back(stretch);
      auto const counts = count_details(
          std::span(stretch.batch->kind).subspan(stretch.first, stretch.last - stretch.first));
      for (size_t table = 0; table < counts.size(); ++table)
        stretch.details[table] += counts[table];
      stretch.first = stretch.last;
    }
    std::erase_if(open,
                  [](Stretch const& stretch) { return stretch.first == stretch.batch->size(); });
    std::sort(pieces[i].begin(), pieces[i].end(),
              [](Stretch const& a, Stretch const& b) { return a.batch < b.batch; });
  }
  return pieces;
}

struct MergedRow {
  int64_t start, dur;
  uint32_t stretch, row;

  friend bool operator<(MergedRow const& a, MergedRow const& b) {
    return std::pair(a.start, -a.dur) < std::pair(b.start, -b.dur);
  }
};

/// The rows of a piece in order: each stretch is, so that they are merged two by two.
std::vector<MergedRow> merged_rows(Piece const& piece) {
  std::vector<MergedRow> rows;
  std::vector<ptrdiff_t> bounds = {0};
  for (uint32_t s = 0; s < piece.size(); ++s) {
    for (size_t row = piece[s].first; row < piece[s].last; ++row)
      rows.push_back(
          {piece[s].batch->start[row], piece[s].batch->dur[row], s, static_cast<uint32_t>(row)});
    bounds.push_back(static_cast<ptrdiff_t>(rows.size()));
  }
  while (bounds.size() > 2) {
    std::vector<ptrdiff_t> merged = {0};
    for (size_t i = 2; i < bounds.size(); i += 2) {
      std::inplace_merge(rows.begin() + bounds[i - 2], rows.begin() + bounds[i - 1],
                         rows.begin() + bounds[i]);
      merged.push_back(bounds[i]);
    }
    if (bounds.size() % 2 == 0) merged.push_back(bounds.back());
    bounds = std::move(merged);
  }
  return rows;
}

EventBatch merge(Piece const& piece) {
  std::vector<MergedRow> const rows = merged_rows(piece);
  std::vector<DetailRows> next;
  for (Stretch const& stretch : piece) next.push_back(stretch.details);
  EventBatch out;
  out.reserve(rows.size());
  for (MergedRow const& keyed : rows) {
    EventBatch const& from = *piece[keyed.stretch].batch;
    out.start.push_back(keyed.start);
    out.dur.push_back(keyed.dur);
    out.name.push_back(from.name[keyed.row]);
    out.kind.push_back(from.kind[keyed.row]);
    out.correlation.push_back(from.correlation[keyed.row]);
    DetailTable const table = kind_info(out.kind.back()).table;
    if (table == DetailTable::kNone) continue;
    copy_detail(from.details, table,
                static_cast<uint32_t>(next[keyed.stretch][static_cast<size_t>(table)]++),
                out.details);
  }
  return out;
}

}  // namespace

void order_batches(std::vector<std::vector<EventBatch>>& tracks) {
  std::vector<EventBatch*> all;
  for (auto& batches : tracks) {
    std::erase_if(batches, [](EventBatch const& batch) { return batch.empty(); });
    for (EventBatch& batch : batches) all.push_back(&batch);
  }
  tbb::parallel_for(size_t{0}, all.size(), [&](size_t i) {
    if (!all[i]->is_sorted()) *all[i] = sorted_copy(*all[i]);
  });
  struct Mixed {
    std::vector<EventBatch>* batches;
    std::vector<Piece> pieces;
    std::vector<EventBatch> merged;
  };
  std::vector<Mixed> mixed;
  for (auto& batches : tracks)
    if (!follow_each_other(batches)) mixed.push_back({&batches, {}, {}});
  tbb::parallel_for(size_t{0}, mixed.size(), [&](size_t i) {
    Mixed& track = mixed[i];
    track.pieces = cut(*track.batches);
    track.merged.resize(track.pieces.size());
    tbb::parallel_for(size_t{0}, track.pieces.size(),
                      [&](size_t piece) { track.merged[piece] = merge(track.pieces[piece]); });
    *track.batches = std::move(track.merged);
  });
}

}  // namespace stepscope::model
