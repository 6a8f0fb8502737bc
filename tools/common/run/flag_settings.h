// Every flag of a tool as it is in effect, for the record of a run.

#ifndef RUTILE_TOOLS_COMMON_RUN_FLAG_SETTINGS_H_
#define RUTILE_TOOLS_COMMON_RUN_FLAG_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace rutile {

struct FlagSetting {
  std::string value;   // in effect
  std::string origin;  // "default", "command line", "flagfile PATH"; what Resolve says
  std::string given;   // value as it was given; meaningless with the origin "default"
  bool is_given = false;
};

class FlagSettings {
 public:
  // All flags defined under tools/, with the origins that RunTool recorded.
  FlagSettings();

  // What a flag means in this run where its value leaves that open (0, auto) or where the inputs decide it.
  // `origin`: "file"; not for a flag that was given, or that has this value already. CHECK-fails when there is no such
  // flag.
  void Resolve(absl::string_view name, absl::string_view value, absl::string_view origin);

  const std::map<std::string, FlagSetting>& settings() const { return settings_; }

 private:
  std::map<std::string, FlagSetting> settings_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_SETTINGS_H_
