#include "trace/import/formats/nsys/nvtx_table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/import/formats/nsys/range_names.h"

namespace stepscope::import::nsys {
namespace {

using model::EventKind;
using model::NumberType;

/// Values of ENUM_NSYS_EVENT_TYPE. The second group comes from files of text that programs wrote.
enum class NvtxType : int64_t {
  kCategory = 33,
  kMark = 34,
  kPush = 35,
  kPop = 36,
  kStart = 37,
  kEnd = 38,
  kThread = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kTextMark = 65,
  kTextPushPop = 70,
  kTextStartEnd = 71,
  kDomainCreate = 75,
  kDomainDestroy = 76,
  kNameDevice = 97,
  kNameContext = 98,
  kNameStream = 99
};

/// tracer/api/annotate.h: the domain of our own annotations, and what its categories mean.
constexpr std::string_view kAnnotationDomain = "stepscope";
enum class Annotation : int64_t { kNone = 0, kStep = 1, kPhase = 2, kInputWait = 3, kMemory = 4 };

/// PyTorch's profiler and loader, where its ranges are NVTX's.
constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr std::string_view kLoaderPrefix = "enumerate(DataLoader)#";

struct Domain {
  std::string prefix;  ///< of names
  bool is_ours = false;
  std::unordered_map<NameIndex, model::StringId> names;  ///< with the prefix
};

class NvtxTable {
 public:
  explicit NvtxTable(Processes& processes) : processes_(processes) {}

  NvtxRows read() && {
    payloads_.read(processes_.database);
    read_definitions();
    read_rows();
    end_open_ranges();
    return std::move(rows_);
  }

 private:
  enum Column : int {
    kStart,
    kEnd,
    kType,
    kThread,
    kDomain,
    kTextId,
    kText,
    kCategory,
    kColor,
    kUint64,
    kInt64,
    kDouble,
    kUint32,
    kInt32,
    kFloat,
    kJsonId,
    kJson,
    kBinary
  };
  struct Row {
    Processes::ThreadRows to;
    int64_t start = 0, dur = 0;
    bool is_mark = false, is_open = false;
    Domain* domain = nullptr;   ///< null = the default one
    std::string_view raw_name;  ///< without the prefix, and without what PyTorch appends
    model::StringId name;
  };

  void read_definitions();
  void read_rows();
  void add_row(TableScan& scan, Row& row);
  bool add_annotation(TableScan const& scan, Row const& row);
  void add_nccl(TableScan& scan, Row const& row, model::RangeDetail& detail);
  void add_range(Row const& row, model::RangeDetail const& detail);
  void end_open_ranges();
  Domain* domain_of(Processes::ThreadRows const& of, int64_t number);
  void name_row(TableScan& scan, Row& row);
  static std::pair<NumberType, uint64_t> payload_number(TableScan const& scan);

  Processes& processes_;
  NvtxRows rows_;
  NcclPayloads payloads_;
  std::map<std::pair<ProcessKey, int64_t>, Domain> domains_;
  std::pair<ProcessKey, int64_t> last_domain_key_;
  Domain* last_domain_ = nullptr;
  std::string scratch_, prefixed_;
  struct OpenRange {
    TrackRows* track;
    size_t row;
  };
  std::vector<OpenRange> open_;
};

/// Domains and threads may be named behind the rows that are on them.
void NvtxTable::read_definitions() {
  if (!processes_.database.has("NVTX_EVENTS", "eventType")) return;

  // kThread and kDomainCreate: SQLite passes over the others faster than we do.
  TableScan scan(processes_.database, "NVTX_EVENTS",
                 {"eventType", "globalTid", "domainId", "textId", "text"},
                 "eventType = 39 OR eventType = 75");

  while (scan.next()) {
    auto const type = static_cast<NvtxType>(scan.integer(0));
    std::string_view text = scan.text(4);
    if (text.empty()) text = processes_.names.text(processes_.names.of(scan, 3));
    std::string const name(clean_name(text, scratch_, processes_.names.cut));

    if (type == NvtxType::kThread) {
      rows_.thread_names[scan.integer(1)] = name;
    } else {
      Domain& domain = domains_[{process_of_global_id(scan.integer(1)), scan.integer(2)}];
      domain.is_ours = name == kAnnotationDomain;
      domain.prefix = name + ": ";
    }
  }
}

void NvtxTable::read_rows() {
  TableScan scan(processes_.database, "NVTX_EVENTS",
                 {"start", "end", "eventType", "globalTid", "domainId", "textId", "text",
                  "category", "color", "uint64Value", "int64Value", "doubleValue", "uint32Value",
                  "int32Value", "floatValue", "jsonTextId", "jsonText", "binaryData"});

  while (scan.next()) {
    Row row;
    switch (static_cast<NvtxType>(scan.integer(kType))) {
      case NvtxType::kPushPop:
      case NvtxType::kStartEnd:
      case NvtxType::kTextPushPop:
      case NvtxType::kTextStartEnd:
        break;

      case NvtxType::kPush:
      case NvtxType::kStart:
        row.is_open = true;
        break;

      case NvtxType::kMark:
      case NvtxType::kTextMark:
        row.is_mark = true;
        break;
      case NvtxType::kPop:
      case NvtxType::kEnd:
        ++rows_.unbegun;
        continue;

      case NvtxType::kCategory:
      case NvtxType::kThread:
      case NvtxType::kDomainCreate:
      case NvtxType::kDomainDestroy:
      case NvtxType::kNameDevice:
      case NvtxType::kNameContext:
      case NvtxType::kNameStream:
        continue;
      default:
        ++rows_.unknown;
        continue;
    }

    add_row(scan, row);
  }
}

void NvtxTable::add_row(TableScan& scan, Row& row) {
  int64_t const start = scan.integer(kStart);
  if (start == 0 && scan.is_null(kStart)) {
    ++processes_.untimed;
    return;
  }

  int64_t const end = scan.integer(kEnd);
  row.is_open = row.is_open || (!row.is_mark && end == 0 && scan.is_null(kEnd));
  row.start = processes_.trace_time(start);
  row.dur = row.is_mark || row.is_open ? 0 : minus(end, start);
  processes_.last_ns =
      std::max(processes_.last_ns, processes_.trace_time(row.is_mark || row.is_open ? start : end));

  row.to = processes_.thread(scan, kThread);
  row.to.process->is_traced = true;

  int64_t const domain = scan.integer(kDomain);
  row.domain = domain == 0 ? nullptr : domain_of(row.to, domain);
  name_row(scan, row);
  if (row.domain != nullptr && row.domain->is_ours && add_annotation(scan, row)) return;

  model::RangeDetail detail;
  if (row.raw_name.starts_with("nccl")) [[unlikely]]
    add_nccl(scan, row, detail);
  detail.category = static_cast<uint32_t>(scan.integer(kCategory));
  detail.color = static_cast<uint32_t>(scan.integer(kColor));
  std::tie(detail.payload_type, detail.payload) = payload_number(scan);

  add_range(row, detail);
}

Domain* NvtxTable::domain_of(Processes::ThreadRows const& of, int64_t number) {
  std::pair const key(of.process->identity, number);
  if (last_domain_ == nullptr || key != last_domain_key_) {
    last_domain_key_ = key;
    last_domain_ = &domains_[key];
  }
  return last_domain_;
}

void NvtxTable::name_row(TableScan& scan, Row& row) {
  std::string_view const text = scan.text(kText);
  bool const has_prefix =
      row.domain != nullptr && !row.domain->prefix.empty() && !row.domain->is_ours;

  if (!text.empty()) {
    row.raw_name = clean_name(without_call_numbers(text), scratch_, processes_.names.cut);
    if (has_prefix) prefixed_.assign(row.domain->prefix).append(row.raw_name);
    row.name =
        row.to.process->builder.intern(has_prefix ? std::string_view(prefixed_) : row.raw_name);
    return;
  }

  NameIndex const name = processes_.names.of(scan, kTextId);
  std::string_view const whole = processes_.names.text(name);
  row.raw_name = without_call_numbers(whole);

  if (!has_prefix) {
    bool const is_whole = row.raw_name.size() == whole.size();
    row.name = is_whole ? row.to.process->name(name) : row.to.process->builder.intern(row.raw_name);
    return;
  }

  auto const [known, is_new] = row.domain->names.try_emplace(name);
  if (is_new)
    known->second =
        row.to.process->builder.intern(prefixed_.assign(row.domain->prefix).append(row.raw_name));
  row.name = known->second;
}

/// In 64 bits, whatever it was given as.
std::pair<NumberType, uint64_t> NvtxTable::payload_number(TableScan const& scan) {
  for (int const column : {kUint64, kUint32})
    if (!scan.is_null(column))
      return {NumberType::kUnsigned, static_cast<uint64_t>(scan.integer(column))};

  for (int const column : {kInt64, kInt32})
    if (!scan.is_null(column))
      return {NumberType::kSigned, static_cast<uint64_t>(scan.integer(column))};

  for (int const column : {kDouble, kFloat})
    if (!scan.is_null(column))
      return {NumberType::kReal, std::bit_cast<uint64_t>(scan.real(column))};
  return {NumberType::kNone, 0};
}

/// What our own annotations mean; false: a range like others.
bool NvtxTable::add_annotation(TableScan const& scan, Row const& row) {
  if (row.is_mark) return false;

  model::EventBatch& to = row.to.track->rows;
  switch (static_cast<Annotation>(scan.integer(kCategory))) {
    case Annotation::kStep: {
      auto const [type, number] = payload_number(scan);
      auto const index =
          type == NumberType::kNone || type == NumberType::kReal ? 0 : static_cast<int64_t>(number);
      to.add(EventKind::kStep, row.start, row.dur, row.name, 0,
             model::StepDetail{std::max<int64_t>(0, index)});
      break;
    }

    case Annotation::kPhase:
      to.add(EventKind::kPhase, row.start, row.dur, row.name);
      break;
    case Annotation::kInputWait:
      to.add(EventKind::kInputWait, row.start, row.dur, row.name);
      break;
    case Annotation::kMemory:
      to.add_range(
          row.start, row.dur,
          row.to.process->builder.intern(prefixed_.assign("memory: ").append(row.raw_name)));
      break;
    case Annotation::kNone:
    default:
      return false;
  }

  if (row.is_open) open_.push_back({row.to.track, to.size() - 1});
  return true;
}

void NvtxTable::add_nccl(TableScan& scan, Row const& row, model::RangeDetail& detail) {
  NcclPayload payload;
  if (!scan.is_null(kBinary)) payload = payloads_.decode(scan.blob(kBinary));
  if (payload.communicator == 0 && !scan.is_null(kJson))
    payload = NcclPayloads::decode(scan.text(kJson));
  if (payload.communicator == 0 && !scan.is_null(kJsonId))
    payload = NcclPayloads::decode(processes_.names.text(processes_.names.of(scan, kJsonId)));

  detail.bytes = payload.bytes;
  detail.communicator = payload.communicator;

  if (row.is_mark || row.is_open) return;
  int64_t const start = std::clamp(row.start, -model::kMaxTime, model::kMaxTime);
  rows_.nccl.add(*row.to.process, *row.to.track, row.raw_name, start,
                 start + std::clamp<int64_t>(row.dur, 0, model::kMaxTime), payload);
}

void NvtxTable::add_range(Row const& row, model::RangeDetail const& detail) {
  model::EventBatch& to = row.to.track->rows;
  bool const says_more = detail.category != 0 || detail.color != 0 ||
                         detail.payload_type != NumberType::kNone || detail.bytes != 0 ||
                         detail.communicator != 0;

  if (row.is_open) open_.push_back({row.to.track, to.size()});
  if (row.is_mark) {
    if (says_more)
      to.add(EventKind::kAnnotatedMark, row.start, 0, row.name, 0, detail);
    else
      to.add(EventKind::kMark, row.start, 0, row.name);
    return;
  }

  if (row.raw_name.starts_with(kStepPrefix)) {
    std::string_view const number = row.raw_name.substr(kStepPrefix.size());
    int64_t step = 0;
    auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), step);
    if (error == std::errc() && end != number.data() && step >= 0)
      return to.add(EventKind::kStep, row.start, row.dur, row.name, 0, model::StepDetail{step});
  }

  if (row.raw_name.starts_with(kLoaderPrefix) &&
      row.raw_name.find("__next__") != std::string_view::npos)
    return to.add(EventKind::kInputWait, row.start, row.dur, row.name);
  if (says_more) return to.add(EventKind::kAnnotatedRange, row.start, row.dur, row.name, 0, detail);
  to.add_range(row.start, row.dur, row.name);
}

void NvtxTable::end_open_ranges() {
  rows_.unended = open_.size();
  for (OpenRange const& range : open_) {
    model::EventBatch& rows = range.track->rows;
    rows.dur[range.row] = std::max<int64_t>(0, minus(processes_.last_ns, rows.start[range.row]));
  }
}

}  // namespace

NvtxRows read_nvtx_table(Processes& processes) { return NvtxTable(processes).read(); }

}  // namespace stepscope::import::nsys
