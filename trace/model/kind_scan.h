// The rows of a few kinds among many others: 64 rows are looked at in the time of a few, so that
// who asks for syncs and allocations does not pay for every range and launch between them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "trace/model/trace.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace stepscope::model {

/// Bit i: kinds[i] is one of Kinds. Of 16 kinds.
template <EventKind... Kinds>
uint64_t mask_of_kinds(EventKind const* kinds) {
#ifdef __SSE2__
  __m128i const all = _mm_loadu_si128(reinterpret_cast<__m128i const*>(kinds));
  __m128i found = _mm_setzero_si128();
  ((found = _mm_or_si128(found, _mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(Kinds))))),
   ...);
  return static_cast<uint64_t>(_mm_movemask_epi8(found));
#else
  uint64_t mask = 0;
  for (int i = 0; i < 16; ++i) mask |= uint64_t{((kinds[i] == Kinds) || ...)} << i;
  return mask;
#endif
}

/// Calls visit(row) for every row of `rows` whose kind is one of Kinds, in their order. O(rows / 64
/// + visits) for few kinds.
template <EventKind... Kinds, class Visit>
void for_each_row_of(Trace::Columns const& columns, Trace::Rows rows, Visit&& visit) {
  STEPSCOPE_CHECK(rows.first <= rows.last && rows.last <= columns.kind.size());
  EventKind const* const kinds = columns.kind.data();
  uint32_t row = rows.first;
  for (; rows.last - row >= 64; row += 64) {
    uint64_t mask = 0;
    for (uint32_t part = 0; part < 64; part += 16)
      mask |= mask_of_kinds<Kinds...>(kinds + row + part) << part;
    for (; mask != 0; mask &= mask - 1) visit(row + static_cast<uint32_t>(std::countr_zero(mask)));
  }
  for (; row < rows.last; ++row)
    if (((kinds[row] == Kinds) || ...)) visit(row);
}

/// Calls visit(row) for every device op.
template <class Visit>
void for_each_op_of(Trace::Columns const& columns, Trace::Rows rows, Visit&& visit) {
  static_assert(std::ranges::count_if(kKindTable, [](KindInfo const& kind) {
                  return kind.op_class != OpClass::kNone;
                }) == 4);
  using enum EventKind;
  for_each_row_of<kKernel, kMemcpy, kMemset, kCollective>(columns, rows, visit);
}

/// for_each_row_of() all tracks.
template <EventKind... Kinds, class Visit>
void for_each_row_of(Trace const& trace, Visit&& visit) {
  for_each_row_of<Kinds...>(trace.columns(), {0, trace.event_count()}, visit);
}

}  // namespace stepscope::model
