// The grid of pictures as a PNG, encoded by stb_image_write; see picture_grid.h.
#include "workloads/data/picture_grid.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trace/base/check.h"
#include "trace/base/files/output_file.h"

#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace stepscope::workloads {

base::Expected<void> write_picture_grid(std::string const& path, std::span<float const> pictures,
                                        size_t side, size_t columns) {
  STEPSCOPE_CHECK(side > 0 && columns > 0 && pictures.size() % (side * side) == 0);
  size_t const count = pictures.size() / (side * side);
  size_t const rows = (count + columns - 1) / columns;
  size_t const width = columns * side;
  std::vector<uint8_t> grey(rows * side * width);
  for (size_t i = 0; i < pictures.size(); ++i) {
    size_t const picture = i / (side * side), y = i / side % side, x = i % side;
    float const value = (pictures[i] + 1.0F) * 127.5F;
    grey[(picture / columns * side + y) * width + picture % columns * side + x] =
        static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
  }
  std::string encoded;
  auto const append = [](void* to, void* data, int bytes) {
    static_cast<std::string*>(to)->append(static_cast<char const*>(data),
                                          static_cast<size_t>(bytes));
  };
  constexpr int kGrey = 1;
  if (stbi_write_png_to_func(append, &encoded, static_cast<int>(width),
                             static_cast<int>(rows * side), kGrey, grey.data(),
                             static_cast<int>(width)) == 0) {
    return base::fail("{}: the picture of {} x {} pixels could not be encoded", path, width,
                      rows * side);
  }
  return base::write_file_atomically(path, encoded);
}

}  // namespace stepscope::workloads
