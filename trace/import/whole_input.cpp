#include "trace/import/whole_input.h"

#include <algorithm>

#include "trace/base/format.h"

namespace stepscope::import {

base::Expected<WholeInput> WholeInput::read(Input const& input) {
  auto const too_large = [&] {
    return base::fail("{}: holds more than {}, cut it into parts", input.name(), base::format_bytes(kMostBytes));
  };
  WholeInput whole;
  whole.plain_ = input.plain();
  if (whole.plain_) return whole.plain_->size() <= kMostBytes ? base::Expected<WholeInput>(std::move(whole)) : too_large();
  constexpr size_t kFirstBytes = size_t{1} << 20U;
  auto const stream = input.stream();
  size_t size = 0;
  for (;;) {
    if (size == whole.unpacked_.size()) whole.unpacked_.resize(std::max(kFirstBytes, size * 2));
    size_t const got = stream->read(std::span(whole.unpacked_).subspan(size));
    size += got;
    if (size > kMostBytes) return too_large();
    if (size < whole.unpacked_.size()) break;
  }
  whole.unpacked_.resize(size);
  whole.damage_ = stream->damage();
  return whole;
}

}  // namespace stepscope::import
