#include "reports/words/findings/step_variation_words.h"

#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

std::string limit_words(std::string_view limit) {
  if (limit == "power_cap") return std::string(tr("its power limit"));
  if (limit == "thermal") return std::string(tr("heat"));
  if (limit == "power_brake") return std::string(tr("the machine's power supply"));
  if (limit == "sync_boost")
    return std::string(tr("another GPU whose clock it has to match (sync boost)"));
  return limit == "hardware" ? std::string(tr("a hardware limit")) : "";
}

/// "; the time that grows is idle time, launch-bound, while the host spends most time in “x”".
std::string grown_part_words(FindingContext const& seen) {
  std::string text;
  for (auto const& [role, name] : seen.finding.subjects)
    for (int i = 0; role == "part" && i < kPartCount; ++i)
      if (part(i).key == name)
        text += tr("; the time that grows is {}{}", part(i).idle ? tr("idle time, ") : "",
                   part(i).label);
  if (std::string const op = seen.subject("host_op"); !op.empty())
    text += tr(", while the host spends most time in {}", op);
  return text;
}

}  // namespace

std::string describe_throttling(FindingContext const& seen) {
  std::string text = describe_cost(seen);

  if (seen.metric("kernel_slowdown"))
    text += seen.metric("clock_to_peers")
                ? tr(" The same kernels take {} × as long as on the other devices.",
                     seen.text("kernel_slowdown"))
                : tr(" The same kernels take {} × as long while its clock is low.",
                     seen.text("kernel_slowdown"));

  auto const clock = seen.metric("clock_mhz"), sustained = seen.metric("sustained_clock_mhz");
  if (clock && seen.metric("clock_to_peers"))
    text += tr(" Its clock is {:.0f} MHz, {} × that of the others.", *clock,
               seen.text("clock_to_peers"));

  if (auto const lowest = seen.metric("lowest_clock_mhz"); lowest && sustained)
    text += tr(" The clock drops from {:.0f} to {:.0f} MHz.", *sustained, *lowest);
  for (auto const& [role, name] : seen.finding.subjects)
    if (std::string const limit = role == "limit" ? limit_words(name) : ""; !limit.empty())
      text += tr(" The driver names {} as the reason.", limit);

  if (auto const highest = seen.metric("highest_temperature_c"))
    text += tr(" It reaches {:.0f} °C.", *highest);

  return text;
}

std::string describe_warmup(FindingContext const& seen) {
  std::string text =
      seen.metric("slow_steps") == 1.0
          ? tr(" The first of {} measured steps takes over 1.5 × the median of {} of the later "
               "ones",
               seen.text("steps"), seen.text("median_step_ns"))
          : tr(" The first {} of {} measured steps take over 1.5 × the median of {} of the later "
               "ones",
               seen.text("slow_steps"), seen.text("steps"), seen.text("median_step_ns"));

  text += grown_part_words(seen).append(tr("."));
  if (std::string const cost = cost_of(seen); !cost.empty())
    text += tr(" They add {} to the mean.", cost);

  if (seen.metric("steps_to_leave_out") == 1.0)
    return text + std::string(tr(" Leave out the first step of the run."));
  return text + tr(" Leave out the first {} steps of the run.", seen.text("steps_to_leave_out"));
}

std::string describe_outliers(FindingContext const& seen) {
  std::string text =
      seen.metric("outliers") == 1.0
          ? tr(" One of {} steps takes over 1.5 × the median of {}", seen.text("steps"),
               seen.text("median_step_ns"))
          : tr(" {} of {} steps take over 1.5 × the median of {}", seen.text("outliers"),
               seen.text("steps"), seen.text("median_step_ns"));

  text += grown_part_words(seen);
  if (!seen.finding.cost_ns_per_step || !seen.metric("step_ns")) return text.append(tr("."));

  return text + tr(". Averaged over all steps this costs {} a step ({} of their mean of {}).",
                   base::format_duration(*seen.finding.cost_ns_per_step), seen.text("share"),
                   seen.text("step_ns"));
}

}  // namespace stepscope::reports
