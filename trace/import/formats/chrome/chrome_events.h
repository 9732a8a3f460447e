// Chrome trace events as they stand in JSON text: this layer does not know which tool wrote them,
// nor what they mean.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/import/common/json/cursor.h"

namespace stepscope::import {

/// The members that all such events share. Views of the text: strings without their quotes and with
/// their escapes, numbers as they are written; empty = the event does not say.
struct ChromeEvent {
  char phase = '\0';
  std::string_view category, name, time, duration, id, process, thread;
  std::string_view arguments;  ///< the object, with its braces
};

/// How a part of an array of events ended.
struct EventsEnd {
  enum class State : uint8_t {
    kClean,  ///< behind an event, or in what could not be read
    kOpen,   ///< in the middle of the event that begins at `offset`
    kClosed  ///< the array ended before `offset`
  };
  State state = State::kClean;
  size_t offset = 0;
  uint64_t broken = 0;  ///< places that are no events; what follows them was read
  size_t first_broken_at = 0;
};

/// Where the next object may begin, or the array end, behind something that is no event: behind
/// "}", before "," and "{", or before
/// "]". npos: nowhere.
size_t next_cut(std::string_view text, size_t from);

/// "1414456661601.577" (µs) → ns, exact to the last digit that is written, rounded to a ns.
/// Nothing: not a number, or beyond 292 years.
std::optional<int64_t> parse_microseconds(std::string_view number);

/// Reads one event that begins at the cursor; false when the cursor has failed.
inline bool read_event(JsonCursor& cursor, ChromeEvent& event) {
  return cursor.object([&](std::string_view key) {
    bool is_string = false;

    switch (key.size()) {
      case 2:
        if (is(key, "ph")) {
          std::string_view const phase = cursor.scalar(is_string);
          event.phase = phase.empty() ? '\0' : phase[0];
          return;
        }
        if (is(key, "ts")) return void(event.time = cursor.scalar(is_string));
        if (is(key, "id"))
          return void(event.id = cursor.peek() == '{' ? cursor.value() : cursor.scalar(is_string));
        break;
      case 3:
        if (is(key, "cat")) return void(event.category = cursor.scalar(is_string));
        if (is(key, "pid")) return void(event.process = cursor.scalar(is_string));
        if (is(key, "tid")) return void(event.thread = cursor.scalar(is_string));
        if (is(key, "dur")) return void(event.duration = cursor.scalar(is_string));
        if (is(key, "id2"))
          return void(event.id = cursor.peek() == '{' ? cursor.value() : cursor.scalar(is_string));
        break;
      case 4:
        if (is(key, "name")) return void(event.name = cursor.scalar(is_string));
        if (is(key, "args")) return void(event.arguments = cursor.value());
        break;
      default:
        break;
    }

    cursor.value();
  });
}

/// Calls handle(event) for each event of a part of an array. `is_lost`: the text may begin inside
/// an event; then an object without a phase is no event.
template <class Handle>
EventsEnd read_events(std::string_view text, Handle&& handle, bool is_lost = false) {
  using State = EventsEnd::State;
  JsonCursor cursor(text);

  EventsEnd end;
  std::optional<size_t>
      last_phase;  // where the last event can be; looked for once, and only in what is broken
  auto const is_behind_events = [&](size_t at) {
    if (!last_phase) last_phase = text.rfind("\"ph\"");
    return *last_phase == std::string_view::npos || *last_phase < at;
  };
  auto const ends = [&](State state, size_t offset) {
    end.state = state;
    end.offset = offset;
    return end;
  };

  for (;;) {
    char const c = cursor.peek();
    size_t const begin = cursor.offset();
    if (cursor.take(',')) continue;
    if (begin == text.size()) return ends(State::kClean, begin);
    // A list inside a broken event may have more of the event behind it.
    if (c == ']' && (!is_lost || is_behind_events(begin))) return ends(State::kClosed, begin + 1);
    if (c == '{') {
      ChromeEvent event;
      if (read_event(cursor, event)) {
        is_lost = is_lost && event.phase == '\0';
        if (!is_lost) handle(event);
        continue;
      }
      if (cursor.failure() == JsonCursor::Failure::kEnd) return ends(State::kOpen, begin);
    }

    if (end.broken++ == 0) end.first_broken_at = begin;
    if (c != '{' && c != ']' && c != '}') {
      cursor.value();  // null, a number, a list
      if (!cursor.failed()) continue;
      if (cursor.failure() == JsonCursor::Failure::kEnd) return ends(State::kOpen, begin);
    }

    is_lost = true;
    size_t const cut = next_cut(text, std::max(cursor.offset(), begin));
    cursor.resume(cut == std::string_view::npos ? text.size() : cut);
  }
}

}  // namespace stepscope::import
