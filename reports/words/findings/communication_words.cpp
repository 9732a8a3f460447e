#include "reports/words/findings/communication_words.h"

#include "reports/words/slowdown_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// The subject "cause" of a straggler as a sentence; empty when it is not known.
std::string describe_why_late(FindingContext const& seen) {
  std::string const op = seen.subject("host_op");

  for (auto const& [role, cause] : seen.finding.subjects) {
    if (role != "cause") continue;
    if (cause == "compute") return std::string(tr(" Its compute takes longer."));

    if (cause == "host")
      return op.empty() ? std::string(tr(" It is launch-bound."))
                        : tr(" It is launch-bound: its host spends most time in {}.", op);
    if (cause == "input")
      return op.empty() ? std::string(tr(" It waits for its data."))
                        : tr(" It waits for its data, in {}.", op);

    if (cause == "communication") return std::string(tr(" Other communication delays it."));
    if (cause == "copy") return std::string(tr(" Its copies take longer."));
    if (cause == "late_start")
      return std::string(tr(" Its steps begin later than on the other devices."));
    if (cause == "before_recording")
      return std::string(
          tr(" It was already late when the recording began: the trace does not show why."));
  }

  return {};
}

/// "rank 3", "ranks 0, 1"; empty if no rank has the role.
std::string ranks_in_role(FindingContext const& seen, std::string_view role) {
  for (auto const& [key, ranks] : seen.finding.subjects)
    if (key == role && !ranks.empty())
      return ranks.find(',') == std::string::npos ? tr("rank {}", shown(ranks, 120))
                                                  : tr("ranks {}", shown(ranks, 120));
  return {};
}

}  // namespace

std::string describe_communication(FindingContext const& seen) {
  std::string text = describe_cost(seen);

  constexpr double kShownAsNone = 0.0005;
  if (auto const overlap = seen.metric("overlap"))
    text += *overlap < kShownAsNone
                ? std::string(tr(" No communication is hidden."))
                : tr(" Only {} of all communication is hidden.", seen.text("overlap"));

  auto const waiting = seen.metric("waiting_ns_per_step");
  if (waiting && *waiting > 0)
    text += tr(" Waiting for late peers, another {} a step, is not included.",
               seen.text("waiting_ns_per_step"));

  return text;
}

std::string describe_straggler(FindingContext const& seen) {
  std::string text = tr(" {} is late", with_capital(seen.where()));
  if (seen.metric("share_of_waits"))
    text += tr(": it causes {} of the exposed waiting", seen.text("share_of_waits"));
  text += tr(".");

  auto const ratio = seen.metric("compute_ratio");
  if (ratio && *ratio > 0)
    text += tr(" Its compute time is {:.2f} × the median of the others.", *ratio);
  text += describe_why_late(seen);

  std::string const cost = cost_of(seen);
  if (cost.empty()) return text;

  bool const is_stage = !seen.metric("share_of_waits");
  return text + (is_stage ? tr(" All other devices have to wait for it and lose {}.", cost)
                          : tr(" The device that waits most loses {}.", cost));
}

std::string describe_imbalance(FindingContext const& seen) {
  std::string const cost = cost_of(seen);
  std::string text =
      cost.empty() ? ""
                   : tr(" On average a device waits {} for devices that compute longer.", cost);
  if (auto const balance = seen.metric("load_balance"))
    text += tr(" The load balance is {} (mean compute time of the devices / longest).",
               base::format_share(*balance));
  return text;
}

std::string describe_workers(FindingContext const& seen) {
  std::string text;

  bool const is_worker = seen.has_subject("cause", "worker");
  std::string const loss = share_of_loss(seen.metric("share_of_loss").value_or(0));
  if (is_worker && seen.metric("slow_data_rank"))
    text = tr(" The worker of PP rank {} and DP rank {} accounts for {} of the loss.",
              seen.text("slow_stage"), seen.text("slow_data_rank"), loss);
  else if (seen.metric("slow_stage"))
    text =
        tr(" The stage of PP rank {} accounts for {} of the loss.", seen.text("slow_stage"), loss);

  if (auto const own = seen.metric("own_slowdown"))
    text += tr(" With it alone slow, a step takes {:.2f} × as long as with equal workers.", *own);
  if (auto const compute = seen.metric("stage_compute"))
    text += tr(" It computes {:.2f} × the mean of the stages.", *compute);
  return text + describe_cost(seen);
}

std::string describe_bubble(FindingContext const& seen) {
  std::string text;

  if (seen.metric("stages") && seen.metric("micro_batches"))
    text =
        tr(" {} stages, {} micro-batches a step.", seen.text("stages"), seen.text("micro_batches"));

  std::string const cost = cost_of(seen);
  if (!cost.empty()) text += tr(" On average a stage waits {}.", cost);
  if (seen.metric("ideal_share") && seen.metric("doubled_share"))
    text += tr(" Equal stages would wait {} of the step; with twice the micro-batches {}.",
               seen.text("ideal_share"), seen.text("doubled_share"));
  if (seen.metric("slowest_stage") && seen.metric("stage_imbalance"))
    text += tr(" {} computes {} × the mean of the stages, and the others wait for it.",
               with_capital(seen.where()), seen.text("stage_imbalance"));

  return text;
}

std::string describe_link(FindingContext const& seen) {
  std::string text;

  std::string const op = seen.subject("op"), ranks = seen.subject("ranks"),
                    devices = seen.subject("devices");
  std::string link = tr("communicator {}", seen.subject("communicator"));
  if (!ranks.empty())
    link = tr("ranks {}", ranks);
  else if (!devices.empty())
    link = tr("devices {}", devices);

  if (!op.empty() && seen.metric("median_ns"))
    text =
        tr(" On the link of {}, {} of {} takes {} (median) instead of the usual {}; "
           "{} of the messages take clearly longer.",
           link, op, seen.text("bytes"), seen.text("median_ns"), seen.text("reference_ns"),
           seen.text("slow_share"));
  return text + describe_cost(seen);
}

std::string describe_buckets(FindingContext const& seen) {
  std::string const cost = cost_of(seen);

  if (!seen.metric("half_bandwidth_bytes"))
    return tr(
        " {} collectives a step of {} on average; "
        "they take about equally long regardless of size. "
        "Merging them into one would save up to {}.",
        seen.text("collectives_per_step"), seen.text("mean_bytes"), cost);

  return tr(
      " {} collectives a step of {} on average; "
      "a message needs {} to reach half of the link's bandwidth. "
      "Merging them into one would save up to {}.",
      seen.text("collectives_per_step"), seen.text("mean_bytes"), seen.text("half_bandwidth_bytes"),
      cost);
}

std::string describe_hung(FindingContext const& seen) {
  std::string const op = seen.subject("op");
  if (op.empty()) return {};
  std::string text =
      tr(" It is {} number {} ({})", op, seen.text("sequence"), seen.subject("calls"));

  std::string const waiting = ranks_in_role(seen, "waiting"),
                    completed = ranks_in_role(seen, "completed");
  if (!waiting.empty()) text += tr("; waiting: {}", waiting);
  if (!completed.empty()) text += tr("; done: {}", completed);
  text += tr(".");

  std::string const missing = ranks_in_role(seen, "missing"),
                    unrecorded = ranks_in_role(seen, "unrecorded");
  std::string const blocked = seen.subject("held"), circle = seen.subject("circle");
  std::string const not_started = ranks_in_role(seen, "not_started"),
                    odd = ranks_in_role(seen, "odd");

  if (!missing.empty()) text += tr(" {} did not call it.", with_capital(missing));
  if (!blocked.empty())
    text += tr(" Ranks that wait elsewhere did not reach it, either: {}.", blocked);
  if (!not_started.empty())
    text += tr(" {} called it, but the stream of that call never reached it.",
               with_capital(not_started));

  if (missing.empty() && blocked.empty() && !completed.empty() && !waiting.empty())
    text += tr(" It is still running on {}; the other ranks have completed it.", waiting);
  if (!unrecorded.empty()) text += tr(" The run has no recording of {} of the group.", unrecorded);
  if (std::string const different = seen.subject("different"); !different.empty())
    text += tr(" The ranks call different operations: {}.", different);
  if (!odd.empty()) text += tr(" The call of {} differs from that of most ranks.", odd);

  if (!circle.empty())
    text +=
        tr(" Ranks wait for each other because they call these in different orders: {}.", circle);
  if (missing.empty() && blocked.empty() && unrecorded.empty() && completed.empty() &&
      seen.subject("different").empty())
    text += tr(" All recorded ranks called it.");
  for (auto const& [key, groups] : seen.finding.subjects)
    if (key == "other_groups") text += tr(" Others hang, too: calls of {}.", shown(groups, 600));

  return text;
}

}  // namespace stepscope::reports
