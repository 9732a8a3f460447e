// Takes out of a trace what says whose it is: every text of the program is replaced, times, sizes,
// kinds and structure stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "trace/model/trace.h"

namespace stepscope::model {

/// Names in place of texts: "range-1", "kernel-2", … The same text of the same sort gets the same
/// one in every trace that uses the same Pseudonyms.
class Pseudonyms {
 public:
  /// What an analysis reads in the name of a host range, in words that hold nothing else of it.
  struct Meaning {
    std::string instead;  ///< of the whole name: "step 12", a loader's wait; empty: nothing
    std::string besides;  ///< behind the pseudonym: "layer.3"; empty: nothing
  };
  using MeaningOf = std::function<Meaning(std::string_view name)>;
  explicit Pseudonyms(MeaningOf meaning_of) : meaning_of_(std::move(meaning_of)) {}

  /// "sort-N". The empty text stays empty.
  std::string of(std::string_view sort, std::string_view text);
  /// The pseudonym of a host range, with its meaning if it has one.
  std::string of_range(std::string_view text);

 private:
  MeaningOf meaning_of_;
  std::map<std::pair<std::string, std::string>, std::string> names_;
  std::map<std::string, uint64_t> counts_;
};

/// The trace under pseudonyms: names of events, threads, streams, counters, devices and the host.
/// Analyses still find what they read: the class of device ops ("kernel-17 (compute)"), the
/// operation of collectives, which launches launch a graph. Calls of CUDA, HIP and NCCL and
/// copies keep their names, which are the same in every program. Command line, notes and facts are
/// removed, except the number of cores. Thread ids are numbers from 1, the process id is the rank.
/// `origin_epoch_ns` moves by `epoch_shift_ns`, so that ranks stay aligned and no date is left.
Trace anonymize(Trace const& trace, Pseudonyms& pseudonyms, int64_t epoch_shift_ns);

}  // namespace stepscope::model
