#include "viewer/app/offscreen.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "viewer/app/gl.h"
#include "viewer/app/picture_file.h"

namespace stepscope::viewer {
base::Expected<Offscreen> Offscreen::create(PixelSize size) {
  auto const gen_renderbuffers = gl_function<PFNGLGENRENDERBUFFERSPROC>("glGenRenderbuffers");
  auto const bind_renderbuffer = gl_function<PFNGLBINDRENDERBUFFERPROC>("glBindRenderbuffer");
  auto const storage = gl_function<PFNGLRENDERBUFFERSTORAGEPROC>("glRenderbufferStorage");
  auto const gen_framebuffers = gl_function<PFNGLGENFRAMEBUFFERSPROC>("glGenFramebuffers");
  auto const bind_framebuffer = gl_function<PFNGLBINDFRAMEBUFFERPROC>("glBindFramebuffer");
  auto const attach = gl_function<PFNGLFRAMEBUFFERRENDERBUFFERPROC>("glFramebufferRenderbuffer");
  auto const status = gl_function<PFNGLCHECKFRAMEBUFFERSTATUSPROC>("glCheckFramebufferStatus");
  if (!gen_renderbuffers || !bind_renderbuffer || !storage || !gen_framebuffers ||
      !bind_framebuffer || !attach || !status)
    return base::fail("OpenGL has no frame buffer objects here, update the graphics driver");
  Offscreen result(size);
  gen_renderbuffers(1, &result.colour_);
  bind_renderbuffer(GL_RENDERBUFFER, result.colour_);
  storage(GL_RENDERBUFFER, GL_RGBA8, size.width, size.height);
  gen_framebuffers(1, &result.frame_);
  bind_framebuffer(GL_FRAMEBUFFER, result.frame_);
  attach(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, result.colour_);
  if (status(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return base::fail("OpenGL cannot draw {} x {} pixels, choose a smaller --size", size.width,
                      size.height);
  return result;
}

Offscreen::Offscreen(Offscreen&& other) noexcept
    : size_(other.size_),
      frame_(std::exchange(other.frame_, 0U)),
      colour_(std::exchange(other.colour_, 0U)) {}

Offscreen::~Offscreen() {
  if (frame_ != 0) gl_function<PFNGLDELETEFRAMEBUFFERSPROC>("glDeleteFramebuffers")(1, &frame_);
  if (colour_ != 0) gl_function<PFNGLDELETERENDERBUFFERSPROC>("glDeleteRenderbuffers")(1, &colour_);
}

void Offscreen::bind() const {
  gl_function<PFNGLBINDFRAMEBUFFERPROC>("glBindFramebuffer")(GL_FRAMEBUFFER, frame_);
}

base::Expected<void> Offscreen::write_png(std::string const& path) const {
  constexpr int kChannels = 3;
  auto const row = static_cast<size_t>(size_.width) * kChannels;
  std::vector<uint8_t> pixels(row * static_cast<size_t>(size_.height));
  gl_function<decltype(&glPixelStorei)>("glPixelStorei")(GL_PACK_ALIGNMENT, 1);
  gl_function<decltype(&glReadPixels)>("glReadPixels")(0, 0, size_.width, size_.height, GL_RGB,
                                                       GL_UNSIGNED_BYTE, pixels.data());
  // OpenGL's first row is the lowest.
  uint8_t const* const top = pixels.data() + row * static_cast<size_t>(size_.height - 1);
  return viewer::write_png(path, size_.width, size_.height, top, -static_cast<int>(row));
}

}  // namespace stepscope::viewer
