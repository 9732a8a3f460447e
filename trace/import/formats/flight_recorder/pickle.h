// Python pickles as data, protocols 2 to 5: reads only what builds numbers, texts, lists, tuples,
// sets and dictionaries. A pickle can name functions and call them when it is opened; Stepscope
// calls nothing, and such a pickle is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "trace/import/formats/flight_recorder/plain_data.h"

namespace stepscope::import {

struct ReadData {
  PlainValue root;
  std::optional<std::string>
      damage;  ///< where and why it ends before it should; what came before is there
};

/// Whether the bytes begin as a pickle of these protocols.
bool is_pickle(std::string_view bytes);

/// `bytes` outlive the data. Errors complete "FILE: …": it would run code, is no pickle or holds
/// too much.
base::Expected<ReadData> read_pickle(std::string_view bytes, PlainData& data);

}  // namespace stepscope::import
