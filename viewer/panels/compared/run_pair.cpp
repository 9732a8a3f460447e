#include "viewer/panels/compared/run_pair.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/event_store/event_store.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/view_rebase.h"
#include "viewer/scene/track_choice.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

bool is_one_recording(std::string const& a, std::string const& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

TimeWindow shifted(TimeWindow window, double by) { return {window.begin + by, window.end + by}; }

TimeWindow whole_of(Scene const& scene) { return {0, static_cast<double>(scene.length)}; }

analyzer::RunMeasurements sample_of(Scene const& scene, std::string const& path) {
  analyzer::RunMeasurements sample = analyzer::sample_run(scene.run, scene.analysis);
  // Runs of two sides often have one name.
  if (!path.empty()) sample.name = path;
  return sample;
}

}  // namespace

RunDifference difference_of(analyzer::RunMeasurements base, analyzer::RunMeasurements candidate) {
  RunDifference difference;
  std::vector<analyzer::RunMeasurements> before, after;
  before.push_back(std::move(base));
  after.push_back(std::move(candidate));
  difference.comparison = analyzer::compare_runs(before, after);
  analyzer::Comparison const& comparison = *difference.comparison;
  difference.marks = ChangeMarks(comparison);

  std::unordered_map<std::string_view, size_t> metrics;
  for (size_t i = 0; i < comparison.metrics.size(); ++i)
    if (comparison.metrics[i].family == analyzer::MetricFamily::kKernel)
      metrics.emplace(comparison.metrics[i].name, i);

  for (analyzer::KernelChange const& kernel : comparison.kernels) {
    auto const found = metrics.find(kernel.name);
    difference.kernel_metrics.push_back(found == metrics.end() ? std::nullopt
                                                               : std::optional(found->second));
  }
  return difference;
}

RunPair::RunPair(std::unique_ptr<Scene> candidate, std::string base_path,
                 std::string candidate_path)
    : candidate_(std::move(candidate)),
      candidate_state_(initial_view(*candidate_)),
      candidate_cache_(std::make_unique<PanelCache>()),
      base_path_(std::move(base_path)),
      candidate_path_(std::move(candidate_path)),
      is_same_run_(is_one_recording(base_path_, candidate_path_)),
      candidate_nodes_(nodes_by_path(*candidate_)) {}

RunPair::NodesByPath RunPair::nodes_by_path(Scene const& scene) {
  NodesByPath nodes;
  for (uint32_t i = 0; i < scene.nodes.size(); ++i) nodes.emplace(scene.nodes[i].path, i);
  return nodes;
}

std::optional<uint32_t> RunPair::counterpart(Scene const& of, uint32_t node, Scene const& other,
                                             NodesByPath const& others) {
  // The path of a device has its name, and the runs may be of different devices.
  bool const is_device = of.nodes[node].kind == NodeKind::kDevice;
  uint32_t const named = is_device ? of.rank_nodes[of.nodes[node].rank] : node;
  auto const found = others.find(of.nodes[named].path);
  if (found == others.end()) return std::nullopt;
  if (!is_device) return found->second;
  auto const rank = static_cast<int32_t>(other.nodes[found->second].rank);
  return other.node_of_device({rank, of.nodes[node].device_number});
}

RunPair::View RunPair::view(RunSide side) {
  if (side == RunSide::kNew) return {*candidate_, candidate_state_, *candidate_cache_};
  return {*base_, *base_state_, *base_cache_};
}

/// An out-of-core run is analyzed once it is on the screen.
void RunPair::update_analysis() {
  if (candidate_->has_analysis()) return;
  if (!analysis_ && candidate_->missing_analysis->empty())
    analysis_ = std::make_unique<OutOfCoreAnalysis>(candidate_->store->files());

  if (!analysis_) return;
  candidate_->missing_analysis =
      fmt::format("analyzing {} events, {:.0f} %", base::format_count(candidate_->events),
                  100 * analysis_->share());

  if (!analysis_->is_done()) return;
  auto made = analysis_->take();
  analysis_.reset();
  if (!made) {
    candidate_->missing_analysis = "not analyzed: " + made.error().message;
    return;
  }

  // Work on other threads reads the scene: it ends before the scene changes, and panels ask for it
  // again.
  candidate_cache_.reset();
  take_analysis(*candidate_, candidate_state_, std::move(*made));
  candidate_cache_ = std::make_unique<PanelCache>();
}

void RunPair::update_alignment() {
  std::pair const analyzed{base_->has_analysis(), candidate_->has_analysis()};
  if (aligned_of_ == analyzed) return;
  aligned_of_ = analyzed;
  // With an analysis rows of communicators come.
  base_nodes_ = nodes_by_path(*base_);
  candidate_nodes_ = nodes_by_path(*candidate_);
  alignment_ = align_steps(*base_, *candidate_);
  aligned_.reset();
  last_base_.reset();
}

void RunPair::begin_frame(Scene const& base, ViewState& state, PanelCache& cache) {
  bool const is_first = base_ == nullptr;
  base_ = &base;
  base_state_ = &state;
  base_cache_ = &cache;

  front_ = next_front_;
  if (is_first) {
    base_nodes_ = nodes_by_path(base);
    copy_tracks(RunSide::kBase);
    candidate_state_.scroll = state.scroll;
  }

  update_analysis();
  candidate_->store->begin_frame();
  update_alignment();
  follow();
}

void RunPair::follow() {
  ViewState& base = *base_state_;
  bool const base_moved = !last_base_ || !(base.window == *last_base_);
  bool const candidate_moved = last_base_ && !(candidate_state_.window == *last_candidate_);

  if (base_moved || candidate_moved) {
    RunSide const side = base_moved ? RunSide::kBase : RunSide::kNew;
    View const moved = view(side);
    View const other = view(side == RunSide::kBase ? RunSide::kNew : RunSide::kBase);
    double const sign = side == RunSide::kBase ? 1 : -1;
    // The whole run is the whole of both, from their first common step on.
    bool const is_whole = moved.state.window == whole_of(moved.scene);
    aligned_ =
        aligned_step(alignment_, is_whole ? std::nullopt : aligned_, side, moved.state.window);
    double const shift = sign * shift_at(alignment_, aligned_);
    if (is_whole)
      moved.state.window = {
          std::min(moved.state.window.begin, -shift),
          std::max(moved.state.window.end, static_cast<double>(other.scene.length) - shift)};
    other.state.window = shifted(moved.state.window, shift);
  }

  double const shift = shift_at(alignment_, aligned_);
  TimeWindow const both{std::min(0.0, -shift),
                        std::max(static_cast<double>(base_->length),
                                 static_cast<double>(candidate_->length) - shift)};
  base.reach = both;
  candidate_state_.reach = shifted(both, shift);

  last_base_ = base.window;
  last_candidate_ = candidate_state_.window;
}

void RunPair::show_step(uint32_t pair) {
  if (pair >= alignment_.pairs.size()) return;
  StepAlignment::Pair const& of = alignment_.pairs[pair];
  View const seen = front();

  // The longer of both is seen whole.
  int64_t const length = std::max(add(of.base_end, add(~of.base_begin, 1)),
                                  add(of.candidate_end, add(~of.candidate_begin, 1)));
  int64_t const begin = of.begin(front_);
  frame(seen.state, seen.scene, {begin, add(begin, std::max<int64_t>(length, 1))});

  aligned_ = pair;
  // Even where the run that is in front shows it already.
  last_base_.reset();
  if (front_ == RunSide::kBase) return;
  base_state_->window = shifted(candidate_state_.window, -shift_at(alignment_, aligned_));
}

void RunPair::copy_tracks(RunSide from) {
  bool const by_base = from == RunSide::kBase;
  View const source = view(from);
  View const target = view(by_base ? RunSide::kNew : RunSide::kBase);
  NodesByPath const& source_nodes = by_base ? base_nodes_ : candidate_nodes_;
  NodesByPath const& target_nodes = by_base ? candidate_nodes_ : base_nodes_;

  target.state.tracks = adopted_choice(target.scene, target.state.tracks, source.state.tracks);

  // Groups that only one run has stay as they are.
  std::set<uint32_t> closed;
  for (uint32_t const node : target.state.closed)
    if (node < target.scene.nodes.size() &&
        !counterpart(target.scene, node, source.scene, source_nodes))
      closed.insert(node);
  for (uint32_t const node : source.state.closed)
    if (node < source.scene.nodes.size())
      if (auto const found = counterpart(source.scene, node, target.scene, target_nodes))
        closed.insert(*found);

  target.state.closed = std::move(closed);
}

void RunPair::follow_tracks() {
  auto const differs = [](ViewState const& state, std::optional<Tracks> const& last) {
    return !last || state.closed != last->closed || !(state.tracks == last->choice);
  };

  bool const base_changed = differs(*base_state_, last_base_tracks_);
  bool const candidate_changed = differs(candidate_state_, last_candidate_tracks_);
  if (!base_changed && !candidate_changed) return;

  bool const is_first = !last_base_tracks_;
  // Where both did, what is in front counts.
  bool const by_base =
      is_first || (base_changed && (!candidate_changed || front_ == RunSide::kBase));
  copy_tracks(by_base ? RunSide::kBase : RunSide::kNew);
  last_base_tracks_ = Tracks{base_state_->closed, base_state_->tracks};
  last_candidate_tracks_ = Tracks{candidate_state_.closed, candidate_state_.tracks};
}

/// Only the led run scrolls the other. Where the other one's rows end sooner it stays at its end,
/// and must not scroll back.
void RunPair::follow_scroll() {
  bool const by_base = led() == RunSide::kBase;
  float const led_scroll = by_base ? base_state_->scroll : candidate_state_.scroll;
  if (led_scroll != (by_base ? last_base_scroll_ : last_candidate_scroll_))
    (by_base ? candidate_state_.scroll : base_state_->scroll) = led_scroll;
  last_base_scroll_ = base_state_->scroll;
  last_candidate_scroll_ = candidate_state_.scroll;
}

void RunPair::end_frame() {
  follow();
  follow_tracks();
  follow_scroll();

  View const shown = front();
  View const other = view(front_ == RunSide::kBase ? RunSide::kNew : RunSide::kBase);
  other.state.theme = shown.state.theme;

  Panels const& panels = shown.state.panels;
  other.state.panels.tab = panels.tab;
  other.state.panels.keys = panels.keys;
  other.state.panels.help = panels.help;
  other.state.panels.path = panels.path;
  other.state.panels.side_width = panels.side_width;
  other.state.panels.bottom_height = panels.bottom_height;
  other.state.panels.text_size = panels.text_size;

  other.state.search.open = shown.state.search.open;
  if (other.state.search.text != shown.state.search.text)
    search_for(other.state, shown.state.search.text);
  if (shown.state.search.text.empty()) other.state.search.open = shown.state.search.open;
}

RunDifference const* RunPair::difference() {
  if (!base_->has_analysis() || !candidate_->has_analysis()) return nullptr;
  return difference_.ask(0, [base = base_, candidate = candidate_.get(), before = base_path_,
                             after = candidate_path_](int, std::stop_token const& stop) {
    analyzer::RunMeasurements base_sample = sample_of(*base, before);
    if (stop.stop_requested()) return RunDifference{};
    analyzer::RunMeasurements candidate_sample = sample_of(*candidate, after);
    if (stop.stop_requested()) return RunDifference{};
    return difference_of(std::move(base_sample), std::move(candidate_sample));
  });
}

std::string RunPair::waits_for() const {
  if (base_->missing_analysis) return "Base: " + printable_name(*base_->missing_analysis);
  if (candidate_->missing_analysis) return "New: " + printable_name(*candidate_->missing_analysis);
  return "Comparing…";
}

ChangeMarks const* RunPair::marks() {
  RunDifference const* const known = coloured ? difference() : nullptr;
  return known != nullptr && known->comparison && !known->comparison->refusal ? &known->marks
                                                                              : nullptr;
}

void RunPair::highlight(std::string const& query) {
  for (RunSide const side : {RunSide::kBase, RunSide::kNew}) search_for(view(side).state, query);
}

bool RunPair::is_busy() {
  return analysis_ != nullptr || candidate_->store->is_reading() || candidate_cache_->is_busy() ||
         difference_.is_busy() || candidate_state_.panels.flash.has_value();
}

void RunPair::finish() {
  if (analysis_) analysis_->finish();
  candidate_cache_->finish();
  difference_.finish();
  candidate_->store->finish_reading();
}

}  // namespace stepscope::viewer
