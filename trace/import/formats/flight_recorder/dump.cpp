#include "trace/import/formats/flight_recorder/dump.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/import/common/process_groups.h"

namespace stepscope::import {
namespace {

using model::CollectiveState;

constexpr size_t kMostGroupTextBytes = 256;
constexpr size_t kMostGroupRanks = size_t{1} << 20U;
/// The year 2106; later times of a trace could not be told apart from its limits (model::kMaxTime).
constexpr int64_t kLatestInstantNs = int64_t{1} << 62U;

class DumpReader {
 public:
  explicit DumpReader(PlainData const& data)
      : data_(data), looks_left_(kLooksPerValue * (data.value_count() + 1)) {}

  std::optional<FlightDump> read(PlainValue const& root) {
    PlainValue entries;
    if (root.type == PlainType::kList) {
      entries = root;  // of the first version
    } else {
      for_each_member(root, [&](std::string_view key, PlainValue const& value) {
        if (key == "entries") entries = value;
        if (key == "version") dump_.version = value;
        if (key == "nccl_version" || key == "comm_lib_version") dump_.library_version = value;
        if (key == "pg_config") read_groups(value);
        if (key == "pg_status") read_status(value);
      });
    }

    // Each has a dictionary of its own: more entries than dictionaries would make much of a small
    // file.
    size_t dictionaries = data_.container_count();
    dump_.entries.reserve(std::min(data_.items(entries).size(), dictionaries));
    for (PlainValue const& each : data_.items(entries)) {
      if (each.type == PlainType::kDict && dictionaries > 0 && dictionaries-- > 0)
        add_entry(each);
      else
        ++dump_.incomplete;
    }

    bool const is_dump =
        !dump_.entries.empty() || !dump_.groups.empty() || !raw_text(dump_.version).empty();
    if (!is_dump) return std::nullopt;

    give_counts();
    put_in_order();
    complete_coalesced();
    mark_unobserved_ends();
    return std::move(dump_);
  }

 private:
  /// Looks at a container's contents per value, however often the data refer to it: shared ones
  /// cost no more than others.
  static constexpr size_t kLooksPerValue = 4;

  template <class Visit>
  void for_each_member(PlainValue const& dict, Visit&& visit) {
    if (dict.type != PlainType::kDict) return;
    auto const items = data_.items(dict);
    for (size_t i = 0; i + 1 < items.size() && may_look(); i += 2)
      visit(raw_text(items[i]), items[i + 1]);
  }
  bool may_look() { return looks_left_ > 0 && looks_left_-- > 0; }

  // Groups.

  void read_groups(PlainValue const& config) {
    for_each_member(config, [&](std::string_view key, PlainValue const& value) {
      FlightGroup group;
      group.name = key;
      if (value.type == PlainType::kList) group.ranks = ranks_of(value);  // of early versions
      for_each_member(value, [&](std::string_view member, PlainValue const& of) {
        if (member == "name") group.name = shown_text(of, kMostGroupTextBytes);
        if (member == "desc") group.description = shown_text(of, kMostGroupTextBytes);
        if (member == "ranks") group.ranks = ranks_of(of);
      });

      if (auto const index = group_of(group.name)) dump_.groups[*index] = std::move(group);
    });
  }
  /// pg_status has the number that a group has in its own process, which only the entries state.
  void read_status(PlainValue const& status) {
    for_each_member(status, [&](std::string_view key, PlainValue const& value) {
      int64_t id = 0;
      auto const [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size()) return;

      std::optional<int64_t> called, completed;
      for_each_member(value, [&](std::string_view member, PlainValue const& of) {
        if (member == "last_enqueued_collective") called = whole_number(of);
        if (member == "last_completed_collective") completed = whole_number(of);
      });

      if (!called || !completed) return;
      // −1: none yet.
      auto const count = [](int64_t number) {
        return static_cast<uint64_t>(std::max<int64_t>(number, 0));
      };
      statuses_[id] = {count(*called), count(*completed)};
    });
  }
  /// A process numbers its groups in the order in which it made them, as their names do. Where
  /// there are as many statuses as groups, and the entries agree, each group takes the status at
  /// its place in that order.
  void give_counts() {
    std::map<int64_t, uint32_t> by_name;
    for (uint32_t g = 0; g < dump_.groups.size(); ++g) {
      std::string const& name = dump_.groups[g].name;
      int64_t number = 0;
      auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (error != std::errc() || end != name.data() + name.size()) return;
      by_name.emplace(number, g);
    }
    if (by_name.size() != dump_.groups.size() || by_name.size() != statuses_.size()) return;

    std::map<uint32_t, int64_t> ids;
    auto status = statuses_.begin();
    for (auto const& [name, group] : by_name) ids[group] = status++->first;

    for (auto const& [group, id] : ids_of_groups_)
      if (ids.at(group) != id) return;
    for (auto const& [group, id] : ids) dump_.groups[group].counts = statuses_.at(id);
  }
  /// A list, or its text: "[0, 1]".
  std::vector<int32_t> ranks_of(PlainValue const& value) {
    std::vector<int32_t> ranks;
    auto const add = [&](int64_t rank) {
      if (rank >= 0 && rank <= INT32_MAX && ranks.size() < kMostGroupRanks)
        ranks.push_back(static_cast<int32_t>(rank));
    };

    if (value.type == PlainType::kList) {
      for (PlainValue const& item : data_.items(value))
        if (auto const rank = whole_number(item); rank && may_look()) add(*rank);
      return ranks;
    }

    std::string_view text = raw_text(value);
    for (size_t at = text.find_first_of("0123456789"); at != std::string_view::npos;
         at = text.find_first_of("0123456789")) {
      text.remove_prefix(at);
      int64_t rank = -1;
      auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
      if (error == std::errc()) add(rank);
      text.remove_prefix(static_cast<size_t>(end - text.data()));
    }

    return ranks;
  }
  std::optional<uint32_t> group_of(std::string const& name) {
    auto const found = group_numbers_.find(name);
    if (found != group_numbers_.end()) return found->second;

    if (dump_.groups.size() >= kMostGroups) return std::nullopt;
    auto const number = static_cast<uint32_t>(dump_.groups.size());
    group_numbers_.emplace(name, number);
    dump_.groups.push_back({name, {}, {}});
    return number;
  }
  /// (name, description), or a name, or (version 1) the group's number in its process.
  std::optional<uint32_t> group_of(PlainValue const& group, std::optional<int64_t> id) {
    auto const parts = data_.items(group);
    PlainValue const& raw = parts.empty() ? group : parts[0];

    // Most calls are of the group that the one before was of.
    if (last_group_ && !raw_text(raw).empty() && raw_text(raw) == last_group_name_)
      return last_group_;
    std::string name = shown_text(raw, kMostGroupTextBytes);
    if (name.empty() && id) name = fmt::format("{}", *id);
    auto const number = group_of(name);
    last_group_name_ = raw_text(raw);
    last_group_ = number;
    if (number && parts.size() > 1 && dump_.groups[*number].description.empty())
      dump_.groups[*number].description = shown_text(parts[1], kMostGroupTextBytes);
    return number;
  }

  // Entries.

  void add_entry(PlainValue const& value) {
    FlightEntry entry;
    PlainValue group;
    std::optional<int64_t> group_id;
    std::optional<uint64_t> collective, message, either;
    TensorText inputs, outputs;

    for_each_member(value, [&](std::string_view key, PlainValue const& of) {
      if (key == "process_group") group = of;
      if (key == "pg_id") group_id = whole_number(of);
      if (key == "record_id" || key == "id") entry.record = count_of(of).value_or(0);
      if (key == "collective_seq_id") collective = count_of(of);
      if (key == "p2p_seq_id") message = count_of(of);
      if (key == "seq_id") either = count_of(of);
      if (key == "profiling_name") entry.name = of;
      if (key == "is_p2p") entry.is_message = whole_number(of).value_or(0) != 0;
      if (key == "retired") entry.is_retired = whole_number(of).value_or(0) != 0;
      if (key == "state") entry.state = state_of(raw_text(of));
      if (key == "time_created_ns") entry.created_ns = instant_of(of).value_or(0);
      if (key == "time_discovered_started_ns") entry.seen_started_ns = instant_of(of);
      if (key == "time_discovered_completed_ns") entry.seen_completed_ns = instant_of(of);
      if (key == "duration_ms") entry.duration_ms = duration_of(of);
      if (key == "input_sizes") inputs.sizes = of;
      if (key == "input_dtypes") inputs.types = of;
      if (key == "output_sizes") outputs.sizes = of;
      if (key == "output_dtypes") outputs.types = of;
      if (key == "frames") read_frames(of, entry);
    });

    auto const number = group_of(group, group_id);
    if (raw_text(entry.name).empty() || entry.created_ns == 0 ||
        entry.state == CollectiveState::kUnknown || !number) {
      ++dump_.incomplete;
      return;
    }

    entry.group = *number;
    if (group_id) ids_of_groups_.emplace(*number, *group_id);
    entry.sequence = (entry.is_message ? message : collective).value_or(either.value_or(0));
    entry.input_bytes = bytes_of(inputs, entry.data_type);
    entry.output_bytes = bytes_of(outputs, entry.data_type);
    if (entry.seen_completed_ns) entry.state = CollectiveState::kCompleted;
    dump_.knows_starts = dump_.knows_starts || entry.seen_started_ns.has_value() ||
                         entry.state == CollectiveState::kStarted;
    dump_.entries.push_back(entry);
  }

  static CollectiveState state_of(std::string_view name) {
    if (name == "scheduled") return CollectiveState::kEnqueued;
    if (name == "started") return CollectiveState::kStarted;
    return name == "completed" ? CollectiveState::kCompleted : CollectiveState::kUnknown;
  }

  std::optional<uint64_t> count_of(PlainValue const& value) {
    auto const number = whole_number(value);
    if (number && *number >= 0) return static_cast<uint64_t>(*number);
    ++dump_.strange;
    return std::nullopt;
  }
  /// Not said: None, and in JSON 0.
  std::optional<int64_t> instant_of(PlainValue const& value) {
    if (value.type == PlainType::kNone) return std::nullopt;
    auto const number = whole_number(value);
    if (number == 0) return std::nullopt;
    if (number && *number > 0 && *number < kLatestInstantNs) return number;
    ++dump_.strange;
    return std::nullopt;
  }
  std::optional<double> duration_of(PlainValue const& value) {
    constexpr double kMostMs = 1e9;  // 11 days
    if (value.type == PlainType::kNone) return std::nullopt;
    auto const number = real_number(value);
    if (number && *number >= 0 && *number < kMostMs) return number;
    ++dump_.strange;
    return std::nullopt;
  }
  /// The innermost frame that is not PyTorch's own.
  void read_frames(PlainValue const& frames, FlightEntry& entry) {
    constexpr size_t kMostFrames = 64;
    auto const items = data_.items(frames);

    for (size_t i = 0; i < std::min(items.size(), kMostFrames); ++i) {
      PlainValue file, function;
      int64_t line = 0;
      for_each_member(items[i], [&](std::string_view key, PlainValue const& of) {
        if (key == "filename") file = of;
        if (key == "name") function = of;
        if (key == "line") line = whole_number(of).value_or(0);
      });

      bool const is_own = raw_text(file).find("/torch/") != std::string_view::npos;
      if (is_own || raw_text(file).empty()) continue;

      entry.file = file;
      entry.function = function;
      entry.line = line;
      return;
    }
  }

  struct TensorText {
    PlainValue sizes, types;
  };
  /// The bytes of all tensors; 0 where a size or type is not known.
  uint64_t bytes_of(TensorText const& tensors, model::DataType& type) {
    constexpr uint64_t kMost = uint64_t{1} << 60U;
    auto const sizes = data_.items(tensors.sizes);
    auto const types = data_.items(tensors.types);

    uint64_t sum = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i >= types.size() || !may_look()) return 0;
      model::DataType const own = data_type_of(raw_text(types[i]));
      if (i == 0) type = own;

      uint64_t bytes = model::bytes_of(own);
      for (PlainValue const& item : data_.items(sizes[i])) {
        auto const size = whole_number(item);
        if (!size || *size < 0 || !may_look()) return 0;
        if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(*size), &bytes)) return 0;
      }

      if (model::bytes_of(own) == 0 || bytes > kMost - sum) return 0;
      sum += bytes;
    }

    return sum;
  }

  void put_in_order() {
    auto const by_record = [](FlightEntry const& a, FlightEntry const& b) {
      return a.record < b.record;
    };

    std::vector<FlightEntry>& entries = dump_.entries;
    bool const has_records = std::any_of(
        entries.begin(), entries.end(), [](FlightEntry const& entry) { return entry.record != 0; });

    if (!has_records) return;
    if (!std::is_sorted(entries.begin(), entries.end(), by_record))
      std::stable_sort(entries.begin(), entries.end(), by_record);

    auto const last = std::unique(
        entries.begin(), entries.end(),
        [](FlightEntry const& a, FlightEntry const& b) { return a.record == b.record; });
    dump_.doubled = static_cast<uint64_t>(entries.end() - last);
    entries.erase(last, entries.end());
  }

  /// Operations that are launched together are watched together: what became of them stands at the
  /// entry "coalesced" behind them.
  void complete_coalesced() {
    struct KeyHash {
      size_t operator()(std::pair<uint64_t, uint64_t> const& key) const {
        return std::hash<uint64_t>{}(key.first * 0x9E3779B97F4A7C15U ^ key.second);
      }
    };
    std::unordered_map<std::pair<uint64_t, uint64_t>, size_t, KeyHash> ends;
    auto const key_of = [](FlightEntry const& entry) {
      return std::pair{uint64_t{entry.group} << 1U | (entry.is_message ? 1U : 0U), entry.sequence};
    };
    auto const is_end = [](FlightEntry const& entry) {
      return raw_text(entry.name).find("coalesced") != std::string_view::npos;
    };

    for (size_t i = 0; i < dump_.entries.size(); ++i)
      if (is_end(dump_.entries[i])) ends[key_of(dump_.entries[i])] = i;

    for (size_t i = 0; i < dump_.entries.size() && !ends.empty(); ++i) {
      FlightEntry& entry = dump_.entries[i];
      if (is_end(entry) || entry.state == CollectiveState::kCompleted) continue;
      auto const end = ends.find(key_of(entry));
      if (end == ends.end() || end->second < i) continue;

      FlightEntry const& whole = dump_.entries[end->second];
      entry.state = whole.state;
      entry.seen_started_ns = whole.seen_started_ns;
      entry.seen_completed_ns = whole.seen_completed_ns;
      entry.is_retired = whole.is_retired;
    }
  }

  /// Only NCCL's own watchdog looks at the device. Entries of other backends (gloo) stay
  /// "scheduled" for ever and are retired once the call was made (PyTorch 2.14), so they tell the
  /// call alone. So do the entries of a dump in which no call has got anywhere.
  void mark_unobserved_ends() {
    auto const is_observed = [](FlightEntry const& entry) {
      return entry.state != CollectiveState::kEnqueued;
    };
    bool const is_any_observed =
        std::any_of(dump_.entries.begin(), dump_.entries.end(), is_observed);

    for (FlightEntry& entry : dump_.entries) {
      std::string_view const name = raw_text(entry.name);
      bool const is_watched = name.find(':') == std::string_view::npos || name.starts_with("nccl:");
      if (!is_observed(entry) && entry.is_retired && !(is_watched && is_any_observed))
        entry.state = CollectiveState::kCalled;
    }
  }

  PlainData const& data_;
  size_t looks_left_;
  FlightDump dump_;
  std::map<std::string, uint32_t, std::less<>> group_numbers_;
  std::map<int64_t, model::GroupCounts> statuses_;  ///< by the group's number in its process
  std::unordered_map<uint32_t, int64_t> ids_of_groups_;
  std::string_view last_group_name_;  ///< as it stands in the data
  std::optional<uint32_t> last_group_;
};

}  // namespace

std::optional<FlightDump> read_dump(PlainData const& data, PlainValue const& root) {
  return DumpReader(data).read(root);
}

}  // namespace stepscope::import
