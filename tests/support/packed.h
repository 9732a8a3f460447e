// Files as people pack them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "trace/base/check.h"

namespace stepscope::support {

inline std::string packed_by_gzip(std::string_view text) {
  std::string packed(text.size() + (size_t{1} << 16U), '\0');
  std::string input(text);  // the library wants to be able to write to it

  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.next_in = reinterpret_cast<uint8_t*>(input.data());
  stream.avail_in = static_cast<uint32_t>(input.size());
  stream.next_out = reinterpret_cast<uint8_t*>(packed.data());
  stream.avail_out = static_cast<uint32_t>(packed.size());
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.gzip_flag = IGZIP_GZIP;

  STEPSCOPE_CHECK(isal_deflate_stateless(&stream) == COMP_OK);
  packed.resize(packed.size() - stream.avail_out);
  return packed;
}

inline std::string packed_by_zstd(std::string_view text, int level = 1) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), level));
  return packed;
}

}  // namespace stepscope::support
