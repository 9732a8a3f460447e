#include "trace/import/formats/perfetto/track_event.h"

#include <bit>

namespace stepscope::import::perfetto {

void TrackEvent::clear() {
  type = track = name_iid = category_iid = 0;
  has_track = has_value = is_real = false;
  name = category = legacy = {};
  value = delta_us = absolute_us = 0;

  annotations.clear();
  flows.clear();
  extra_counters.clear();
  extra_real_counters.clear();
  extra_values.clear();
  extra_real_values.clear();
}

void TrackEvent::read(std::string_view bytes) {
  clear();
  base::ProtobufReader reader(bytes);
  base::ProtobufField field;
  while (reader.next(field)) {
    if (take_one(field)) continue;
    take_list(field);
  }
}

bool TrackEvent::take_one(base::ProtobufField const& field) {
  using E = EventNumber;
  bool const is_bytes = field.type == base::WireType::kBytes;
  switch (field.number) {
    case E::kType:
      if (!is_bytes) type = field.value;
      break;
    case E::kTrackUuid:
      if (!is_bytes) track = field.value;
      has_track = has_track || !is_bytes;
      break;

    case E::kNameIid:
      if (!is_bytes) name_iid = field.value;
      break;
    case E::kName:
      if (is_bytes) name = field.bytes;
      break;
    case E::kCategories:
      if (is_bytes && category.empty()) category = field.bytes;
      break;
    case E::kLegacy:
      if (is_bytes) legacy = field.bytes;
      break;

    case E::kDeltaUs:
      if (!is_bytes) delta_us = field.signed_value();
      break;
    case E::kAbsoluteUs:
      if (!is_bytes) absolute_us = field.signed_value();
      break;

    case E::kCounterValue:
      if (!is_bytes) value = field.signed_value();
      has_value = has_value || !is_bytes;
      break;
    case E::kDoubleCounterValue:
      if (!is_bytes) real_value = field.real_value();
      has_value = is_real = is_real || !is_bytes;
      break;
    default:
      return false;
  }
  return true;
}

void TrackEvent::take_list(base::ProtobufField const& field) {
  using E = EventNumber;
  switch (field.number) {
    case E::kCategoryIids:
      // The first says what the event is.
      for_each_number(field, false,
                      [&](uint64_t iid) { category_iid = category_iid == 0 ? iid : category_iid; });
      break;
    case E::kAnnotations:
      if (field.type == base::WireType::kBytes) annotations.push_back(field.bytes);
      break;

    case E::kOldFlowIds:
      for_each_number(field, false, [&](uint64_t id) { flows.push_back(id); });
      break;
    case E::kFlowIds:
    case E::kLastFlowIds:
      for_each_number(field, true, [&](uint64_t id) { flows.push_back(id); });
      break;

    case E::kExtraCounters:
      for_each_number(field, false, [&](uint64_t uuid) { extra_counters.push_back(uuid); });
      break;
    case E::kExtraDoubleCounters:
      for_each_number(field, false, [&](uint64_t uuid) { extra_real_counters.push_back(uuid); });
      break;
    case E::kExtraValues:
      for_each_number(field, false, [&](uint64_t number) {
        extra_values.push_back(static_cast<int64_t>(number));
      });
      break;
    case E::kExtraDoubleValues:
      for_each_number(field, true, [&](uint64_t bits) {
        extra_real_values.push_back(std::bit_cast<double>(bits));
      });
      break;
    default:
      break;
  }
}

}  // namespace stepscope::import::perfetto
