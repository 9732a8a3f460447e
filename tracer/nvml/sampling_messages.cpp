#include "tracer/nvml/sampling_messages.h"

#include <algorithm>
#include <utility>

namespace stepscope::tracer::nvml {
namespace {

/// Rises with every change of what follows.
constexpr uint32_t kSamplingVersion = 0x5353'0001;

using base::ByteReader;
using base::ByteWriter;

void put_text(ByteWriter& writer, std::optional<std::string> const& text) {
  writer.put(static_cast<uint8_t>(text.has_value()));
  if (text) writer.put_string(*text);
}

std::optional<std::string> get_text(ByteReader& reader) {
  if (reader.get<uint8_t>() == 0) return {};
  return std::string(reader.get_string());
}

void put(ByteWriter& writer, SamplingHello const& hello) {
  writer.put(hello.period_ms);
  put_text(writer, hello.visible_devices);
  put_text(writer, hello.device_order);
}

void put(ByteWriter& writer, SamplingOrders const& orders) {
  writer.put(static_cast<uint8_t>(orders.is_recording));
  writer.put(static_cast<uint8_t>(orders.devices.has_value()));
  if (!orders.devices) return;

  writer.put(static_cast<uint32_t>(orders.devices->size()));
  for (DeviceRegistry::Device const& device : *orders.devices) {
    writer.put(device.number);
    writer.put_string(device.uuid);
  }
}

void put(ByteWriter& /*writer*/, SamplingEnd const& /*end*/) {}

void put(ByteWriter& writer, std::vector<Sample> const& samples) {
  writer.put(static_cast<uint32_t>(samples.size()));
  for (Sample const& sample : samples) {
    writer.put(sample.device);
    writer.put(static_cast<uint8_t>(sample.counter));
    writer.put(sample.value);
    writer.put(sample.at_ns);
  }
}

void put(ByteWriter& writer, SamplingFact const& fact) {
  writer.put_string(fact.name);
  writer.put_string(fact.text);
}

void put(ByteWriter& writer, SamplingOutcome const& outcome) { writer.put_string(outcome.text); }

SamplingHello get_hello(ByteReader& reader) {
  SamplingHello hello;
  hello.period_ms = reader.get<int64_t>();
  hello.visible_devices = get_text(reader);
  hello.device_order = get_text(reader);
  return hello;
}

SamplingOrders get_orders(ByteReader& reader) {
  SamplingOrders orders;
  orders.is_recording = reader.get<uint8_t>() != 0;
  if (reader.get<uint8_t>() == 0) return orders;

  // A count that lies ends with the bytes.
  orders.devices.emplace();
  for (auto count = reader.get<uint32_t>(); count > 0 && reader.ok(); --count) {
    DeviceRegistry::Device device;
    device.number = reader.get<int32_t>();
    device.uuid = std::string(reader.get_string());
    device.has_context = true;
    if (reader.ok()) orders.devices->push_back(std::move(device));
  }
  return orders;
}

std::vector<Sample> get_samples(ByteReader& reader) {
  std::vector<Sample> samples;
  for (auto count = reader.get<uint32_t>(); count > 0 && reader.ok(); --count) {
    Sample sample;
    sample.device = reader.get<int32_t>();
    auto const counter = reader.get<uint8_t>();
    sample.value = reader.get<double>();
    sample.at_ns = reader.get<int64_t>();

    if (!reader.ok() || counter >= kCounters) continue;
    sample.counter = static_cast<Counter>(counter);
    samples.push_back(sample);
  }
  return samples;
}

std::optional<SamplingMessage> get_message(ByteReader& reader) {
  switch (reader.get<uint8_t>()) {
    case 0:
      return get_hello(reader);
    case 1:
      return get_orders(reader);
    case 2:
      return SamplingEnd{};
    case 3:
      return get_samples(reader);
    case 4: {
      std::string name(reader.get_string());
      return SamplingFact{std::move(name), std::string(reader.get_string())};
    }
    case 5:
      return SamplingOutcome{std::string(reader.get_string())};
    default:
      return {};
  }
}

}  // namespace

std::vector<std::byte> encode(SamplingMessage const& message) {
  ByteWriter writer;
  writer.put(kSamplingVersion);
  writer.put(static_cast<uint8_t>(message.index()));
  std::visit([&](auto const& content) { put(writer, content); }, message);
  base::ByteSpan const bytes = writer.span();
  return {bytes.begin(), bytes.end()};
}

std::optional<SamplingMessage> decode_sampling_message(base::ByteSpan packet) {
  ByteReader reader(packet);
  if (reader.get<uint32_t>() != kSamplingVersion) return {};
  auto message = get_message(reader);
  if (!reader.ok() || reader.remaining() != 0) return {};
  return message;
}

}  // namespace stepscope::tracer::nvml
