#include "viewer/app/window.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/app/gl.h"
#include "viewer/app/offscreen.h"
#include "viewer/app/picture_file.h"
#include "viewer/event_store/event_store.h"
#include "viewer/main_window/ui.h"
#include "viewer/session/recent_runs.h"
#include "viewer/session/session.h"
#include "viewer/widgets/raster.h"
#include "viewer/widgets/style.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// Frames after the last input: hover, focus and tooltips settle one frame late.
constexpr int kSettleFrames = 3;
/// The text cursor blinks twice a second.
constexpr double kBlinkSeconds = 0.4;
/// How often the window looks whether work on other threads is done.
constexpr double kLookSeconds = 0.03;

/// How often it is looked whether the files of the run have changed.
constexpr double kWatchSeconds = 1;

/// Side of the window that carries the OpenGL context of a screenshot, in pixels.
constexpr int kHiddenWindow = 64;

std::string glfw_error() {
  char const* words = nullptr;
  glfwGetError(&words);
  return words != nullptr ? words : "unknown reason";
}

/// How much larger than on a common screen things must be drawn, in the units of the window. Where
/// the window system already counts in larger units (Wayland), it has done that part.
float window_scale(GLFWwindow* window) {
  float content = 1;
  glfwGetWindowContentScale(window, &content, nullptr);
  int units = 0;
  int pixels = 0;
  glfwGetWindowSize(window, &units, nullptr);
  glfwGetFramebufferSize(window, &pixels, nullptr);
  return units > 0 && pixels > 0 ? content * static_cast<float>(units) / static_cast<float>(pixels)
                                 : content;
}

/// GLFW, its window and ImGui, taken down in the opposite order.
class Window {
 public:
  static base::Expected<Window> open(PixelSize size, bool visible, float forced_scale) {
    Window window;
    if (glfwInit() != GLFW_TRUE)
      return base::fail(
          "no display to draw on ({}): log in with ssh -X or set DISPLAY, draw a picture with "
          "--screenshot, or write a page for the browser with stepscope report",
          glfw_error());
    window.initialised_ = true;

    glfwWindowHint(GLFW_VISIBLE, visible ? GLFW_TRUE : GLFW_FALSE);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 2);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);

    window.handle_ = glfwCreateWindow(size.width, size.height, "Stepscope", nullptr, nullptr);
    if (window.handle_ == nullptr)
      return base::fail(
          "no OpenGL 3.2 here ({}), install a graphics driver or Mesa, or use stepscope report",
          glfw_error());

    glfwMakeContextCurrent(window.handle_);
    glfwSwapInterval(1);
    window.is_scale_forced_ = forced_scale > 0;
    window.scale_ = clamped(window.is_scale_forced_ ? forced_scale : window_scale(window.handle_));

    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    load_fonts(window.scale_);
    ImGui_ImplGlfw_InitForOpenGL(window.handle_, true);

    window.paints_ = ImGui_ImplOpenGL3_Init("#version 150");
    if (!window.paints_)
      return base::fail(
          "OpenGL cannot be loaded here, install a graphics driver or Mesa, or use stepscope "
          "report");
    return window;
  }

  Window(Window&& other) noexcept
      : initialised_(std::exchange(other.initialised_, false)),
        handle_(std::exchange(other.handle_, nullptr)),
        paints_(other.paints_),
        is_scale_forced_(other.is_scale_forced_),
        scale_(other.scale_) {}
  Window& operator=(Window&&) = delete;
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;
  ~Window() {
    if (handle_ != nullptr) {
      if (paints_) ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
      ImGui::DestroyContext();
      glfwDestroyWindow(handle_);
    }
    if (initialised_) glfwTerminate();
  }

  [[nodiscard]] GLFWwindow* handle() const { return handle_; }
  /// Before a frame: colours, and text of this size on the screen where the window is now.
  void set_look(Theme theme, float text_size) {
    float const scale = is_scale_forced_ ? scale_ : clamped(window_scale(handle_));
    // Sizes in whole pixels give scales that differ by nothing that is seen.
    if (text_size != text_size_ || std::abs(scale - scale_) > 0.02F) {
      text_size_ = text_size;
      scale_ = scale;
      ImGui::GetIO().Fonts->Clear();
      load_fonts(scale_ * text_size_);
      ImGui_ImplOpenGL3_DestroyDeviceObjects();  // the next frame makes them anew
    }
    apply_style(theme, scale_ * text_size_);
  }

 private:
  Window() = default;
  static float clamped(float scale) { return std::clamp(scale, 0.5F, 4.0F); }

  bool initialised_ = false;
  GLFWwindow* handle_ = nullptr;
  bool paints_ = false;  ///< OpenGL is there
  bool is_scale_forced_ = false;
  float scale_ = 1;      ///< of the screen
  float text_size_ = 1;  ///< on top of that
};

void paint(PixelSize pixels) {
  ImVec4 const background = ImGui::GetStyle().Colors[ImGuiCol_WindowBg];
  gl_function<decltype(&glViewport)>("glViewport")(0, 0, pixels.width, pixels.height);
  gl_function<decltype(&glClearColor)>("glClearColor")(background.x, background.y, background.z, 1);
  gl_function<decltype(&glClear)>("glClear")(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

bool has_input() {
  ImGuiIO const& io = ImGui::GetIO();
  bool keys = false;
  for (Key const key :
       {Key::kA, Key::kD, Key::kS, Key::kW, Key::kLeft, Key::kRight, Key::kUp, Key::kDown})
    keys = keys || key_down(key);
  bool const moved =
      io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 || io.MouseWheelH != 0;
  return keys || moved || ImGui::IsAnyMouseDown() || !io.InputQueueCharacters.empty();
}

/// False: there was none in this time, and nothing has to be drawn again.
bool wait_for_input(double seconds) {
  double const begin = glfwGetTime();
  glfwWaitEventsTimeout(seconds);
  return glfwGetTime() - begin < seconds;
}

/// Files that were dropped on the window: with shift, or where the window asks for them, they are
/// compared with the run.
void open_dropped(GLFWwindow* window, int count, char const** paths) {
  auto& session = *static_cast<Session*>(glfwGetWindowUserPointer(window));
  std::vector<std::string> dropped(paths, paths + count);
  bool const has_shift = glfwGetKey(window, GLFW_KEY_LEFT_SHIFT) == GLFW_PRESS ||
                         glfwGetKey(window, GLFW_KEY_RIGHT_SHIFT) == GLFW_PRESS;
  if (has_shift || session.asks_compared()) {
    session.open_compared(std::move(dropped));
  } else {
    session.open(std::move(dropped));
  }
}

/// Waits until a frame is due. `frames`: how many are due without input. Returns how many are due
/// now; 0: none is.
int wait_for_frame(Session& session, int frames) {
  if (frames > 0) {
    glfwPollEvents();
    return frames;
  }
  if (session.is_busy()) {
    glfwWaitEventsTimeout(kLookSeconds);
    return kSettleFrames;
  }
  // The text cursor blinks: one frame each time.
  if (ImGui::GetIO().WantTextInput) {
    glfwWaitEventsTimeout(kBlinkSeconds);
    return 1;
  }
  if (session.is_watching())
    return wait_for_input(kWatchSeconds) || session.look_at_files() ? kSettleFrames : 0;

  glfwWaitEvents();
  return kSettleFrames;
}

/// Puts the frame on the screen.
void draw_frame(Window const& window) {
  ImGui::Render();
  PixelSize pixels;
  glfwGetFramebufferSize(window.handle(), &pixels.width, &pixels.height);
  paint(pixels);
  glfwSwapBuffers(window.handle());
}

}  // namespace

base::Expected<void> run_window(Arguments const& arguments, PixelSize size) {
  auto window = Window::open(size, true, 0);
  if (!window) return base::fail_with(window);

  GLFWwindow* const handle = window->handle();
  Session session(arguments, recent_runs_file());
  glfwSetWindowUserPointer(handle, &session);
  glfwSetDropCallback(handle, open_dropped);

  std::string title;
  int frames = kSettleFrames;
  while (glfwWindowShouldClose(handle) == GLFW_FALSE) {
    frames = wait_for_frame(session, frames);
    if (frames == 0) continue;

    if (session.title() != title) {
      title = session.title();
      glfwSetWindowTitle(handle, title.c_str());
    }

    window->set_look(session.state().theme, session.state().panels.text_size);
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    frames = has_input() ? kSettleFrames : frames - 1;
    session.frame();
    draw_frame(*window);
  }
  return {};
}

namespace {

/// A frame without mouse, of exactly this size.
void settle(Scene const& scene, ViewState& state, PixelSize size, PanelCache& cache,
            RunPair* pair) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = ImVec2(static_cast<float>(size.width), static_cast<float>(size.height));
  io.DisplayFramebufferScale = ImVec2(1, 1);
  io.MousePos = ImVec2(-FLT_MAX, -FLT_MAX);

  ImGui::NewFrame();
  draw_ui(scene, state, cache, {}, pair);
  ImGui::Render();

  cache.finish();
  if (pair != nullptr) pair->finish();
  scene.store->finish_reading();
}

/// The same picture without OpenGL: slower, but on every machine.
base::Expected<void> write_rasterised(Scene const& scene, ViewState state, PixelSize size,
                                      std::string const& path, RunPair* pair) {
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  load_fonts(state.panels.text_size);
  io.Fonts->Build();
  apply_style(state.theme, state.panels.text_size);

  PanelCache cache;
  for (int frame = 0; frame < kSettleFrames; ++frame) settle(scene, state, size, cache, pair);

  Picture const picture = rasterise(*ImGui::GetDrawData(), *io.Fonts, size.width, size.height,
                                    surface(state.theme).background);
  ImGui::DestroyContext();
  return write_png(path, size.width, size.height, picture.pixels.data(), size.width * 3);
}

}  // namespace

base::Expected<void> write_screenshot(Scene const& scene, ViewState state, PixelSize size,
                                      std::string const& path, RunPair* pair) {
  // The window is never seen, and the picture has its own frame buffer: no screen limits its size.
  auto window = Window::open({kHiddenWindow, kHiddenWindow}, false, 1);
  if (!window) return write_rasterised(scene, std::move(state), size, path, pair);

  auto offscreen = Offscreen::create(size);
  if (!offscreen) return base::fail_with(offscreen);

  PanelCache cache;
  window->set_look(state.theme, state.panels.text_size);
  for (int frame = 0; frame < kSettleFrames; ++frame) {
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    settle(scene, state, size, cache, pair);
  }

  offscreen->bind();
  paint(size);
  return offscreen->write_png(path);
}

}  // namespace stepscope::viewer
