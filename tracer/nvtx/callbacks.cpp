#include "tracer/nvtx/callbacks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include <unistd.h>

#include "tracer/core/threads/uninterrupted.h"
#include "tracer/inject/exit_hooks.h"
#include "tracer/inject/process.h"
#include "tracer/nvtx/payload/schema_import.h"
#include "tracer/nvtx/wide_text.h"

namespace stepscope::tracer {
namespace {

uint16_t domain_number(nvtxDomainHandle_t handle) {
  auto const number = reinterpret_cast<uintptr_t>(handle);
  return number < kMaxDomains ? static_cast<uint16_t>(number) : uint16_t{kMaxDomains - 1};
}
nvtxDomainHandle_t domain_handle(uint16_t number) {
  return reinterpret_cast<nvtxDomainHandle_t>(uintptr_t{number});
}

uint32_t string_handle(nvtxEventAttributes_t const& attributes) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(attributes.message.registered));
}

std::string_view bounded(char const* text) {
  return text == nullptr ? std::string_view()
                         : std::string_view(text, ::strnlen(text, kMaxTextBytes));
}

/// Where NVTX does not tell the size of a payload: as its schema does, else 0.
size_t static_bytes(uint16_t domain, uint64_t schema_id) {
  return uninterrupted([&]() -> size_t {
    auto const schema = process_registry().schema(domain, schema_id);
    return schema ? schema->static_bytes : 0;
  });
}

/// An event while it is handed to the recorder. It has nothing to clean up: see
/// core/uninterrupted.h.
class Event {
 public:
  EventArgs args;

  explicit Event(uint16_t domain) {
    args.domain = domain;
  }  // NOLINT(cppcoreguidelines-pro-type-member-init)
  void set_text(char const* text) { args.text = bounded(text); }
  void set_payloads(nvtxPayloadData_t const* data, size_t count) {
    if (data == nullptr) return;
    size_t used = 0;
    for (size_t i = 0; i < count && used < kMaxPayloads; ++i)
      add_payload(data[i], payloads_[used++]);
    args.payloads = {payloads_.data(), used};
  }
  /// Older programs hand over shorter structs; the message is the last member.
  static bool is_whole(nvtxEventAttributes_t const& attributes) {
    return attributes.size >= offsetof(nvtxEventAttributes_t, message) + sizeof attributes.message;
  }
  static bool has_wide_text(nvtxEventAttributes_t const& attributes) {
    return is_whole(attributes) && attributes.messageType == NVTX_MESSAGE_TYPE_UNICODE;
  }
  /// All but a wide text, which needs memory.
  void set_attributes(nvtxEventAttributes_t const& attributes) {
    if (!is_whole(attributes)) return;
    args.category = attributes.category;
    if (attributes.colorType == NVTX_COLOR_ARGB) args.color = attributes.color;

    if (attributes.payloadType == NVTX_PAYLOAD_TYPE_EXT) {
      set_payloads(reinterpret_cast<nvtxPayloadData_t const*>(attributes.payload.ullValue),
                   static_cast<uint32_t>(attributes.reserved0));
    } else if (attributes.payloadType > 0 && attributes.payloadType <= NVTX_PAYLOAD_TYPE_FLOAT) {
      args.value_type = static_cast<ValueType>(attributes.payloadType);
      args.value = attributes.payload.ullValue;
    }

    switch (attributes.messageType) {
      case NVTX_MESSAGE_TYPE_ASCII:
        set_text(attributes.message.ascii);
        break;
      case NVTX_MESSAGE_TYPE_REGISTERED:
        args.handle = string_handle(attributes);
        break;
      default:
        break;
    }
  }

 private:
  void add_payload(nvtxPayloadData_t const& data, PayloadView& view) const {
    size_t bytes = data.size;
    if (bytes == SIZE_MAX) bytes = static_bytes(args.domain, data.schemaId);  // "find out"
    if (data.payload == nullptr) bytes = 0;
    view = {data.schemaId, static_cast<std::byte const*>(data.payload),
            static_cast<uint32_t>(std::min(bytes, kMaxPayloadBytes)),
            static_cast<uint32_t>(std::min<size_t>(bytes, UINT32_MAX))};
  }

  std::array<PayloadView, kMaxPayloads>
      payloads_;  // not initialized: that would cost more than the rest of the call
};

int push(Event const& event) {
  ThreadRecorder* const thread = recorder();
  return thread != nullptr ? thread->push(event.args) : kNoNesting;
}
int pop(uint16_t domain) {
  ThreadRecorder* const thread = recorder();
  return thread != nullptr ? thread->pop(domain) : kNoNesting;
}
int pop(uint16_t domain, std::span<PayloadView const> payloads) {
  ThreadRecorder* const thread = recorder();
  return thread != nullptr ? thread->pop(domain, payloads) : kNoNesting;
}
void mark(Event const& event) {
  if (ThreadRecorder* const thread = recorder(); thread != nullptr) thread->mark(event.args);
}
nvtxRangeId_t start(Event const& event) {
  ThreadRecorder* const thread = recorder();
  return thread != nullptr ? thread->start(event.args) : 0;
}
void end(uint16_t domain, nvtxRangeId_t id, std::span<PayloadView const> payloads = {}) {
  if (ThreadRecorder* const thread = recorder(); thread != nullptr)
    thread->end(domain, id, payloads);
}

/// For what takes a lock or the heap. Nothing may be thrown into a C program: what can throw
/// (memory runs out) is caught, and the call did nothing. Recorders throw nothing, and recorder()
/// neither.
template <class Call>
auto guarded(Call const& call) -> decltype(call()) {
  release_signals();
  return uninterrupted([&]() -> decltype(call()) {
    try {
      return call();
    } catch (...) {
      return decltype(call())();
    }
  });
}

template <auto Action>
auto with_text(char const* text) {
  release_signals();
  Event event(kDefaultDomain);
  event.set_text(text);
  return Action(event);
}
template <auto Action>
auto with_wide_text(Event& event, wchar_t const* text) {
  return guarded([&] {
    std::string const utf8 = utf8_from_wide(text, kMaxTextBytes);
    event.args.text = utf8;
    return Action(event);
  });
}
template <auto Action>
auto with_text(wchar_t const* text) {
  Event event(kDefaultDomain);
  return with_wide_text<Action>(event, text);
}
template <auto Action>
auto with_attributes(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  release_signals();
  Event event(domain_number(domain));
  if (attributes == nullptr) return Action(event);
  event.set_attributes(*attributes);
  if (Event::has_wide_text(*attributes))
    return with_wide_text<Action>(event, attributes->message.unicode);
  return Action(event);
}
/// A range that has a name and nothing else is handed over without the detour of an Event.
int push_with_attributes(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  bool const is_plain = attributes != nullptr && attributes->size >= sizeof *attributes &&
                        attributes->category == 0 && attributes->payloadType == 0 &&
                        (attributes->colorType == 0 || attributes->color == 0);
  if (!is_plain) return with_attributes<push>(domain, attributes);

  ThreadRecorder* const thread = recorder();
  if (thread == nullptr) return kNoNesting;

  if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII)
    return thread->push_text(domain_number(domain), attributes->message.ascii);
  if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
    return thread->push_handle(domain_number(domain), string_handle(*attributes));
  return with_attributes<push>(domain, attributes);
}
template <auto Action>
auto with_payload(nvtxDomainHandle_t domain, nvtxPayloadData_t const* data, size_t count) {
  release_signals();
  Event event(domain_number(domain));
  event.set_payloads(data, count);
  return Action(event);
}

// CORE: the default domain.
void on_mark_ex(nvtxEventAttributes_t const* attributes) {
  with_attributes<mark>(nullptr, attributes);
}
void on_mark_a(char const* text) { with_text<mark>(text); }
void on_mark_w(wchar_t const* text) { with_text<mark>(text); }
nvtxRangeId_t on_range_start_ex(nvtxEventAttributes_t const* attributes) {
  return with_attributes<start>(nullptr, attributes);
}
nvtxRangeId_t on_range_start_a(char const* text) { return with_text<start>(text); }
nvtxRangeId_t on_range_start_w(wchar_t const* text) { return with_text<start>(text); }
void on_range_end(nvtxRangeId_t id) {
  release_signals();
  end(kDefaultDomain, id);
}
int on_range_push_ex(nvtxEventAttributes_t const* attributes) {
  return push_with_attributes(nullptr, attributes);
}
int on_range_push_a(char const* text) {
  ThreadRecorder* const thread = recorder();
  return thread != nullptr ? thread->push_text(kDefaultDomain, text) : kNoNesting;
}
int on_range_push_w(wchar_t const* text) { return with_text<push>(text); }
int on_range_pop() { return pop(kDefaultDomain); }
void on_name_thread_a(uint32_t thread, char const* name) {
  guarded([&] { process_registry().name_thread(thread, bounded(name)); });
}
void on_name_thread_w(uint32_t thread, wchar_t const* name) {
  guarded([&] { process_registry().name_thread(thread, utf8_from_wide(name, kMaxTextBytes)); });
}

void on_name_category_a(uint32_t category, char const* name) {
  guarded([&] { process_registry().name_category(kDefaultDomain, category, bounded(name)); });
}
void on_name_category_w(uint32_t category, wchar_t const* name) {
  guarded([&] {
    process_registry().name_category(kDefaultDomain, category, utf8_from_wide(name, kMaxTextBytes));
  });
}

// CUDA and CUDART: names of what CUDA has. A name of a stream is for the source that knows streams,
// if the capture has one now.
void name_stream(void* stream, std::string_view name) {
  if (Session* const session = current_session(); session != nullptr)
    session->stream_named(stream, name);
}
void on_name_device_a(int device, char const* name) {
  guarded([&] { process_registry().name_device(device, bounded(name)); });
}
void on_name_device_w(int device, wchar_t const* name) {
  guarded([&] { process_registry().name_device(device, utf8_from_wide(name, kMaxTextBytes)); });
}
void on_name_stream_a(void* stream, char const* name) {
  guarded([&] { name_stream(stream, bounded(name)); });
}
void on_name_stream_w(void* stream, wchar_t const* name) {
  guarded([&] { name_stream(stream, utf8_from_wide(name, kMaxTextBytes)); });
}

// CORE2: domains.
void on_domain_mark_ex(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  with_attributes<mark>(domain, attributes);
}
nvtxRangeId_t on_domain_range_start_ex(nvtxDomainHandle_t domain,
                                       nvtxEventAttributes_t const* attributes) {
  return with_attributes<start>(domain, attributes);
}
void on_domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  release_signals();
  end(domain_number(domain), id);
}
int on_domain_range_push_ex(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  return push_with_attributes(domain, attributes);
}
int on_domain_range_pop(nvtxDomainHandle_t domain) { return pop(domain_number(domain)); }
void on_domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category, char const* name) {
  guarded(
      [&] { process_registry().name_category(domain_number(domain), category, bounded(name)); });
}
void on_domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category, wchar_t const* name) {
  guarded([&] {
    process_registry().name_category(domain_number(domain), category,
                                     utf8_from_wide(name, kMaxTextBytes));
  });
}
nvtxStringHandle_t text_handle(std::string_view text) {
  return reinterpret_cast<nvtxStringHandle_t>(uintptr_t{process_registry().text(text)});
}
nvtxStringHandle_t on_register_string_a(nvtxDomainHandle_t, char const* text) {
  return guarded([&] { return text_handle(bounded(text)); });
}
nvtxStringHandle_t on_register_string_w(nvtxDomainHandle_t, wchar_t const* text) {
  return guarded([&] { return text_handle(utf8_from_wide(text, kMaxTextBytes)); });
}
nvtxDomainHandle_t on_domain_create_a(char const* name) {
  return guarded([&] { return domain_handle(process_registry().domain(bounded(name))); });
}
nvtxDomainHandle_t on_domain_create_w(wchar_t const* name) {
  return guarded([&] {
    return domain_handle(process_registry().domain(utf8_from_wide(name, kMaxTextBytes)));
  });
}

// The payload extension.
uint64_t on_schema_register(nvtxDomainHandle_t domain, nvtxPayloadSchemaAttr_t const* attributes) {
  if (attributes == nullptr) return 0;
  return guarded([&]() -> uint64_t {
    uint16_t const number = domain_number(domain);
    Registry& registry = process_registry();
    Schema schema =
        import_schema(*attributes, [&](uint64_t id) { return registry.schema(number, id); });
    bool const has_id = (attributes->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) != 0;
    return registry.add_schema(number, has_id ? attributes->schemaId : 0, std::move(schema));
  });
}
/// Enumerations are registered like schemas, so that other schemas may name them: their size
/// counts, their texts are not kept.
uint64_t on_enum_register(nvtxDomainHandle_t domain, nvtxPayloadEnumAttr_t const* attributes) {
  if (attributes == nullptr) return 0;
  return guarded([&]() -> uint64_t {
    Schema schema;
    if ((attributes->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) != 0)
      schema.static_bytes = attributes->sizeOfEnum;
    bool const has_id = (attributes->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID) != 0;
    return process_registry().add_schema(domain_number(domain), has_id ? attributes->schemaId : 0,
                                         std::move(schema));
  });
}
void on_mark_payload(nvtxDomainHandle_t domain, nvtxPayloadData_t const* data, size_t count) {
  with_payload<mark>(domain, data, count);
}
int on_push_payload(nvtxDomainHandle_t domain, nvtxPayloadData_t const* data, size_t count) {
  return with_payload<push>(domain, data, count);
}
int on_pop_payload(nvtxDomainHandle_t domain, nvtxPayloadData_t const* data, size_t count) {
  release_signals();
  Event event(domain_number(domain));
  event.set_payloads(data, count);
  return pop(event.args.domain, event.args.payloads);
}
nvtxRangeId_t on_start_payload(nvtxDomainHandle_t domain, nvtxPayloadData_t const* data,
                               size_t count) {
  return with_payload<start>(domain, data, count);
}
void on_end_payload(nvtxDomainHandle_t domain, nvtxRangeId_t id, nvtxPayloadData_t const* data,
                    size_t count) {
  release_signals();
  Event event(domain_number(domain));
  event.set_payloads(data, count);
  end(event.args.domain, id, event.args.payloads);
}
uint8_t on_domain_is_enabled(nvtxDomainHandle_t) {
  release_signals();
  return static_cast<uint8_t>(recorder() != nullptr);
}
uint64_t on_scope_register(nvtxDomainHandle_t, nvtxScopeAttr_t const* attributes) {
  release_signals();
  return attributes != nullptr && attributes->scopeId != 0 ? attributes->scopeId : NVTX_SCOPE_ROOT;
}

/// Every function that we do nothing for. It takes any arguments and returns the null that NVTX
/// returns without a tool. Any call may be the one that initialized NVTX, and signals are held back
/// until it calls us.
uintptr_t on_any_other() {
  release_signals();
  return 0;
}

template <class Function>
NvtxFunctionPointer generic(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

struct TableEntry {
  unsigned id;
  NvtxFunctionPointer function;
};

/// What `entries` have of a function, else on_any_other().
void* callback_of(std::span<TableEntry const> entries, size_t id) {
  auto const found = std::find_if(entries.begin(), entries.end(),
                                  [id](TableEntry const& entry) { return entry.id == id; });
  return reinterpret_cast<void*>(found != entries.end() ? found->function : generic(on_any_other));
}

/// False when NVTX has no such table.
bool fill_table(NvtxExportTableCallbacks const& tables, NvtxCallbackModule module,
                std::span<TableEntry const> entries) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (tables.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return false;
  for (unsigned id = 0; id < size; ++id) {
    if (table[id] != nullptr)
      process_callbacks().install(reinterpret_cast<void**>(table[id]), callback_of(entries, id));
  }
  return true;
}

}  // namespace

namespace {

/// The begin of what NVTX keeps of itself (nvtxDetail/nvtxImpl.h).
struct NvtxGlobals {
  uint32_t state;
  NvtxExportTableCallbacks callbacks;
};

/// Children that are forked meanwhile need to know where this copy of NVTX is.
void tell_of_nvtx(NvtxExportTableCallbacks const& tables) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (stepscope_found_nvtx == nullptr ||
      tables.GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return;
  if (table == nullptr || size <= NVTX_CBID_CORE2_Initialize ||
      table[NVTX_CBID_CORE2_Initialize] == nullptr)
    return;

  uintptr_t const begin = reinterpret_cast<uintptr_t>(&tables) - offsetof(NvtxGlobals, callbacks);
  stepscope_found_nvtx(reinterpret_cast<uint32_t*>(begin), table[NVTX_CBID_CORE2_Initialize]);
}

}  // namespace

bool install_nvtx_callbacks(NvtxGetExportTableFunc_t get_export_table) {
  auto const* const tables =
      static_cast<NvtxExportTableCallbacks const*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (tables == nullptr || tables->struct_size < sizeof *tables ||
      tables->GetModuleFunctionTable == nullptr)
    return false;
  tell_of_nvtx(*tables);

  std::array const core = {TableEntry{NVTX_CBID_CORE_MarkEx, generic(on_mark_ex)},
                           TableEntry{NVTX_CBID_CORE_MarkA, generic(on_mark_a)},
                           TableEntry{NVTX_CBID_CORE_MarkW, generic(on_mark_w)},
                           TableEntry{NVTX_CBID_CORE_RangeStartEx, generic(on_range_start_ex)},
                           TableEntry{NVTX_CBID_CORE_RangeStartA, generic(on_range_start_a)},
                           TableEntry{NVTX_CBID_CORE_RangeStartW, generic(on_range_start_w)},
                           TableEntry{NVTX_CBID_CORE_RangeEnd, generic(on_range_end)},
                           TableEntry{NVTX_CBID_CORE_RangePushEx, generic(on_range_push_ex)},
                           TableEntry{NVTX_CBID_CORE_RangePushA, generic(on_range_push_a)},
                           TableEntry{NVTX_CBID_CORE_RangePushW, generic(on_range_push_w)},
                           TableEntry{NVTX_CBID_CORE_RangePop, generic(on_range_pop)},
                           TableEntry{NVTX_CBID_CORE_NameCategoryA, generic(on_name_category_a)},
                           TableEntry{NVTX_CBID_CORE_NameCategoryW, generic(on_name_category_w)},
                           TableEntry{NVTX_CBID_CORE_NameOsThreadA, generic(on_name_thread_a)},
                           TableEntry{NVTX_CBID_CORE_NameOsThreadW, generic(on_name_thread_w)}};

  std::array const core2 = {
      TableEntry{NVTX_CBID_CORE2_DomainMarkEx, generic(on_domain_mark_ex)},
      TableEntry{NVTX_CBID_CORE2_DomainRangeStartEx, generic(on_domain_range_start_ex)},
      TableEntry{NVTX_CBID_CORE2_DomainRangeEnd, generic(on_domain_range_end)},
      TableEntry{NVTX_CBID_CORE2_DomainRangePushEx, generic(on_domain_range_push_ex)},
      TableEntry{NVTX_CBID_CORE2_DomainRangePop, generic(on_domain_range_pop)},
      TableEntry{NVTX_CBID_CORE2_DomainNameCategoryA, generic(on_domain_name_category_a)},
      TableEntry{NVTX_CBID_CORE2_DomainNameCategoryW, generic(on_domain_name_category_w)},
      TableEntry{NVTX_CBID_CORE2_DomainRegisterStringA, generic(on_register_string_a)},
      TableEntry{NVTX_CBID_CORE2_DomainRegisterStringW, generic(on_register_string_w)},
      TableEntry{NVTX_CBID_CORE2_DomainCreateA, generic(on_domain_create_a)},
      TableEntry{NVTX_CBID_CORE2_DomainCreateW, generic(on_domain_create_w)}};

  std::array const cuda = {TableEntry{NVTX_CBID_CUDA_NameCuDeviceA, generic(on_name_device_a)},
                           TableEntry{NVTX_CBID_CUDA_NameCuDeviceW, generic(on_name_device_w)},
                           TableEntry{NVTX_CBID_CUDA_NameCuStreamA, generic(on_name_stream_a)},
                           TableEntry{NVTX_CBID_CUDA_NameCuStreamW, generic(on_name_stream_w)}};
  std::array const cuda_runtime = {
      TableEntry{NVTX_CBID_CUDART_NameCudaDeviceA, generic(on_name_device_a)},
      TableEntry{NVTX_CBID_CUDART_NameCudaDeviceW, generic(on_name_device_w)},
      TableEntry{NVTX_CBID_CUDART_NameCudaStreamA, generic(on_name_stream_a)},
      TableEntry{NVTX_CBID_CUDART_NameCudaStreamW, generic(on_name_stream_w)}};

  // An NVTX without them records as well as any.
  fill_table(*tables, NVTX_CB_MODULE_CUDA, cuda);
  fill_table(*tables, NVTX_CB_MODULE_CUDART, cuda_runtime);
  fill_table(*tables, NVTX_CB_MODULE_OPENCL, {});
  fill_table(*tables, NVTX_CB_MODULE_SYNC, {});
  return fill_table(*tables, NVTX_CB_MODULE_CORE, core) &&
         fill_table(*tables, NVTX_CB_MODULE_CORE2, core2);
}

bool install_payload_callbacks(nvtxExtModuleInfo_t const& module) {
  if (module.moduleId != NVTX_EXT_PAYLOAD_MODULEID || module.segmentsCount == 0 ||
      module.segments == nullptr)
    return false;

  std::array const entries = {
      TableEntry{NVTX3EXT_CBID_nvtxPayloadSchemaRegister, generic(on_schema_register)},
      TableEntry{NVTX3EXT_CBID_nvtxPayloadEnumRegister, generic(on_enum_register)},
      TableEntry{NVTX3EXT_CBID_nvtxMarkPayload, generic(on_mark_payload)},
      TableEntry{NVTX3EXT_CBID_nvtxRangePushPayload, generic(on_push_payload)},
      TableEntry{NVTX3EXT_CBID_nvtxRangePopPayload, generic(on_pop_payload)},
      TableEntry{NVTX3EXT_CBID_nvtxRangeStartPayload, generic(on_start_payload)},
      TableEntry{NVTX3EXT_CBID_nvtxRangeEndPayload, generic(on_end_payload)},
      TableEntry{NVTX3EXT_CBID_nvtxDomainIsEnabled, generic(on_domain_is_enabled)},
      TableEntry{NVTX3EXT_CBID_nvtxScopeRegister, generic(on_scope_register)}};

  nvtxExtModuleSegment_t const& segment = module.segments[0];
  for (size_t id = 0; id < segment.slotCount; ++id)
    process_callbacks().install(reinterpret_cast<void**>(&segment.functionSlots[id]),
                                callback_of(entries, id));

  return true;
}

}  // namespace stepscope::tracer
