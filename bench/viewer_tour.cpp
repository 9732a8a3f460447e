// What a frame of the viewer costs: viewer_tour RUN (made with stepscope synth, say 64 ranks of 1.6
// M events). Opens the run as the viewer does, then makes a tour on no backend. The tour goes from
// the whole run to a microsecond and back, and along the run. It does so with every panel, with a
// search, with the critical path, and with the predicted timeline of a change. Measures processor
// time of the frames' own thread; other threads work meanwhile, as for a person. Needs no display.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "bench/expect.h"
#include "trace/base/format.h"
#include "trace/import/open/open_run.h"
#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/interaction/navigate.h"
#include "viewer/loading/open_task.h"
#include "viewer/main_window/ui.h"
#include "viewer/widgets/style.h"

namespace {

using namespace stepscope;
using namespace stepscope::viewer;

double thread_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Processor time of all threads.
double process_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double wall_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The window on no backend, with a pointer that stands on the timeline: tooltips are drawn too.
class Screen {
 public:
  Screen() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.DisplaySize = ImVec2(1920, 1080);
    io.DeltaTime = 1.0F / 60;

    io.MousePos = ImVec2(700, 400);
#if IMGUI_VERSION_NUM < 18700
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = 300 + key;
#endif

    load_fonts(1);
    io.Fonts->Build();
    apply_style(Theme::kDark, 1);
  }
  ~Screen() { ImGui::DestroyContext(); }
  Screen(Screen const&) = delete;
  Screen& operator=(Screen const&) = delete;

  /// ms of the frame's own thread.
  double frame(Scene const& scene, ViewState& state, PanelCache& cache) {
    double const begin = thread_ms();
    ImGui::NewFrame();
    draw_ui(scene, state, cache);
    ImGui::Render();
    return thread_ms() - begin;
  }
};

void print(char const* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  fmt::print("{:<34} {:6} frames   median {:6.2f} ms   p99 {:6.2f} ms   longest {:6.2f} ms\n", name,
             times.size(), times[times.size() / 2], times[times.size() * 99 / 100], times.back());
}

/// MiB of the process's own memory, without the files that are mapped into it.
double own_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) / 1024;
  return 0;
}

class Tour {
 public:
  Tour(Screen& screen, Scene const& scene)
      : screen_(screen), scene_(scene), state_(initial_view(scene)) {}

  void stretch(char const* name, int frames, std::function<void(int)> const& move) {
    std::vector<double> times;
    for (int i = 0; i < frames; ++i) {
      move(i);
      times.push_back(screen_.frame(scene_, state_, cache_));
    }
    print(name, times);
    all_.insert(all_.end(), times.begin(), times.end());
  }

  /// From the whole run to a microsecond and back.
  void zoom_in_and_out(char const* name) {
    double const length = static_cast<double>(scene_.length);
    stretch(name, 240, [&](int i) {
      double const depth = i < 120 ? i / 119.0 : (239 - i) / 119.0;
      double const span = length * std::pow(1000 / length, depth);
      state_.window = {length * 0.37 - span * 0.37, length * 0.37 + span * 0.63};
    });
  }
  void pan_along(char const* name, double span) {
    double const length = static_cast<double>(scene_.length);
    stretch(name, 120, [&](int i) { state_.window = {length * i / 120, length * i / 120 + span}; });
  }

  /// Until all hits are there.
  void search(std::string const& query) {
    double const begin = wall_ms(), processor = process_ms();
    double first = 0, in_frames = 0;

    search_for(state_, query);
    while (state_.search.pending) {
      in_frames += screen_.frame(scene_, state_, cache_);
      if (first == 0 && state_.search.total > 0) first = wall_ms() - begin;
    }

    fmt::print(
        "search {:<26} {:>12} hits   first {:5.0f} ms   all {:6.0f} ms   {:6.0f} ms of processor "
        "beside the frames\n",
        query, base::format_count(state_.search.total), first, wall_ms() - begin,
        process_ms() - processor - in_frames);
  }

  /// Searches for a name that few blocks have, one that all have, a kind, and durations.
  [[nodiscard]] std::vector<std::string> searches() const {
    constexpr size_t kWords = 24;  // of names that are longer than a line
    auto const& kernels = scene_.analysis.kernels;
    if (kernels.empty()) return {"a"};
    auto const most =
        std::max_element(kernels.begin(), kernels.end(),
                         [](auto const& a, auto const& b) { return a.count < b.count; });
    return {kernels.front().name.substr(0, kWords), most->name.substr(0, kWords), "kind:kernel",
            fmt::format(">{}ns", most->p95_ns)};
  }

  void run() {
    zoom_in_and_out("zoom");
    for (double const span : {1e9, 1e7, 1e5}) pan_along("pan", span);
    for (auto const& [tab, name] :
         {std::pair{Tab::kStatistics, "statistics"}, std::pair{Tab::kKernels, "kernels"},
          std::pair{Tab::kCommunication, "communication"}, std::pair{Tab::kPath, "critical path"},
          std::pair{Tab{"flames"}, "flame graph"}, std::pair{Tab{"memory"}, "memory"},
          std::pair{Tab{"run"}, "run"}}) {
      state_.panels.tab = tab;
      zoom_in_and_out(fmt::format("zoom, {}", name).c_str());
    }

    state_.panels.tab = Tab::kStatistics;
    for (std::string const& query : searches()) search(query);
    zoom_in_and_out("zoom, searching");
    fmt::print("own memory after searches: {:.0f} MiB\n", own_memory());

    state_.search = {};
    state_.panels.path = true;
    double const asked = wall_ms();
    screen_.frame(scene_, state_, cache_);
    cache_.finish();
    fmt::print("critical path: {:.0f} ms until its line is there\n", wall_ms() - asked);
    zoom_in_and_out("zoom, critical path");

    predicted_timeline();

    for (uint32_t node = 0; node < scene_.nodes.size(); node = scene_.nodes[node].subtree_end)
      state_.closed.insert(node);
    zoom_in_and_out("zoom, all ranks closed");

    stretch("select collectives", 200, [&](int i) {
      auto const& all = scene_.analysis.collectives;
      if (all.empty()) return;
      state_.selection =
          scene_.selection_of(all[all.size() * static_cast<size_t>(i) / 200].participants.front());
    });

    fmt::print("own memory: {:.0f} MiB\n", own_memory());
    print("all", all_);
  }

 private:
  /// Halves all compute: every device's rows have predicted events under the recorded ones.
  void predicted_timeline() {
    double const asked = wall_ms();
    state_.panels.tab = Tab::kWhatIf;
    state_.panels.what_if.changes = "class:compute=/2";
    // The replay is opened first; only then can it be asked.
    for (int i = 0; i < 3; ++i) {
      screen_.frame(scene_, state_, cache_);
      cache_.finish();
    }

    screen_.frame(scene_, state_, cache_);
    fmt::print("predicted timeline: {:.0f} ms until it is there, {} rows have one\n",
               wall_ms() - asked, state_.panels.what_if.nodes.size());
    zoom_in_and_out("zoom, predicted timeline");
    for (double const span : {1e9, 1e7, 1e5}) pan_along("pan, predicted timeline", span);

    state_.panels.what_if = {};
    state_.panels.tab = Tab::kStatistics;
  }

  Screen& screen_;
  Scene const& scene_;
  ViewState state_;
  PanelCache cache_;
  std::vector<double> all_;
};

/// A run that is shown before it is analyzed.
int out_of_core_tour(std::vector<std::string> const& paths) {
  Screen screen;
  double const begin = wall_ms();
  double const processor = process_ms();

  OpenTask opening(paths);
  opening.finish();
  auto const scene = bench::expect(opening.take());
  double const opened = wall_ms();

  {
    ViewState state = initial_view(*scene);
    PanelCache cache;
    screen.frame(*scene, state, cache);
    fmt::print(
        "{} events: open {:.0f} ms, first frame {:.0f} ms after the start ({:.0f} ms of "
        "processor), own memory {:.0f} MiB\n",
        base::format_count(scene->events), opened - begin, wall_ms() - begin,
        process_ms() - processor, own_memory());
  }

  double const asked = wall_ms();
  OutOfCoreAnalysis analysis(scene->store->files());
  fmt::print("while it is analyzed:\n");
  Tour(screen, *scene).zoom_in_and_out("zoom");
  analysis.finish();
  double const analyzed = wall_ms();

  // Between two frames.
  take_analysis(*scene, bench::expect(analysis.take()));
  fmt::print("analyzed: {:.0f} ms, taken over in {:.1f} ms, own memory {:.0f} MiB\n",
             analyzed - asked, wall_ms() - analyzed, own_memory());

  Tour(screen, *scene).run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "viewer_tour RUN\n");
    return 2;
  }
  std::vector<std::string> const paths(argv + 1, argv + argc);
  if (is_out_of_core(bench::expect(import::open_sources(paths)))) return out_of_core_tour(paths);

  double const begin = wall_ms();
  auto run = bench::expect(import::open_run(paths));
  double const read = wall_ms();
  auto analysis = analyzer::analyze(run);
  double const analyzed = wall_ms();
  Scene const scene = make_scene(std::move(run), std::move(analysis));
  double const made = wall_ms();
  fmt::print("{} events: read {:.0f} ms, analyze {:.0f} ms, make the scene {:.0f} ms\n",
             base::format_count(scene.events), read - begin, analyzed - read, made - analyzed);

  Screen screen;
  Tour tour(screen, scene);
  tour.run();
  return 0;
}
