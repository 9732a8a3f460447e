#include "trace/export/chrome/chrome_document.h"

#include <algorithm>

#include "trace/export/chrome/chrome_process.h"

namespace stepscope::exporting {

ChromeDocument::ChromeDocument(base::PartialFile file, bool has_many)
    : file_(std::move(file)), has_many_(has_many) {
  file_.out() += "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
}

std::string& ChromeDocument::next_event() {
  file_.write_if_full();
  file_.out() += is_first_event_ ? "\n" : ",\n";
  is_first_event_ = false;
  return file_.out();
}

int64_t ChromeDocument::unique_pid(int64_t wanted) {
  while (wanted < 0 || !pids_.insert(wanted).second) wanted = next_pid_++;
  return wanted;
}

base::Expected<void> ChromeDocument::add(model::Trace const& trace, int64_t offset_ns) {
  int64_t const origin = trace.info().origin_epoch_ns;
  int64_t run_begin = 0;
  if (base_ns_ == 0 && origin > 0 && !__builtin_sub_overflow(origin, offset_ns, &run_begin))
    base_ns_ = std::max<int64_t>(0, run_begin);

  for (model::Device const& device : trace.devices()) {
    bool const is_known = std::any_of(devices_.begin(), devices_.end(),
                                      [&](auto const& known) { return known.id == device.id; });
    if (!is_known) devices_.push_back(device);
  }

  info_ = trace.info();
  dropped_ += trace.log().dropped;

  ChromeProcess(trace, offset_ns, *this).write();
  ++processes_;
  return file_.status();
}

base::Expected<base::PartialFile> ChromeDocument::close() && {
  std::string& out = file_.out();
  out += "\n]";
  auto const member = [&](std::string_view key) { ((out += ",\n\"") += key) += "\":"; };

  if (base_ns_ > 0) {
    member("baseTimeNanoseconds");
    append_number(base_ns_, out);
  }

  member("deviceProperties");
  out += '[';
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (i > 0) out += ',';
    JsonMembers of_device(out);
    of_device.number("id", int64_t{devices_[i].id});
    of_device.text("name", devices_[i].name);
    if (devices_[i].capacity_bytes > 0)
      of_device.number("totalGlobalMem", devices_[i].capacity_bytes);
    if (devices_[i].threads > 0) of_device.number("numSms", uint64_t{devices_[i].threads});
    of_device.end();
  }
  out += ']';

  if (!has_many_ || processes_ == 1) {
    member("distributedInfo");
    JsonMembers distributed(out);
    distributed.number("rank", int64_t{info_.rank});
    distributed.number("world_size", int64_t{info_.world_size});
    distributed.end();
    if (!info_.host.empty()) {
      member("host_name");
      append_json_string(info_.host, out);
    }
    member("otherData");
    JsonMembers other(out);
    other.text("recorded by", info_.tool);
    other.text("command", info_.command);
    if (dropped_ > 0) other.number("events lost while recording", dropped_);
    other.end();
  }

  out += "\n}\n";
  return std::move(file_).close();
}

}  // namespace stepscope::exporting
