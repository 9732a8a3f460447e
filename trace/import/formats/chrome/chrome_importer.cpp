#include "trace/import/formats/chrome/chrome_importer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <tbb/parallel_pipeline.h>

#include "trace/file/trace_file.h"
#include "trace/import/common/json/blocks.h"
#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/chrome/merged_events.h"
#include "trace/import/formats/importers.h"

namespace stepscope::import {
namespace {

using State = EventsEnd::State;

/// Long against the fixed cost of a block, short against memory.
constexpr size_t kBlockBytes = size_t{4} << 20U;
/// What stands before or behind the events is not longer.
constexpr size_t kMostHeaderBytes = size_t{1} << 30U;
/// Nor is an event: what seems to be longer has a quote too many or too few.
constexpr size_t kMostEventBytes = size_t{1} << 26U;
/// So much of an event at the end of a file is one that is cut, more is looked through.
constexpr size_t kMostTailBytes = size_t{1} << 20U;
/// A file that has more of these is not worth the time: what seems to have no end is left out then.
constexpr int kMostLooks = 16;

/// In which "traceEvents" or a first "ph" is looked for: a long description, or name, may stand
/// before.
constexpr size_t kMostSniffedBytes = size_t{64} << 20U;
/// Some editors write it before JSON.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct ParsedBlock {
  JsonBlock block;
  BlockEvents events;
};

class ChromeReader {
 public:
  ChromeReader(Input const& input, size_t block_bytes)
      : input_(input), block_bytes_(block_bytes), blocks_(input, block_bytes) {}

  base::Expected<model::Trace> read() {
    if (auto begun = find_events(); !begun) return base::fail_with(begun);

    read_blocks();
    if (too_many_) {
      return base::fail(
          "{}: holds more than the {} events that fit into this machine's memory, cut it or use a "
          "larger machine",
          input_.name(), file::events_that_fit());
    }

    read_trailer();
    if (merged_.event_count() == 0 && merged_.log().notes.empty() && !header_.is_kineto)
      return base::fail("{}: is JSON with no events of a trace in it, name a trace", input_.name());
    return std::move(merged_).finish(std::move(header_));
  }

 private:
  base::Expected<void> find_events() {
    if (blocks_.front(kByteOrderMark.size()).starts_with(kByteOrderMark)) {
      blocks_.drop(kByteOrderMark.size());
      offset_ = kByteOrderMark.size();
    }

    for (size_t bytes = block_bytes_;; bytes *= 2) {
      std::string_view const front = blocks_.front(bytes);
      JsonCursor cursor(front);
      TraceHeader header;
      HeaderEnd const end = read_header(cursor, true, header);

      if (end == HeaderEnd::kEvents) {
        header_ = std::move(header);
        TraceHeader const known = header_.rank ? header_ : header_at_end();
        merged_.set_rank(known.rank ? known.rank : rank_of_name(input_.name()),
                         static_cast<uint32_t>(known.world_size.value_or(0)));
        needs_closing_ = front[front.find_first_not_of(" \t\r\n")] == '{';
        offset_ += cursor.offset();
        blocks_.drop(cursor.offset());
        return {};
      }

      if (end == HeaderEnd::kMore && front.size() >= bytes && bytes < kMostHeaderBytes) continue;
      if (auto const& damage = blocks_.damage())
        return base::fail("{}: {}", input_.name(), *damage);
      return end == HeaderEnd::kMore
                 ? base::fail("{}: ends before its first event, record or copy it again",
                              input_.name())
                 : base::fail("{}: is JSON without the member traceEvents, name a trace",
                              input_.name());
    }
  }

  /// The last bytes' data on the job: traces that are taken on demand name the rank behind their
  /// events. Nothing for a packed file, as all of it would have to be unpacked first: its messages
  /// get the rank at the end.
  [[nodiscard]] TraceHeader header_at_end() const {
    constexpr std::string_view kMember = "\"distributedInfo\"";
    constexpr size_t kMostBytes = size_t{1} << 20U;
    TraceHeader header;
    auto const all = input_.plain();
    if (!all) return header;

    std::string_view tail = all->substr(all->size() - std::min(all->size(), kMostBytes));
    // The events end far before most of the last bytes: a search backwards passes what stands
    // behind them alone.
    size_t const at = tail.rfind(kMember);
    if (at == std::string_view::npos) return header;
    JsonCursor cursor(tail.substr(at + kMember.size()));
    if (cursor.take(':')) header.add("distributedInfo", cursor.value());
    return header;
  }

  void read_blocks() {
    size_t const tokens = 2 * std::max(1U, std::thread::hardware_concurrency());

    using Parsed = std::shared_ptr<ParsedBlock>;
    tbb::parallel_pipeline(
        tokens, tbb::make_filter<void, Parsed>(tbb::filter_mode::serial_in_order,
                                               [&](tbb::flow_control& flow) {
                                                 auto parsed = std::make_shared<ParsedBlock>();
                                                 if (!is_over_) parsed->block = blocks_.next();
                                                 if (parsed->block.text.empty()) flow.stop();
                                                 return parsed;
                                               }) &
                    tbb::make_filter<Parsed, Parsed>(tbb::filter_mode::parallel,
                                                     [](Parsed parsed) {
                                                       parsed->events =
                                                           read_block(parsed->block.text);
                                                       return parsed;
                                                     }) &
                    tbb::make_filter<Parsed, void>(tbb::filter_mode::serial_in_order,
                                                   [&](Parsed const& parsed) { take(*parsed); }));
  }

  /// In the order of the text.
  void take(ParsedBlock& parsed) {
    std::string_view const text = parsed.block.text;
    if (is_closed_) {
      keep_trailer(text);
    } else if (open_.empty()) {
      take_events(std::move(parsed.events), text, offset_);
    } else {
      // The block was cut where no event begins: what is left of the one before belongs to it.
      open_.append(text);
      std::string const whole = std::exchange(open_, {});
      take_events(read_block(whole), whole, open_begin_);
    }

    offset_ += text.size();
  }

  /// `begin`: place of the text in all of it.
  void take_events(BlockEvents events, std::string_view text, uint64_t begin) {
    if (too_many_) return;

    EventsEnd const end = events.end;
    if (end.broken > 0 && merged_.log().notes.empty()) {
      merged_.log().notes.push_back(fmt::format("near byte {} something stands that is no event",
                                                begin + end.first_broken_at));
    }

    merged_.add(std::move(events));
    if (merged_.event_count() > file::events_that_fit()) is_over_ = too_many_ = true;

    if (end.state == State::kOpen) {
      open_ = text.substr(end.offset);
      open_begin_ = begin + end.offset;
    }

    if (open_.size() > kMostEventBytes) return look_through_open();
    if (end.state != State::kClosed) return;
    is_over_ = is_closed_ = true;
    keep_trailer(text.substr(end.offset));
  }

  /// The begin of an event turned out to be none, or too long: events may begin in it.
  void look_through_open() {
    std::string const text = std::exchange(open_, {});
    if (looks_ == 0)
      merged_.log().notes.push_back(
          "something that is no event seemed to have no end: events in it may be missing");
    size_t const cut = next_cut(text, 1);
    if (cut == std::string_view::npos || ++looks_ > kMostLooks) return;
    std::string_view const rest = std::string_view(text).substr(cut);
    take_events(read_block(rest, true), rest, open_begin_ + cut);
  }

  void keep_trailer(std::string_view text) {
    if (trailer_.size() + text.size() <= kMostHeaderBytes) trailer_ += text;
  }

  void read_trailer() {
    // Each time less is left.
    while (!is_closed_ && open_.size() > kMostTailBytes) look_through_open();

    if (is_closed_) {
      for (JsonBlock block = blocks_.next(); !block.text.empty(); block = blocks_.next())
        keep_trailer(block.text);
      JsonCursor cursor(trailer_);
      bool const is_whole =
          !needs_closing_ || read_header(cursor, false, header_) == HeaderEnd::kOver;
      if (!is_whole) {
        find_base_time();
        note_truncation("behind its events, or what stands there is no JSON");
      } else {
        note_other_document(std::string_view(trailer_).substr(cursor.offset()));
      }
    } else if (!open_.empty()) {
      note_truncation(fmt::format("in the middle of an event, at byte {}", open_begin_));
    } else if (needs_closing_) {
      note_truncation(fmt::format("behind an event, at byte {}", offset_));
    }

    if (auto const& damage = blocks_.damage()) {
      merged_.log().truncated = true;
      merged_.log().notes.push_back(*damage);
    }
  }
  /// Notes that files were put behind each other.
  void note_other_document(std::string_view behind) {
    size_t const first = behind.find_first_not_of(" \t\r\n,;");
    if (first == std::string_view::npos || (behind[first] != '{' && behind[first] != '[')) return;
    merged_.log().notes.emplace_back(
        "another document stands behind the end of the trace and was left out: put each into a "
        "file of its own");
  }
  /// Kineto writes messages with quotes in them before it.
  void find_base_time() {
    constexpr std::string_view kMember = "\"baseTimeNanoseconds\"";
    size_t const at = trailer_.rfind(kMember);
    if (header_.base_ns != 0 || at == std::string::npos) return;
    JsonCursor cursor(std::string_view(trailer_).substr(at + kMember.size()));
    if (!cursor.take(':')) return;
    std::string_view const value = cursor.value();
    header_.add("baseTimeNanoseconds", value);
  }
  void note_truncation(std::string const& where) {
    merged_.log().truncated = true;
    merged_.log().notes.push_back(
        fmt::format("the file ends {}: what came before was read", where));
  }

  Input const& input_;
  size_t block_bytes_;
  JsonBlocks blocks_;
  TraceHeader header_;
  MergedEvents merged_;
  bool needs_closing_ =
      false;  ///< the events are in an object: an array may end with its last event
  std::atomic<bool> is_over_{false};  ///< no more blocks are needed
  bool is_closed_ = false;            ///< the events have ended
  bool too_many_ = false;
  int looks_ = 0;        ///< through what seemed to have no end
  uint64_t offset_ = 0;  ///< of the block, in the unpacked text
  std::string open_;     ///< the begin of an event whose rest is in the next block
  uint64_t open_begin_ = 0;
  std::string trailer_;  ///< what stands behind the events
};

/// The first members of a trace's object and of the first event of a list.
constexpr std::string_view kFirstMembersOfChrome =
    " schemaVersion deviceProperties distributedInfo traceEvents traceName displayTimeUnit "
    "otherData cuda_runtime_version record_shapes with_flops profile_memory ph cat ";

/// As std::string_view::find(), which would stop at every quotation mark.
bool holds_text(std::string_view text, std::string_view part) {
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

/// What is packed is unpacked no further than needed.
bool is_near_begin(Input const& input, std::string_view part) {
  if (holds_text(input.head(), part)) return true;
  if (auto const all = input.plain()) return holds_text(all->substr(0, kMostSniffedBytes), part);
  JsonBlocks blocks(input, Input::kHeadBytes);
  for (size_t bytes = kBlockBytes;; bytes *= 2) {
    std::string_view const front = blocks.front(bytes);
    if (holds_text(front, part)) return true;
    if (front.size() < bytes || bytes >= kMostSniffedBytes) return false;
  }
}

}  // namespace

bool is_chrome_trace(Input const& input) {
  std::string_view head = input.head();
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  size_t const first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (head[first] == '[') return is_near_begin(input, "\"ph\"");
  if (head[first] != '{') return false;
  return head.find("\"deviceProperties\"") != std::string_view::npos ||
         is_near_begin(input, "\"traceEvents\"");
}

base::Expected<model::Trace> read_chrome_trace(Input const& input) {
  return read_chrome_trace(input, kBlockBytes);
}

base::Expected<model::Trace> read_chrome_trace(Input const& input, size_t block_bytes) {
  return ChromeReader(input, block_bytes).read();
}

Importer chrome_importer() {
  return {.name = "PyTorch or Chrome JSON",
          .file_suffix = ".json",
          .sniff = is_chrome_trace,
          .read = [](Input const& input) { return one_trace(read_chrome_trace(input)); },
          .first_members = kFirstMembersOfChrome,
          .events_member = "\"traceEvents\"",
          // torch_npu keeps the raw data of its trace next to it.
          .output_folder = "ASCEND_PROFILER_OUTPUT"};
}

}  // namespace stepscope::import
