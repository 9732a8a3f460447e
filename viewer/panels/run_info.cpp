#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/panels/common/panel.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

uint32_t score_colour(int score, Surface const& s) {
  if (score >= 90) return s.text;
  return score >= 60 ? s.warning : s.critical;
}

void integrity(Scene const& scene, Theme theme) {
  Surface const& s = surface(theme);
  analyzer::TraceIntegrity const& q = scene.analysis.integrity;
  heading("Quality of the trace");
  text_coloured(fmt::format("{} of 100", q.score), score_colour(q.score, s));

  auto const count = [&](uint64_t n, char const* words) {
    if (n > 0) text_wrapped(fmt::format("{} {}", base::format_count(n), words), s.warning);
  };
  count(q.dropped, "events lost while recording");
  count(q.unmatched_launches, "launches whose device op is missing");
  count(q.unmatched_ops, "device ops whose launch is missing");
  count(q.negative_latencies, "device ops that start before their launch");
  count(q.overlapping_slices, "device ops that overlap on one stream");
  count(q.lost_blocks, "damaged blocks left out");
  if (q.truncated) text_wrapped("The recording was cut off or is still running.", s.warning);
  for (std::string const& note : q.notes) text_wrapped(printable_name(note), s.text_dim);
  for (std::string const& note : scene.run.notes) text_wrapped(printable_name(note), s.text_dim);

  ImGui::Spacing();
  heading("Clocks");
  model::ClockFit const& clock = scene.run.clock;
  std::string text = printable_name(clock.method, 80);
  if (clock.residual_median_ns && clock.residual_p95_ns)
    text += fmt::format("; {} end {} (median), {} (95 %) apart",
                        base::format_count(clock.collectives, "collective"),
                        base::format_duration(*clock.residual_median_ns),
                        base::format_duration(*clock.residual_p95_ns));
  text_wrapped(text, s.text);
}

void ranks_table(Scene const& scene, Theme theme) {
  ImGuiTableFlags const flags =
      ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("ranks", 6, flags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (char const* title : {"Rank", "Host", "Process", "Events", "Recorded by"})
    ImGui::TableSetupColumn(title);
  ImGui::TableSetupColumn("Command and facts", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableHeadersRow();

  for (uint32_t index = 0; index < scene.run.ranks.size(); ++index) {
    model::RankTrace const& rank = scene.run.ranks[index];
    model::TraceInfo const& info = rank.trace.info();
    ImGui::TableNextRow();

    for (std::string const& cell :
         {fmt::format("{} of {}", info.rank, info.world_size), printable_name(info.host, 60),
          fmt::format("{}", info.process_id), base::format_count(scene.event_count(index)),
          printable_name(info.tool, 60)}) {
      ImGui::TableNextColumn();
      text(cell);
    }

    ImGui::TableNextColumn();
    text_wrapped(printable_name(info.command), surface(theme).text);
    for (auto const& [name, value] : info.facts)
      text_wrapped(printable_name(name, 60) + ": " + printable_name(value, 200),
                   surface(theme).text_dim);

    for (model::Device const& device : rank.trace.devices()) {
      std::string line = fmt::format("device {}: {}", device.id, printable_name(device.name, 120));
      if (device.capacity_bytes > 0) line += ", " + base::format_bytes(device.capacity_bytes);
      if (device.threads > 0)
        line += fmt::format(", {} {}", device.threads, device.threads == 1 ? "thread" : "threads");
      text_wrapped(line, surface(theme).text_dim);
    }
  }
  ImGui::EndTable();
}

}  // namespace

void run_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;

  if (scene.missing_analysis)
    text_coloured(printable_name(*scene.missing_analysis), surface(state.theme).text_dim);
  ImGui::BeginChild("quality", ImVec2(300 * ui_scale(), 0));
  integrity(scene, state.theme);
  ImGui::EndChild();
  ImGui::SameLine();
  ImGui::BeginChild("processes");
  ranks_table(scene, state.theme);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
