// Writes XSpaces of Protocol Buffers by hand, so that tests can also write what no library would:
// see trace/import/formats/xplane/xplane.proto.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stepscope::support {

/// A message as it grows.
class MessageWriter {
 public:
  MessageWriter& varint(uint32_t number, uint64_t value) {
    put(uint64_t{number} << 3U);
    put(value);
    return *this;
  }
  MessageWriter& bytes(uint32_t number, std::string_view value) {
    put(uint64_t{number} << 3U | 2U);
    put(value.size());
    text_ += value;
    return *this;
  }
  MessageWriter& real(uint32_t number, double value) {
    put(uint64_t{number} << 3U | 1U);
    auto const bits = std::bit_cast<uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8)
      text_ += static_cast<char>(bits >> shift & 0xFFU);
    return *this;
  }
  MessageWriter& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string const& text() const { return text_; }

 private:
  void put(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// A text that stands in the plane's table of names, to which the stat refers.
struct Reference {
  std::string text;
};
using StatValue = std::variant<int64_t, uint64_t, double, std::string, Reference>;
using Stats = std::vector<std::pair<std::string, StatValue>>;

/// Names are numbered from 1 as they come.
class PlaneWriter {
 public:
  explicit PlaneWriter(std::string_view name) { head_.bytes(2, name); }

  PlaneWriter& line(int64_t id, std::string_view name, int64_t timestamp_ns) {
    end_line();
    line_.varint(1, static_cast<uint64_t>(id))
        .bytes(2, name)
        .varint(3, static_cast<uint64_t>(timestamp_ns));
    has_line_ = true;
    return *this;
  }
  PlaneWriter& event(std::string_view name, int64_t offset_ps, int64_t duration_ps,
                     Stats const& stats = {}) {
    MessageWriter message;
    message.varint(1, event_id(name))
        .varint(2, static_cast<uint64_t>(offset_ps))
        .varint(3, static_cast<uint64_t>(duration_ps));
    for (auto const& [stat, value] : stats) message.bytes(4, stat_message(stat, value));
    line_.bytes(4, message.text());
    return *this;
  }
  /// Any bytes in place of an event.
  PlaneWriter& raw_event(std::string_view message) {
    line_.bytes(4, message);
    return *this;
  }
  /// What an event's name says of all its events.
  PlaneWriter& describe(std::string_view name, std::string_view display_name,
                        Stats const& stats = {}) {
    MessageWriter more;
    if (!display_name.empty()) more.bytes(4, display_name);
    for (auto const& [stat, value] : stats) more.bytes(5, stat_message(stat, value));
    event_id(name);
    descriptions_[std::string(name)] = more.text();
    return *this;
  }
  PlaneWriter& stat(std::string_view name, StatValue const& value) {
    stats_.bytes(6, stat_message(name, value));
    return *this;
  }
  uint64_t event_id(std::string_view name) { return id_of(event_ids_, name); }
  uint64_t stat_id(std::string_view name) { return id_of(stat_ids_, name); }

  [[nodiscard]] std::string message() {
    end_line();
    MessageWriter plane;
    plane.raw(head_.text()).raw(lines_.text());

    for (auto const& [name, id] : event_ids_) {
      MessageWriter metadata;
      metadata.varint(1, id).bytes(2, name).raw(descriptions_[name]);
      plane.bytes(4, MessageWriter().varint(1, id).bytes(2, metadata.text()).text());
    }

    for (auto const& [name, id] : stat_ids_) {
      MessageWriter const metadata = MessageWriter().varint(1, id).bytes(2, name);
      plane.bytes(5, MessageWriter().varint(1, id).bytes(2, metadata.text()).text());
    }

    return plane.raw(stats_.text()).text();
  }

 private:
  static uint64_t id_of(std::map<std::string, uint64_t, std::less<>>& ids, std::string_view name) {
    auto const known = ids.find(name);
    return known != ids.end() ? known->second : ids.emplace(name, ids.size() + 1).first->second;
  }
  std::string stat_message(std::string_view name, StatValue const& value) {
    MessageWriter stat;
    stat.varint(1, stat_id(name));

    if (auto const* number = std::get_if<int64_t>(&value))
      stat.varint(4, static_cast<uint64_t>(*number));
    if (auto const* number = std::get_if<uint64_t>(&value)) stat.varint(3, *number);
    if (auto const* number = std::get_if<double>(&value)) stat.real(2, *number);
    if (auto const* text = std::get_if<std::string>(&value)) stat.bytes(5, *text);
    if (auto const* reference = std::get_if<Reference>(&value))
      stat.varint(7, stat_id(reference->text));

    return stat.text();
  }
  void end_line() {
    if (has_line_) lines_.bytes(3, line_.text());
    line_ = MessageWriter();
    has_line_ = false;
  }

  MessageWriter head_, line_, lines_, stats_;
  bool has_line_ = false;
  std::map<std::string, uint64_t, std::less<>> event_ids_, stat_ids_;
  std::map<std::string, std::string> descriptions_;
};

/// An XSpace of these planes, of this host.
inline std::string write_space(std::vector<std::string> const& planes, std::string_view host = {}) {
  MessageWriter space;
  for (std::string const& plane : planes) space.bytes(1, plane);
  if (!host.empty()) space.bytes(4, host);
  return space.text();
}

}  // namespace stepscope::support
