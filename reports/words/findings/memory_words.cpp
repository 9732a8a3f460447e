#include "reports/words/findings/memory_words.h"

#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// "about 6,010 steps (5,900 to 6,130), 2.1 min"
std::string steps_left(FindingContext const& seen) {
  std::string text = tr("about {:.0f} steps", *seen.metric("steps_to_full"));
  auto const earliest = seen.metric("earliest_steps_to_full"),
             latest = seen.metric("latest_steps_to_full");
  if (earliest && latest && *latest - *earliest >= 1)
    text += tr(" ({:.0f} to {:.0f})", *earliest, *latest);
  return seen.metric("time_to_full_ns") ? tr("{}, {}", text, seen.text("time_to_full_ns")) : text;
}

}  // namespace

std::string describe_leak(FindingContext const& seen) {
  std::string text = tr(" On {} it grows by {} a step", seen.where(), seen.text("bytes_per_step"));
  if (seen.metric("steps_to_full"))
    text += tr("; at this rate memory is full in {}", steps_left(seen));
  return text.append(tr("."));
}

std::string describe_holes(FindingContext const& seen) {
  std::string text =
      tr(" {} reserves {}, but at most {} were in use at once", with_capital(seen.where()),
         seen.text("peak_reserved_bytes"), seen.text("peak_allocated_bytes"));

  if (auto const grown = seen.metric("fragmented_growth_bytes"); grown && *grown > 0)
    text += tr("; {} were reserved for allocations although enough memory was free in total",
               seen.text("fragmented_growth_bytes"));
  text += tr(".");

  if (auto const share = seen.metric("fragmentation"))
    text +=
        tr(" When it reserved most, {} of the free memory lay outside of the largest free block.",
           base::format_share(*share));

  return seen.metric("steps_to_full")
             ? text + tr(" At this rate memory is full in {}.", steps_left(seen))
             : text;
}

std::string describe_pressure(FindingContext const& seen) {
  std::string text;
  if (seen.metric("pressure"))
    text = tr(" {} reserves up to {} of {} ({}).", with_capital(seen.where()),
              seen.text("peak_bytes"), seen.text("capacity_bytes"), seen.text("pressure"));

  if (seen.metric("retries") == 1.0)
    text += tr(" Once its allocator released cached memory before it could reserve more.");
  else if (seen.metric("retries"))
    text += tr(" {} times its allocator released cached memory before it could reserve more.",
               seen.text("retries"));

  if (seen.metric("steps_to_full"))
    text += tr(" At the rate of these steps memory is full in {}.", steps_left(seen));

  auto const unused = seen.metric("unused_bytes"), peak = seen.metric("peak_bytes");
  if (unused && peak && *unused >= 0.1 * *peak)  // a sound cache has less
    text +=
        tr(" {} of it were never in use at the same time as the rest.", seen.text("unused_bytes"));

  if (auto const factor = seen.metric("batch_factor"))
    text += tr(" About {} × the current batch would fit.", base::format_significant(*factor, 2));
  return text;
}

}  // namespace stepscope::reports
