// The settings of a table as texts by name, as a checkpoint's config and a model's file hold them.
//
//   std::map<std::string, std::string> record;
//   RecordSettings(SpringSettings(), options, &record);  // {"stiffness", "1"}, {"damped", "false"}
//   SpringOptions same;
//   RETURN_IF_ERROR(ReadRecord(SpringSettings(), record, &same));

#ifndef RUTILE_LIB_BASE_SETTING_RECORD_H_
#define RUTILE_LIB_BASE_SETTING_RECORD_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"

namespace rutile {

// "0.1", "1e-05", "true", or the text itself. Numbers have the fewest digits that restore them exactly, in the form
// that records of all versions have: settings are compared as text.
std::string RecordText(const SettingValue& value);

// INVALID_ARGUMENT: there is no "loss".
absl::Status NotRecorded(const SettingInfo& info);
// INVALID_ARGUMENT: "loss" is "l1": WHAT. For a number or a switch: "hidden_size" is "many", expected a number.
// `like`: any value of the setting.
absl::Status BadRecord(const SettingInfo& info, absl::string_view text, const SettingValue& like,
                       absl::string_view what);

// Adds the settings that the rows record with these options.
template <typename Options>
void RecordSettings(absl::Span<const Setting<Options>> table, const Options& options,
                    std::map<std::string, std::string>* record) {
  for (const Setting<Options>& row : table) {
    if (row.IsRecorded(options)) (*record)[row.name] = RecordText(row.Get(options));
  }
}

// Sets the options from a record. A row that decides whether others are recorded must come before them. Names without a
// row are ignored, and settings that are not recorded keep their values; one that is recorded only where it is not the
// default is set if it is there. INVALID_ARGUMENT: a setting that must be there is missing, or its text means nothing.
// Ranges are CheckRanges' matter.
template <typename Options>
absl::Status ReadRecord(absl::Span<const Setting<Options>> table, const std::map<std::string, std::string>& record,
                        Options* options) {
  for (const Setting<Options>& row : table) {
    const bool expected = row.IsRecorded(*options);
    if (!expected && !row.HasEffect(*options)) continue;
    const auto found = record.find(row.name);
    if (found == record.end()) {
      if (!expected) continue;
      return NotRecorded(row);
    }
    const absl::Status status = row.Set(found->second, options);
    if (!status.ok()) return BadRecord(row, found->second, row.Get(*options), status.message());
  }
  return absl::OkStatus();
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_SETTING_RECORD_H_
