#include "trace/import/common/whole_input.h"

#include <unistd.h>

#include <algorithm>

#include "trace/base/format.h"

namespace stepscope::import {

size_t WholeInput::most_unpacked_bytes() {
  auto const pages = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  auto const page_bytes = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  return std::min<uint64_t>(pages * page_bytes / 4, kMostBytes);
}

base::Expected<WholeInput> WholeInput::read(Input const& input, size_t most_unpacked) {
  WholeInput whole;
  whole.plain_ = input.plain();
  if (whole.plain_) {
    if (whole.plain_->size() <= kMostBytes) return whole;
    return base::fail("{}: holds more than {}, cut it into parts", input.name(),
                      base::format_bytes(kMostBytes));
  }

  constexpr size_t kFirstBytes = size_t{1} << 20U;
  auto const stream = input.stream();
  size_t size = 0;

  for (;;) {
    // One byte more than allowed tells that there are more.
    if (size == whole.unpacked_.size())
      whole.unpacked_.resize(std::min(std::max(kFirstBytes, size * 2), most_unpacked + 1));
    size += stream->read(std::span(whole.unpacked_).subspan(size));
    if (size > most_unpacked)
      return base::fail(
          "{}: unpacks to more than {}, as much as this machine's memory is good for: unpack it by "
          "hand and cut it into parts",
          input.name(), base::format_bytes(most_unpacked));
    if (size < whole.unpacked_.size()) break;
  }

  whole.unpacked_.resize(size);
  whole.damage_ = stream->damage();
  return whole;
}

}  // namespace stepscope::import
