// A small picture of a place to look at: what the device and the host thread that is to blame did
// there, and a little before and after. Drawn by styles alone, so that it prints and needs no
// script.
#pragma once

#include <string>
#include <vector>

#include "reports/html/page.h"

namespace stepscope::reports {

/// Findings that have pictures, and how many of its places each shows: more make the page large and
/// say nothing new.
inline constexpr size_t kPicturedFindings = 8, kPicturesOfFinding = 3;

/// Draws the findings' places that lie in one process into `pictures`[finding][place]; needs all
/// events of the process. O(events of the process) at most.
void draw_evidence(Page const& page, size_t process, model::RankTrace const& rank,
                   std::vector<EvidencePictures>& pictures);

}  // namespace stepscope::reports
