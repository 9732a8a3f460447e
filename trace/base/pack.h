// Values as bytes and back, for another process of the very same program: plain values are copied
// as memory has them. Files and other versions have formats of their own.
//
// A struct with texts or lists has a function beside it, found by its argument, that names all of
// its fields once for both directions. A structured binding there lets no field be forgotten:
//   template <class Archive> void pack_fields(Archive& at, Row& row) {
//     auto& [name, count] = row;
//     at(name, count);
//   }
// A class with private fields has a member pack_fields(at) instead.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepscope::base {

class Packer;
class Unpacker;

namespace pack_detail {

template <class T>
concept HasOwnFields = requires(T& value, Packer& at) {
  value.pack_fields(at);
};
template <class T>
concept HasFieldsBeside = requires(T& value, Packer& at) {
  pack_fields(at, value);
};
template <class T>
concept HasFields = HasOwnFields<T> || HasFieldsBeside<T>;

/// Copied as memory has them.
template <class T>
inline constexpr bool kIsPlain =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !HasFields<T>;

template <class Archive, class T>
void visit_fields(Archive& at, T& value) {
  if constexpr (HasOwnFields<T>)
    value.pack_fields(at);
  else
    pack_fields(at, value);
}

}  // namespace pack_detail

class Packer {
 public:
  template <class... T>
  void operator()(T const&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }
  /// Room for so many bytes, where they can be guessed: growing copies.
  void reserve(size_t bytes) { bytes_.reserve(bytes); }

 private:
  void put_raw(void const* data, size_t bytes) {
    if (bytes > 0) bytes_.append(static_cast<char const*>(data), bytes);
  }
  template <class T>
  void put(T const& value) {
    if constexpr (pack_detail::HasFields<T>) {
      // Naming the fields changes none of them.
      pack_detail::visit_fields(*this, const_cast<T&>(value));
    } else {
      static_assert(pack_detail::kIsPlain<T>, "name its fields in pack_fields()");
      put_raw(&value, sizeof value);
    }
  }
  void put(std::string const& text) {
    put(uint64_t{text.size()});
    put_raw(text.data(), text.size());
  }
  template <class T, class Allocator>
  void put(std::vector<T, Allocator> const& list) {
    put(uint64_t{list.size()});
    if constexpr (std::is_same_v<T, bool>) {
      for (bool const value : list) put(value);
    } else if constexpr (pack_detail::kIsPlain<T>) {
      put_raw(list.data(), list.size() * sizeof(T));
    } else {
      for (T const& value : list) put(value);
    }
  }
  template <class T>
  void put(std::optional<T> const& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(std::pair<A, B> const& both) {
    put(both.first);
    put(both.second);
  }
  template <class... T>
  void put(std::tuple<T...> const& all) {
    std::apply([this](auto const&... each) { (put(each), ...); }, all);
  }

  std::string bytes_;
};

/// After bytes that do not fit, values are empty and is_whole() is false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  /// Whether all bytes were read, and none was missing.
  [[nodiscard]] bool is_whole() const { return !failed_ && rest_.empty(); }

 private:
  void get_raw(void* data, size_t bytes) {
    if (failed_ || bytes > rest_.size()) {
      failed_ = true;
      return;
    }
    if (bytes > 0) std::memcpy(data, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }
  /// A length of things that take at least `least` bytes each; 0 where so many cannot follow.
  size_t get_length(size_t least) {
    uint64_t length = 0;
    get_raw(&length, sizeof length);
    if (!failed_ && length <= rest_.size() / least) return static_cast<size_t>(length);
    failed_ = true;
    return 0;
  }
  /// Another value than 0 and 1 is no bool: reading it would be undefined.
  void get(bool& value) {
    uint8_t byte = 0;
    get_raw(&byte, sizeof byte);
    failed_ = failed_ || byte > 1;
    value = byte == 1;
  }
  template <class T>
  void get(T& value) {
    if constexpr (pack_detail::HasFields<T>) {
      pack_detail::visit_fields(*this, value);
    } else {
      static_assert(pack_detail::kIsPlain<T>, "name its fields in pack_fields()");
      get_raw(&value, sizeof value);
    }
  }
  void get(std::string& text) {
    text.resize(get_length(1));
    get_raw(text.data(), text.size());
  }
  template <class T, class Allocator>
  void get(std::vector<T, Allocator>& list) {
    if constexpr (std::is_same_v<T, bool>) {
      list.resize(get_length(1));
      for (size_t i = 0; i < list.size(); ++i) {
        bool value = false;
        get(value);
        list[i] = value;
      }

    } else if constexpr (pack_detail::kIsPlain<T>) {
      list.resize(get_length(sizeof(T)));
      get_raw(list.data(), list.size() * sizeof(T));
    } else {
      list.resize(get_length(1));
      for (T& value : list) get(value);
    }
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    value.reset();
    if (has_value && !failed_) get(value.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& both) {
    get(both.first);
    get(both.second);
  }
  template <class... T>
  void get(std::tuple<T...>& all) {
    std::apply([this](auto&... each) { (get(each), ...); }, all);
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace stepscope::base
