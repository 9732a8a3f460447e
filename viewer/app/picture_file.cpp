#include "viewer/app/picture_file.h"

#include <string>

#include <stb_image_write.h>

#include "trace/base/files/output_file.h"

namespace stepscope::viewer {

base::Expected<void> write_png(std::string const& path, int width, int height,
                               uint8_t const* pixels, int stride) {
  constexpr int kChannels = 3;
  std::string encoded;
  auto const append = [](void* text, void* data, int size) {
    static_cast<std::string*>(text)->append(static_cast<char const*>(data),
                                            static_cast<size_t>(size));
  };

  if (stbi_write_png_to_func(append, &encoded, width, height, kChannels, pixels, stride) == 0)
    return base::fail("{}: cannot write the picture (encoder failed), choose another size", path);

  return base::write_file_atomically(path, encoded);
}

}  // namespace stepscope::viewer
