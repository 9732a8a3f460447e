#include "viewer/app/picture_file.h"

#include <cerrno>
#include <cstring>

#include <stb_image_write.h>

namespace stepscope::viewer {

base::Expected<void> write_png(std::string const& path, int width, int height, uint8_t const* pixels, int stride) {
  constexpr int kChannels = 3;
  errno = 0;
  if (stbi_write_png(path.c_str(), width, height, kChannels, pixels, stride) != 0) return {};
  return base::fail("{}: cannot write the picture ({}), choose another path", path,
                    errno != 0 ? std::strerror(errno) : "encoder failed");
}

}  // namespace stepscope::viewer
