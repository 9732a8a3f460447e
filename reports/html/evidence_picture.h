// A small picture of a place to look at: what the device and the host thread that is to blame did
// there, and a little before and after. Where the device waits for another one, the picture has a
// lane for each device with its arrival. Drawn by styles alone, so that it prints and needs no
// script.
#pragma once

#include <string>
#include <vector>

#include "reports/html/page.h"

namespace stepscope::reports {

/// Findings that have pictures, and how many of its places each shows: more make the page large and
/// say nothing new.
inline constexpr size_t kPicturedFindings = 8, kPicturesOfFinding = 3;

/// Makes room in `pictures`[finding][place].
void begin_evidence(Page const& page, std::vector<EvidencePictures>& pictures);
/// Draws what one process has of the findings' places; needs all events of the process. Where a
/// device waits for another, each process adds the lanes of its devices. Processes come in their
/// order. O(events of the process) at most.
void draw_evidence(Page const& page, size_t process, model::RankTrace const& rank,
                   std::vector<EvidencePictures>& pictures);
/// After the last process.
void finish_evidence(Page const& page, std::vector<EvidencePictures>& pictures);

}  // namespace stepscope::reports
