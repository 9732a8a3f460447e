// A frame buffer of any size, independent of the screen, and its pixels as a PNG file.
#pragma once

#include <string>

#include "trace/base/expected.h"
#include "viewer/session/arguments.h"

namespace stepscope::viewer {

/// Needs a current OpenGL 3 context from creation to destruction.
class Offscreen {
 public:
  static base::Expected<Offscreen> create(PixelSize size);
  Offscreen(Offscreen&& other) noexcept;
  Offscreen& operator=(Offscreen&&) = delete;
  Offscreen(Offscreen const&) = delete;
  Offscreen& operator=(Offscreen const&) = delete;
  ~Offscreen();

  /// What is drawn from now on goes here.
  void bind() const;
  [[nodiscard]] base::Expected<void> write_png(std::string const& path) const;

 private:
  explicit Offscreen(PixelSize size) : size_(size) {}
  PixelSize size_;
  unsigned frame_ = 0, colour_ = 0;
};

}  // namespace stepscope::viewer
