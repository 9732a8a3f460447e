// Unpacking: gzip by ISA-L, several members one behind the other, and zstd.
#include "trace/import/common/input.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

namespace stepscope::import {
namespace {

constexpr std::array<uint8_t, 2> kGzipMagic = {0x1F, 0x8B};
constexpr std::array<uint8_t, 4> kZstdMagic = {0x28, 0xB5, 0x2F, 0xFD};

template <size_t Size>
bool starts_with(base::ByteSpan bytes, std::array<uint8_t, Size> const& magic) {
  return bytes.size() >= Size && std::memcmp(bytes.data(), magic.data(), Size) == 0;
}

Compression compression_of(base::ByteSpan bytes) {
  if (starts_with(bytes, kGzipMagic)) return Compression::kGzip;
  return starts_with(bytes, kZstdMagic) ? Compression::kZstd : Compression::kNone;
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(base::ByteSpan bytes) : rest_(bytes) {}
  size_t read(std::span<char> room) override {
    size_t const size = std::min(room.size(), rest_.size());
    if (size > 0) std::memcpy(room.data(), rest_.data(), size);
    rest_ = rest_.subspan(size);
    return size;
  }

 private:
  base::ByteSpan rest_;
};

/// Gives what a decoder makes, until it has given suspiciously much.
class UnpackingStream : public ByteStream {
 public:
  explicit UnpackingStream(base::ByteSpan bytes) : rest_(bytes), packed_(bytes) {}

  size_t read(std::span<char> room) override {
    size_t done = 0;

    while (done < room.size() && !is_over_) {
      size_t const made = unpack(room.subspan(done));
      done += made;
      unpacked_bytes_ += made;

      if (unpacked_bytes_ > Input::kSuspiciousBytes &&
          unpacked_bytes_ / Input::kSuspiciousRatio > packed_.size())
        end(
            fmt::format("unpacks to more than {} times its size: no trace does, unpack it by hand "
                        "if this one is meant",
                        Input::kSuspiciousRatio));
    }

    return done;
  }

 protected:
  /// Writes at least a byte, or ends the stream.
  virtual size_t unpack(std::span<char> room) = 0;
  void end(std::optional<std::string> damage = std::nullopt) {
    is_over_ = true;
    damage_ = std::move(damage);
  }
  [[nodiscard]] size_t consumed() const { return packed_.size() - rest_.size(); }
  /// More than rest_ holds when a decoder returns bytes that it took in an earlier call: igzip does
  /// so at the end of a member.
  [[nodiscard]] base::ByteSpan last_bytes(size_t count) const {
    return packed_.last(std::min(count, packed_.size()));
  }

  base::ByteSpan rest_;

 private:
  base::ByteSpan packed_;
  uint64_t unpacked_bytes_ = 0;
  bool is_over_ = false;
};

class GzipStream final : public UnpackingStream {
 public:
  explicit GzipStream(base::ByteSpan bytes)
      : UnpackingStream(bytes), state_(std::make_unique<inflate_state>()) {
    begin_member();
  }

 protected:
  size_t unpack(std::span<char> room) override {
    constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
    auto const room_bytes = static_cast<uint32_t>(std::min(room.size(), kMost));

    for (;;) {
      auto const given = static_cast<uint32_t>(std::min(rest_.size(), kMost));
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the library reads it only
      state_->next_in = const_cast<uint8_t*>(reinterpret_cast<uint8_t const*>(rest_.data()));
      state_->avail_in = given;
      state_->next_out = reinterpret_cast<uint8_t*>(room.data());
      state_->avail_out = room_bytes;

      int const result = isal_inflate(state_.get());
      bool const took_some = state_->avail_in < given;
      rest_ = last_bytes(rest_.size() - given + state_->avail_in);
      size_t const made = room_bytes - state_->avail_out;

      if (result < ISAL_DECOMP_OK || result == ISAL_NEED_DICT) {
        end(fmt::format("the gzip data are damaged near byte {}", consumed()));
        return made;
      }

      if (state_->block_state == ISAL_BLOCK_FINISH) {
        // Another member, or what is written behind the last one.
        if (!starts_with(rest_, kGzipMagic)) {
          end();
          return made;
        }
        begin_member();
      } else if (made == 0 && (rest_.empty() || !took_some)) {
        end("the gzip data are cut off");
        return 0;
      }

      if (made > 0) return made;
    }
  }

 private:
  void begin_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }

  std::unique_ptr<inflate_state> state_;
};

class ZstdStream final : public UnpackingStream {
 public:
  explicit ZstdStream(base::ByteSpan bytes)
      : UnpackingStream(bytes), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    if (context_ == nullptr) end("out of memory");
  }

 protected:
  size_t unpack(std::span<char> room) override {
    for (;;) {
      // Another frame, or what is written behind the last one.
      if (is_between_frames_ && consumed() > 0 && !starts_with(rest_, kZstdMagic)) {
        end();
        return 0;
      }

      ZSTD_inBuffer in = {rest_.data(), rest_.size(), 0};
      ZSTD_outBuffer out = {room.data(), room.size(), 0};
      size_t const result = ZSTD_decompressStream(context_.get(), &out, &in);
      rest_ = rest_.subspan(in.pos);

      if (ZSTD_isError(result) != 0) {
        end(fmt::format("the zstd data are damaged near byte {} ({})", consumed(),
                        ZSTD_getErrorName(result)));
        return out.pos;
      }
      is_between_frames_ = result == 0;

      if (out.pos > 0) return out.pos;
      if (rest_.empty() && !is_between_frames_) {
        end("the zstd data are cut off");
        return 0;
      }
    }
  }

 private:
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  bool is_between_frames_ = true;
};

}  // namespace

Input::Input(base::ByteSpan bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)), compression_(compression_of(bytes)) {
  if (auto const all = plain()) {
    head_ = all->substr(0, kHeadBytes);
    return;
  }

  unpacked_head_.resize(kHeadBytes);
  auto const unpacking = stream();
  unpacked_head_.resize(unpacking->read(unpacked_head_));
  head_damage_ = unpacking->damage();
  head_ = unpacked_head_;
}

std::optional<std::string_view> Input::plain() const {
  if (compression_ != Compression::kNone) return std::nullopt;
  return std::string_view(reinterpret_cast<char const*>(bytes_.data()), bytes_.size());
}

std::unique_ptr<ByteStream> Input::stream() const {
  switch (compression_) {
    case Compression::kGzip:
      return std::make_unique<GzipStream>(bytes_);
    case Compression::kZstd:
      return std::make_unique<ZstdStream>(bytes_);
    case Compression::kNone:
      break;
  }
  return std::make_unique<PlainStream>(bytes_);
}

}  // namespace stepscope::import
