// How a program starts itself or its sibling where a script of an archive (tools/bundle.sh) has started it.
//
// Such a script calls the archive's own loader of shared libraries with the program as an argument, so that
// /proc/self/exe is the loader. What is to be executed in its place is the script.

#ifndef RUTILE_TOOLS_COMMON_RUN_START_SCRIPT_H_
#define RUTILE_TOOLS_COMMON_RUN_START_SCRIPT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// The script names itself in this environment variable, without links.
inline constexpr char kStartScriptVariable[] = "RUTILE_START_SCRIPT";

// Returns whether this path of a program is that of a loader, as ld-linux-x86-64.so.2.
bool IsLoader(absl::string_view path);

// Returns the path that starts this program again: /proc/self/exe, which leads to the program even after its file has
// been replaced, or the script's path where a script has called a loader.
std::string PathOfThisProgram();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_START_SCRIPT_H_
