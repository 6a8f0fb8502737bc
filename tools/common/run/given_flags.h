// Which flags were given, and what is said to those who give one in vain.

#ifndef RUTILE_TOOLS_COMMON_RUN_GIVEN_FLAGS_H_
#define RUTILE_TOOLS_COMMON_RUN_GIVEN_FLAGS_H_

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

// On the command line or in a --flagfile, with whatever value. CHECK-fails when there is no such flag.
bool FlagGiven(const char* name);

// "command line", "flagfile PATH", or "default" for what was not given. RunTool records it.
std::string FlagOrigin(const std::string& name);
// The environment variable by which a program tells the one that it continues as where flags came from: a line
// "NAME<tab>ORIGIN" for each. RecordFlagOrigins takes it out of the environment.
inline constexpr char kFlagOriginsVariable[] = "RUTILE_FLAG_ORIGINS";

void RecordFlagOrigins(std::map<std::string, std::string> origins);

// A value of gflags' as a person writes it: "0.98" for the "0.97999999999999998" of a double. Other types stay as they
// are.
std::string FlagText(const std::string& type, const std::string& value);

// INVALID_ARGUMENT for the first of `names` that is given: "--momentum has no effect with --optimizer=adam: leave it
// out". `why`: "with --optimizer=adam". Nobody tunes a flag in vain.
absl::Status RefuseFlags(absl::string_view why, std::initializer_list<const char*> names);

// INVALID_ARGUMENT for the first of `used` that is given and false, which means that `chosen`, "--optimizer=adam", does
// not use it.
absl::Status RefuseUnused(absl::string_view chosen, std::initializer_list<std::pair<const char*, bool>> used);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_GIVEN_FLAGS_H_
