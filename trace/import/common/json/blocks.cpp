#include "trace/import/common/json/blocks.h"

#include <algorithm>
#include <cstring>

namespace stepscope::import {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

size_t last_cut(std::string_view text) {
  for (size_t open = text.rfind('{'); open != std::string_view::npos && open > 0;
       open = text.rfind('{', open - 1)) {
    size_t at = open;
    while (at > 0 && is_json_space(text[at - 1])) --at;
    if (at == 0 || text[at - 1] != ',') continue;

    --at;
    while (at > 0 && is_json_space(text[at - 1])) --at;
    if (at > 0 && text[at - 1] == '}') return at;
  }
  return 0;
}

JsonBlocks::JsonBlocks(Input const& input, size_t block_bytes)
    : block_bytes_(block_bytes), is_plain_(input.plain().has_value()) {
  if (is_plain_) {
    rest_ = *input.plain();
  } else {
    stream_ = input.stream();
    buffer_ = std::make_shared<std::vector<char>>();
  }
}

std::optional<std::string> const& JsonBlocks::damage() const {
  static std::optional<std::string> const none;
  return is_plain_ ? none : stream_->damage();
}

/// Has at least `bytes` in the buffer; false when the text ends before.
bool JsonBlocks::fill(size_t bytes) {
  while (end_ - begin_ < bytes && !is_over_) {
    if (buffer_->size() < begin_ + bytes) buffer_->resize(begin_ + bytes);
    size_t const got = stream_->read(std::span(*buffer_).subspan(end_, begin_ + bytes - end_));
    end_ += got;
    is_over_ = end_ < begin_ + bytes;
  }
  return end_ - begin_ >= bytes;
}

std::string_view JsonBlocks::front(size_t bytes) {
  if (is_plain_) return rest_;
  fill(bytes);
  return {buffer_->data() + begin_, end_ - begin_};
}

void JsonBlocks::drop(size_t bytes) {
  if (is_plain_) {
    rest_.remove_prefix(bytes);
  } else {
    begin_ += bytes;
  }
}

JsonBlock JsonBlocks::next() {
  if (!is_plain_) return next_unpacked();

  size_t size = rest_.size();
  for (size_t most = block_bytes_; most < rest_.size(); most *= 2) {
    size_t const cut = last_cut(rest_.substr(0, most));
    if (cut == 0 && most < kMostBytes) continue;
    size = cut > 0 ? cut : most;
    break;
  }

  JsonBlock block{rest_.substr(0, size), nullptr};
  rest_.remove_prefix(size);
  return block;
}

/// The buffer becomes the block's; what is behind the cut goes to the next buffer.
JsonBlock JsonBlocks::next_unpacked() {
  size_t size = 0;

  for (size_t most = block_bytes_; size == 0; most *= 2) {
    if (!fill(most)) {
      size = end_ - begin_;
      break;
    }
    size = last_cut({buffer_->data() + begin_, end_ - begin_});
    if (size == 0 && most >= kMostBytes) size = end_ - begin_;
  }

  JsonBlock block{{buffer_->data() + begin_, size}, buffer_};
  auto following = std::make_shared<std::vector<char>>();
  size_t const left = end_ - begin_ - size;
  following->reserve(block_bytes_ + left);
  following->assign(buffer_->begin() + static_cast<ptrdiff_t>(begin_ + size),
                    buffer_->begin() + static_cast<ptrdiff_t>(end_));

  buffer_ = std::move(following);
  begin_ = 0;
  end_ = left;

  return block;
}

}  // namespace stepscope::import
