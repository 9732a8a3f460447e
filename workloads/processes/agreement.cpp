// Notes between steps; see agreement.h.
#include "workloads/processes/agreement.h"

namespace stepscope::workloads {

bool Agreement::read_notes() {
  bool ends = sent_->wants_end != 0;
  for (uint32_t peer = 0; peer < processes_.size(); ++peer) {
    if (peer == processes_.rank()) continue;
    Note theirs;
    if (!processes_.receive(peer, Processes::kNoteTag, &theirs, sizeof theirs)) return true;
    ends = ends || theirs.wants_end != 0;
    if (theirs.checked_step < 0 || theirs.checked_step != sent_->checked_step || theirs.checksum == sent_->checksum) continue;
    difference_ = fmt::format(
        "the weights of ranks {} and {} differ after step {} (checksums {:016x} and {:016x}): a collective or "
        "an update went wrong",
        processes_.rank(), peer, theirs.checked_step, sent_->checksum, theirs.checksum);
  }
  sent_.reset();
  // All read the same notes but for their own, so that all find a difference, if there is one.
  return ends || difference_;
}

bool Agreement::ends(Note const& mine) {
  if (sent_ && read_notes()) return true;
  for (uint32_t peer = 0; peer < processes_.size(); ++peer) {
    if (peer != processes_.rank()) processes_.send(peer, Processes::kNoteTag, &mine, sizeof mine);
  }
  sent_ = mine;
  return false;
}

std::vector<std::string> Agreement::conclude(std::optional<std::string> const& failure) {
  if (sent_) read_notes();
  return processes_.all_gather(failure.value_or(difference_.value_or("")));
}

}  // namespace stepscope::workloads
