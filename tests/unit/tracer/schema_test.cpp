#include "tracer/nvtx/payload/schema.h"

#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trace/model/collective_ops.h"
#include "tracer/api/device_events.h"
#include "tracer/nvtx/payload/schema_import.h"

namespace stepscope::tracer {
namespace {

std::shared_ptr<Schema const> find_none(uint64_t) { return nullptr; }

nvtxPayloadSchemaEntry_t entry(char const* name, uint64_t type, uint64_t offset, uint64_t flags = 0,
                               uint64_t detail = 0) {
  return {flags, type, name, nullptr, detail, offset, nullptr, nullptr};
}

/// "kAllReduce", as the compiler spells it; empty for a number that has no enumerator.
template <auto value>
std::string_view enumerator_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  size_t const name = text.find("CollectiveOp::k");
  if (name == std::string_view::npos) return {};
  text.remove_prefix(text.find('k', name));
  return text.substr(0, text.find_first_of(";]"));
}

template <size_t... places>
void expect_same_operations(std::index_sequence<places...>) {
  auto const same = [](std::string_view in_model, std::string_view in_api) {
    EXPECT_EQ(in_model, in_api);
  };
  (same(enumerator_name<static_cast<model::CollectiveOp>(places + 1)>(),
        enumerator_name<static_cast<api::CollectiveOp>(places + 1)>()),
   ...);
}

TEST(DeviceEvents, ProgramsAndTracesNumberTheOperationsAlike) {
  EXPECT_EQ(enumerator_name<api::CollectiveOp::kBarrier>(), "kBarrier");
  expect_same_operations(
      std::make_index_sequence<model::kCollectiveOpCount>());  // and none behind the last
}

template <size_t N>
Schema import(std::array<nvtxPayloadSchemaEntry_t, N> const& entries, uint64_t static_bytes = 0,
              FindSchema const& find = find_none) {
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  attributes.name = "layout";
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries.data();
  attributes.numEntries = N;

  if (static_bytes != 0) {
    attributes.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attributes.payloadStaticSize = static_bytes;
  }

  return import_schema(attributes, find);
}

struct Mixed {
  uint8_t small;
  int16_t negative;
  float single;
  double twice;
  int64_t large;
};

TEST(Schema, finds_fields_by_name_whatever_their_order_and_width) {
  std::array const entries = {
      entry("large", NVTX_PAYLOAD_ENTRY_TYPE_INT64, offsetof(Mixed, large)),
      entry("twice", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, offsetof(Mixed, twice)),
      entry("single", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, offsetof(Mixed, single)),
      entry("negative", NVTX_PAYLOAD_ENTRY_TYPE_SHORT, offsetof(Mixed, negative))};

  Schema const schema = import(entries);
  Mixed const value = {7, -2, 1.5F, 2.25, std::numeric_limits<int64_t>::min()};
  FieldReader fields(schema, std::as_bytes(std::span(&value, 1)));

  EXPECT_EQ(fields.get<int64_t>("negative"), -2);
  EXPECT_EQ(fields.get<double>("single"), 1.5);
  EXPECT_EQ(fields.get<double>("twice"), 2.25);
  EXPECT_EQ(fields.get<int64_t>("large"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(fields.get<uint32_t>("absent", 9), 9U);
}

TEST(Schema, places_entries_without_offset_by_natural_alignment) {
  std::array const entries = {entry("small", NVTX_PAYLOAD_ENTRY_TYPE_UINT8, 0),
                              entry("negative", NVTX_PAYLOAD_ENTRY_TYPE_INT16, 0),
                              entry("single", NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, 0),
                              entry("twice", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, 0),
                              entry("large", NVTX_PAYLOAD_ENTRY_TYPE_INT64, 0)};

  Schema const schema = import(entries);
  ASSERT_EQ(schema.fields.size(), 5U);
  EXPECT_EQ(schema.fields[1].offset, offsetof(Mixed, negative));
  EXPECT_EQ(schema.fields[2].offset, offsetof(Mixed, single));
  EXPECT_EQ(schema.fields[3].offset, offsetof(Mixed, twice));
  EXPECT_EQ(schema.fields[4].offset, offsetof(Mixed, large));
  EXPECT_EQ(schema.static_bytes, sizeof(Mixed));
}

TEST(Schema, passes_over_arrays_texts_and_nested_schemas_of_known_size) {
  auto const nested = std::make_shared<Schema>();
  nested->static_bytes = 24;
  auto const find = [&](uint64_t id) { return id == 5000 ? nested : nullptr; };

  std::array const entries = {entry("tag", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, 0, 12),
                              entry("numbers", NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0,
                                    NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, 3),
                              entry("inner", 5000, 0),
                              entry("after", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 0)};

  Schema const schema = import(entries, 0, find);
  ASSERT_EQ(schema.fields.size(), 1U);
  EXPECT_EQ(schema.fields[0].name, "after");
  EXPECT_EQ(schema.fields[0].offset, 48U);
}

TEST(Schema, keeps_only_fields_of_known_place_after_an_entry_of_unknown_size) {
  std::array const entries = {entry("first", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 0),
                              entry("open", NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0,
                                    NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED),
                              entry("lost", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 0),
                              entry("known", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 64)};
  Schema const schema = import(entries);
  ASSERT_EQ(schema.fields.size(), 2U);
  EXPECT_EQ(schema.fields[0].name, "first");
  EXPECT_EQ(schema.fields[1].name, "known");
}

TEST(Schema, reads_nothing_beyond_a_short_payload) {
  std::array const entries = {entry("near", NVTX_PAYLOAD_ENTRY_TYPE_UINT32, 0),
                              entry("far", NVTX_PAYLOAD_ENTRY_TYPE_UINT64, 4),
                              entry("absurd", NVTX_PAYLOAD_ENTRY_TYPE_UINT64, UINT64_MAX - 3)};

  Schema const schema = import(entries);
  std::vector<std::byte> const bytes(7, std::byte{1});
  FieldReader fields(schema, bytes);

  EXPECT_EQ(fields.get<uint32_t>("near"), 0x01010101U);
  EXPECT_EQ(fields.get<uint64_t>("far", 5), 5U);
  EXPECT_EQ(fields.get<uint64_t>("absurd", 6), 6U);
  EXPECT_EQ(FieldReader(schema, {}).get<uint32_t>("near", 8), 8U);
}

TEST(Schema, survives_random_entries) {
  std::mt19937_64 random(11);
  std::vector<std::byte> const payload(64, std::byte{0x5A});

  for (int round = 0; round < 2000; ++round) {
    std::array<nvtxPayloadSchemaEntry_t, 6> entries{};
    for (auto& e : entries) {
      e = entry(random() % 4 == 0 ? nullptr : "field", random() % 110,
                random() % 3 == 0 ? random() : random() % 80,
                random() % 2 == 0 ? 0 : random() % 4096,
                random() % 2 == 0 ? random() : random() % 16);
    }

    Schema const schema = import(entries, random() % 2 == 0 ? random() : 0);
    FieldReader fields(schema, payload);
    fields.get<double>("field");
    fields.get<uint64_t>("field");
  }
}

TEST(Schema, without_entries_has_no_fields) {
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = ~uint64_t{0};
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.numEntries = SIZE_MAX;
  EXPECT_TRUE(import_schema(attributes, find_none).fields.empty());
}

}  // namespace
}  // namespace stepscope::tracer
