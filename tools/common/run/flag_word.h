// Parses one argument that begins with a dash: which flag it names, and whether it contains the value.

#ifndef RUTILE_TOOLS_COMMON_RUN_FLAG_WORD_H_
#define RUTILE_TOOLS_COMMON_RUN_FLAG_WORD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Lets the text flag `name` be given without a value, which then is "true"; "--noname" is "false". Use it beside the
// definition:
//   DEFINE_string(resume, "", ...);
//   const bool resume_may_stand_alone = MayStandAlone("resume");
bool MayStandAlone(const char* name);

// True for a flag. "-" alone is standard input, not a flag.
bool IsFlag(absl::string_view argument);

struct FlagWord {
  std::string name;  // as defined; "" if there is no such flag
  bool has_value = false;
  bool is_bool = false;  // a flag that needs no value
  bool is_text = false;  // a text flag given without its value, which then is...
  bool text = false;     // ...this
};

// Interprets "--name=value", "-name", "--noname", "--rad-cutoff=6" as gflags does.
FlagWord ParseFlagWord(absl::string_view argument);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_WORD_H_
