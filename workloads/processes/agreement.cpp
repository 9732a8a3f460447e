// Settings, notes between steps, and the end; see agreement.h.
#include "workloads/processes/agreement.h"

#include <cstring>

#include "trace/base/check.h"

namespace stepscope::workloads {
namespace {

std::string difference_between(uint32_t one, uint32_t other, int64_t step, uint64_t checksum,
                               uint64_t other_checksum) {
  return fmt::format(
      "the weights of ranks {} and {} differ after step {} (checksums {:016x} and {:016x}): a "
      "collective or an update went wrong",
      one, other, step, checksum, other_checksum);
}

/// An End as its bytes, and behind them the failure.
struct PackedEnd {
  int64_t interrupted, failed, failed_step, checked_step;
  uint64_t checksum;
};
std::string pack(Agreement::End const& end) {
  PackedEnd const packed = {end.interrupted ? 1 : 0, end.failure ? 1 : 0, end.failed_step,
                            end.checked_step, end.checksum};
  std::string bytes(sizeof packed, '\0');
  std::memcpy(bytes.data(), &packed, sizeof packed);
  return bytes + end.failure.value_or("");
}
Agreement::End unpack(std::string const& bytes) {
  PackedEnd packed = {};
  STEPSCOPE_CHECK(bytes.size() >= sizeof packed);
  std::memcpy(&packed, bytes.data(), sizeof packed);
  Agreement::End end = {packed.interrupted != 0, std::nullopt, packed.failed_step,
                        packed.checked_step, packed.checksum};
  if (packed.failed != 0) end.failure = bytes.substr(sizeof packed);
  return end;
}

}  // namespace

base::Expected<void> agree_on_settings(mpi::Processes& processes,
                                       std::vector<Setting> const& mine) {
  std::vector<std::vector<std::string>> by_setting;
  by_setting.reserve(mine.size());
  for (Setting const& setting : mine) by_setting.push_back(processes.all_gather(setting.value));
  if (auto const gone = processes.failure()) return base::fail("{}", *gone);

  for (size_t i = 0; i < mine.size(); ++i) {
    for (uint32_t rank = 1; rank < processes.size(); ++rank) {
      std::string const &here = by_setting[i][rank], &first = by_setting[i][0];
      if (here == first) continue;
      return base::fail("rank {} has {} {}, rank 0 {}: start all processes with the same options",
                        rank, mine[i].name, here, first);
    }
  }
  return {};
}

bool Agreement::read_notes() {
  bool ends = sent_->wants_end != 0;

  for (uint32_t peer = 0; peer < processes_.size(); ++peer) {
    if (peer == processes_.rank()) continue;
    Note theirs;
    if (!processes_.receive(peer, mpi::Processes::kNoteTag, &theirs, sizeof theirs)) return true;
    ends = ends || theirs.wants_end != 0;

    if (theirs.checked_step < 0 || theirs.checked_step != sent_->checked_step ||
        theirs.checksum == sent_->checksum)
      continue;

    difference_ = difference_between(processes_.rank(), peer, theirs.checked_step, sent_->checksum,
                                     theirs.checksum);
    difference_step_ = theirs.checked_step;
  }

  sent_.reset();
  // All read the same notes but for their own, so that all find a difference, if there is one.
  return ends || difference_;
}

bool Agreement::ends(Note const& mine) {
  if (sent_ && read_notes()) return true;
  for (uint32_t peer = 0; peer < processes_.size(); ++peer) {
    if (peer != processes_.rank())
      processes_.send(peer, mpi::Processes::kNoteTag, &mine, sizeof mine);
  }
  sent_ = mine;
  return false;
}

Agreement::End Agreement::conclude(End const& mine) {
  if (sent_) read_notes();

  End own = mine;
  if (difference_ && (!mine.failure || difference_step_ < mine.failed_step)) {
    own.failure = difference_;
    own.failed_step = difference_step_;
  }

  std::vector<std::string> const all = processes_.all_gather(pack(own));
  if (processes_.failure()) return own;
  End const first = unpack(all[0]);

  End common = first;
  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    End const end = unpack(all[rank]);
    common.interrupted = common.interrupted || end.interrupted;
    if (end.failure && (!common.failure || end.failed_step < common.failed_step)) {
      common.failure = end.failure;
      common.failed_step = end.failed_step;
    }
  }

  for (uint32_t rank = 1; rank < processes_.size(); ++rank) {
    End const end = unpack(all[rank]);
    bool const differs = end.checked_step == first.checked_step && end.checksum != first.checksum;
    if (!differs || (common.failure && common.failed_step <= end.checked_step)) continue;
    common.failure = difference_between(0, rank, end.checked_step, first.checksum, end.checksum);
    common.failed_step = end.checked_step;
  }

  return common;
}

}  // namespace stepscope::workloads
