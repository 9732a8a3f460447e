// Changes blocks of a trace so that much of them stays what readers expect: one number of one row,
// one member of the JSON.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/fuzz/mutators/damaged_trace.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/codec/summary_codec.h"

namespace stepscope::fuzz {
namespace {

using file::BlockHeader;
using file::BlockType;
using nlohmann::json;

/// Larger files and blocks only make a fuzzer slow.
constexpr size_t kMostBlocks = 64;
constexpr uint32_t kMostRows = 4096;

bool has_type(LooseBlock const& block, BlockType type) {
  return block.header.type == static_cast<uint16_t>(type);
}

template <class T>
void change(T& number, std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, double>) {
    constexpr double kValues[] = {0,
                                  -1,
                                  1e308,
                                  -1e308,
                                  1e-308,
                                  std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity()};

    number = kValues[random() % std::size(kValues)];
  } else {
    number = static_cast<T>(edge_number(static_cast<uint64_t>(number), random));
  }
}

void change_header(BlockHeader& header, std::mt19937_64& random) {
  switch (random() % 6) {
    case 1:
      return change(header.track, random);
    case 2:
      return change(header.rows, random);
    case 3:
      return change(header.min_start, random);
    case 4:
      return change(header.max_end, random);
    case 5:
      return change(header.kinds, random);
    default:
      header.type = static_cast<uint16_t>(random() % 9);
  }
}

/// Any of the rows of one table that has any.
template <class Row>
void change_detail(model::DetailColumn<Row>& rows, std::mt19937_64& random) {
  if (rows.empty()) return;
  Row& row = rows[random() % rows.size()];
  size_t const chosen =
      random() % std::tuple_size_v<std::remove_cvref_t<decltype(model::detail_fields<Row>)>>;

  size_t number = 0;
  auto const visit = [&](auto const& field) {
    if (number++ == chosen) change(row.*field.member, random);
  };
  std::apply([&](auto const&... field) { (visit(field), ...); }, model::detail_fields<Row>);
}

void change_event(model::EventBatch& batch, std::mt19937_64& random) {
  if (batch.empty()) return;
  size_t const row = random() % batch.size();

  switch (random() % 6) {
    case 0:
      return change(batch.start[row], random);
    case 1:
      return change(batch.dur[row], random);
    case 2:
      // The encoder's tables grow with the largest id.
      batch.name[row].value =
          static_cast<uint32_t>(edge_number(batch.name[row].value, random)) % (1U << 20);
      return;
    case 3:
      return change(batch.correlation[row], random);
    default: {
      size_t const chosen = random() % model::kDetailTableCount;
      size_t number = 0;
      auto const visit = [&](auto& table) {
        if (number++ == chosen) change_detail(table, random);
      };
      std::apply([&](auto&... table) { (visit(table), ...); }, batch.details);
    }
  }
}

/// False: its columns cannot be read.
bool change_events(LooseBlock& block, std::mt19937_64& random) {
  file::EventDecoder decoder;
  model::EventBatch batch;
  uint64_t unknown = 0;
  if (block.header.rows > kMostRows ||
      !decoder.decode(block.payload, block.header.rows, file::current_columns(), {}, batch,
                      unknown) ||
      unknown > 0)
    return false;

  for (model::StringId& name : batch.name) name.value %= 1U << 20;
  for (uint64_t count = 1 + random() % 3; count > 0; --count) change_event(batch, random);

  base::ByteWriter payload;
  file::EventEncoder().encode(model::EventView(batch), payload);
  block.payload.assign(payload.span().begin(), payload.span().end());
  return true;
}

bool change_steps(LooseBlock& block, std::mt19937_64& random) {
  std::vector<file::StepSpan> steps;
  if (block.header.rows > kMostRows ||
      !file::decode_steps(block.payload, block.header.rows, steps) || steps.empty())
    return false;

  file::StepSpan& step = steps[random() % steps.size()];
  switch (random() % 4) {
    case 0:
      change(step.track.value, random);
      break;
    case 1:
      change(step.start, random);
      break;
    case 2:
      change(step.dur, random);
      break;
    default:
      change(step.index, random);
      break;
  }

  file::ColumnEncoder columns;
  base::ByteWriter payload;
  file::encode_steps(steps, columns, payload);
  block.payload.assign(payload.span().begin(), payload.span().end());
  return true;
}

bool change_summary(LooseBlock& block, std::mt19937_64& random) {
  model::TrackSummary summary;
  if (block.header.rows > kMostRows || block.header.rows == 0 ||
      !file::decode_summary(block.payload, block.header.rows, block.header.max_end, summary))
    return false;

  size_t const bin = random() % summary.size();
  switch (random() % 7) {
    case 0:
      change(summary.begin[bin], random);
      break;
    case 1:
      change(summary.busy[random() % summary.busy.size()][bin], random);
      break;
    case 2:
      change(summary.starts[bin], random);
      break;
    case 3:
      change(summary.depth[bin], random);
      break;
    case 4:
      change(summary.longest[bin], random);
      break;
    case 5:
      change(summary.longest_name[bin].value, random);
      break;
    default:
      change(random() % 2 == 0 ? summary.low[bin] : summary.high[bin], random);
      break;
  }

  file::ColumnEncoder columns;
  base::ByteWriter payload;
  file::encode_summary(summary, columns, payload);
  block.payload.assign(payload.span().begin(), payload.span().end());
  return true;
}

bool change_meaning(LooseBlock& block, std::mt19937_64& random) {
  if (has_type(block, BlockType::kEvents)) return change_events(block, random);
  if (has_type(block, BlockType::kSteps)) return change_steps(block, random);
  if (has_type(block, BlockType::kSummary)) return change_summary(block, random);
  if (has_type(block, BlockType::kDescription) || has_type(block, BlockType::kTracks))
    return mutate_json(block.payload, random);
  return false;
}

void change_bytes(LooseBlock& block, size_t (*mutate_bytes)(uint8_t*, size_t, size_t)) {
  constexpr size_t kMostGrowth = 32;
  size_t const size = block.payload.size();
  block.payload.resize(size + kMostGrowth);
  block.payload.resize(
      mutate_bytes(reinterpret_cast<uint8_t*>(block.payload.data()), size, size + kMostGrowth));
}

}  // namespace

bool mutate_json(std::vector<std::byte>& document, std::mt19937_64& random) {
  auto const* const begin = reinterpret_cast<char const*>(document.data());
  json root = json::parse(begin, begin + document.size(), nullptr, false);
  json* at = root.is_structured() ? &root : nullptr;
  while (at != nullptr && at->is_structured() && !at->empty() && (at == &root || random() % 8 != 0))
    at = &*std::next(at->begin(), static_cast<ptrdiff_t>(random() % at->size()));
  if (at == nullptr || at == &root) return false;

  if (at->is_number_integer() && random() % 8 != 0) {
    uint64_t const number = edge_number(at->get<uint64_t>(), random);
    *at = random() % 2 == 0 ? json(number) : json(static_cast<int64_t>(number));
  } else if (at->is_string() && random() % 2 == 0) {
    *at = at->get<std::string>() + at->get<std::string>();
  } else {
    json const values[] = {nullptr, true, -1, 1e308, "", "op 1", json::array(), json::object()};
    *at = values[random() % std::size(values)];
  }

  std::string const text = root.dump(-1, ' ', false, json::error_handler_t::replace);
  auto const bytes = std::as_bytes(std::span(text));
  document.assign(bytes.begin(), bytes.end());
  return true;
}

void mutate_blocks(std::vector<LooseBlock>& blocks, std::mt19937_64& random,
                   size_t (*mutate_bytes)(uint8_t* data, size_t size, size_t max_size)) {
  if (blocks.empty()) return;

  size_t const chosen = random() % blocks.size();
  switch (random() % 16) {
    case 0:
      if (blocks.size() < kMostBlocks) blocks.push_back(LooseBlock(blocks[chosen]));
      return;
    case 1:
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(chosen));
      return;
    case 2:
      std::swap(blocks[chosen], blocks[random() % blocks.size()]);
      return;
    case 3:
    case 4:
    case 5:
      return change_header(blocks[chosen].header, random);
    case 6:
    case 7:
    case 8:
      return change_bytes(blocks[chosen], mutate_bytes);
    default:
      if (!change_meaning(blocks[chosen], random)) change_bytes(blocks[chosen], mutate_bytes);
      return;
  }
}

}  // namespace stepscope::fuzz
