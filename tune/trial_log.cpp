#include "tune/trial_log.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "gate/json_fields.h"
#include "trace/base/format.h"

namespace stepscope::tune {
namespace {

using base::Expected;
using base::fail;
using gate::Fields;
using gate::ReadJson;
using gate::WriteJson;

constexpr std::string_view kTrialLogKind = "stepscope tuning trials";
constexpr size_t kMostTrials = 100'000, kMostRuns = 10'000, kMostTextBytes = 4096;
constexpr double kMostShare = 1e9;

WriteJson settings_json(Space const& space, Settings const& settings) {
  WriteJson json = WriteJson::object();
  for (size_t k = 0; k < settings.size(); ++k) json[space.knobs[k].name] = settings[k];
  return json;
}

Settings read_settings(Space const& space, Fields json) {
  Settings settings;
  for (Knob const& knob : space.knobs)
    settings.push_back(json.text(knob.name.c_str(), kMostKnobValueBytes));
  return settings;
}

/// JSON has no infinity: a single pair has an interval of all numbers.
WriteJson share_json(double share) {
  return std::isfinite(share) ? WriteJson(share) : WriteJson(nullptr);
}

double read_share(Fields& json, char const* key, double unbounded) {
  return json.has(key) ? json.number(key, -kMostShare, kMostShare) : unbounded;
}

void write_saving(WriteJson& json, std::string const& name, std::string const& low,
                  std::string const& high, std::optional<Saving> const& saving) {
  json[name] = saving ? share_json(saving->saving) : WriteJson(nullptr);
  json[low] = saving ? share_json(saving->low) : WriteJson(nullptr);
  json[high] = saving ? share_json(saving->high) : WriteJson(nullptr);
}

std::optional<Saving> read_saving(Fields& json, char const* name, char const* low,
                                  char const* high) {
  if (!json.has(name)) return std::nullopt;
  Saving saving;
  saving.saving = json.number(name, -kMostShare, kMostShare);
  saving.low = read_share(json, low, -INFINITY);
  saving.high = read_share(json, high, INFINITY);
  return saving;
}

template <class Kind>
Kind read_word(Fields& json, char const* key, Kind last) {
  std::string const word = json.text(key, kMostTextBytes);
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i)
    if (word == to_string(static_cast<Kind>(i))) return static_cast<Kind>(i);
  json.fail(key, "is not known");
  return last;
}

/// Costs of pairs: a list of the four numbers of each.
std::vector<PairCosts> read_pairs(Fields& json) {
  std::vector<double> const numbers =
      json.numbers("costs_ns", std::nullopt, 4 * kMostRuns, 0, gate::kMostFileNumber);
  std::vector<PairCosts> pairs;
  if (numbers.size() % 4 != 0) json.fail("costs_ns", "is cut");
  for (size_t i = 0; i + 3 < numbers.size(); i += 4)
    pairs.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  for (PairCosts const& pair : pairs)
    if (pair.base <= 0 || pair.candidate <= 0) json.fail("costs_ns", "has a step without time");
  return pairs;
}

Trial read_trial(Space const& space, Fields& json) {
  Trial trial;
  trial.number = static_cast<size_t>(json.whole("trial", 0, kMostTrials));
  trial.kind = read_word(json, "kind", TrialKind::kScreening);
  if (auto settings = json.object("settings")) trial.settings = read_settings(space, *settings);
  if (auto settings = json.object("base")) trial.base = read_settings(space, *settings);
  trial.is_interleaved = json.boolean("in_turn");

  trial.runs = json.texts("runs", kMostRuns, kMostTextBytes);
  trial.pairs = read_pairs(json);
  trial.predicted = read_saving(json, "predicted", "predicted_low", "predicted_high");
  trial.change = json.text("change", kMostTextBytes);
  trial.measured = read_saving(json, "measured", "low", "high");
  trial.p = json.number("p", 0, 1);
  trial.verdict = read_word(json, "verdict", TrialVerdict::kScreenedOut);
  trial.reason = json.text("reason", kMostTextBytes);
  trial.seconds = json.number("seconds", 0, gate::kMostFileNumber);
  return trial;
}

Expected<void> check_header(std::string_view line, std::string const& path,
                            std::string_view fingerprint) {
  auto const document =
      gate::parse_document(line, path, kTrialLogKind, kTrialLogSchema, kMostTextBytes);
  if (!document) return base::fail_with(document);

  std::optional<std::string> error;
  std::string const found = Fields(*document, {}, error).text("space", kMostTextBytes);
  if (error) return fail("{}:1: {}", path, *error);
  if (found != fingerprint)
    return fail(
        "{}: has the trials of another search (its space, command or options differ): choose "
        "another folder with -o",
        path);
  return {};
}

Expected<Trial> parse_line(std::string_view line, std::string const& where, Space const& space) {
  ReadJson const document = ReadJson::parse(line, nullptr, false);
  if (!document.is_object()) return fail("{}: no JSON object, remove the line", where);
  std::optional<std::string> error;
  Fields fields(document, {}, error);
  Trial trial = read_trial(space, fields);
  if (error) return fail("{}: {}, remove the line", where, *error);
  return trial;
}

}  // namespace

std::string fingerprint_of(std::string_view text) {
  // FNV-1a: two searches of one user only have to differ.
  uint64_t hash = 14'695'981'039'346'656'037U;
  for (char const byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1'099'511'628'211U;
  }
  return fmt::format("{:016x}", hash);
}

std::string log_header(std::string_view fingerprint) {
  WriteJson const json = {
      {"kind", kTrialLogKind}, {"schema", kTrialLogSchema}, {"space", fingerprint}};
  return json.dump() + "\n";
}

std::string trial_line(Space const& space, Trial const& trial) {
  WriteJson json = {{"trial", trial.number}, {"kind", to_string(trial.kind)}};
  json["settings"] = settings_json(space, trial.settings);
  json["base"] = settings_json(space, trial.base);
  json["in_turn"] = trial.is_interleaved;
  json["runs"] = trial.runs;

  json["costs_ns"] = WriteJson::array();
  for (PairCosts const& pair : trial.pairs)
    for (double const cost : {pair.base, pair.candidate, pair.base_all, pair.candidate_all})
      json["costs_ns"].push_back(cost);
  write_saving(json, "predicted", "predicted_low", "predicted_high", trial.predicted);
  json["change"] = trial.change;
  write_saving(json, "measured", "low", "high", trial.measured);

  json["p"] = trial.p;
  json["verdict"] = to_string(trial.verdict);
  json["reason"] = base::valid_utf8(trial.reason, kMostTextBytes / 2);
  json["seconds"] = trial.seconds;
  return json.dump(-1, ' ', false, WriteJson::error_handler_t::replace) + "\n";
}

Expected<TrialLog> parse_trial_log(std::string_view text, std::string const& path,
                                   Space const& space, std::string_view fingerprint) {
  if (text.size() > kMostTrialLogBytes)
    return fail("{}: {} are more than a search writes", path, base::format_bytes(text.size()));
  TrialLog log;
  std::map<size_t, Trial> by_number;

  for (size_t number = 1; log.whole_bytes < text.size(); ++number) {
    std::string_view const rest = text.substr(log.whole_bytes);
    size_t const end = rest.find('\n');
    log.is_cut = end == std::string_view::npos;
    if (log.is_cut) break;

    std::string_view const line = rest.substr(0, end);
    if (number == 1) {
      if (auto const good = check_header(line, path, fingerprint); !good)
        return base::fail_with(good);
    } else {
      auto trial = parse_line(line, fmt::format("{}:{}", path, number), space);
      if (!trial) return base::fail_with(trial);
      by_number[trial->number] = std::move(*trial);
    }
    log.whole_bytes += end + 1;
  }

  for (auto& [number, trial] : by_number) {
    if (number != log.trials.size())
      return fail("{}: trial {} is missing, restore the file or choose another folder", path,
                  log.trials.size());
    log.trials.push_back(std::move(trial));
  }
  return log;
}

}  // namespace stepscope::tune
