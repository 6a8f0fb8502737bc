// An argument that begins with a dash: which flag it is, and whether its value stands in it.

#ifndef RUTILE_TOOLS_COMMON_RUN_FLAG_WORD_H_
#define RUTILE_TOOLS_COMMON_RUN_FLAG_WORD_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rutile {

// Lets the text flag `name` be given without a value, which then is "true"; "--noname" is "false". For its definition:
//   DEFINE_string(resume, "", ...);
//   const bool resume_may_stand_alone = MayStandAlone("resume");
bool MayStandAlone(const char* name);

// "-" alone is standard input.
bool IsFlag(absl::string_view argument);

struct FlagWord {
  std::string name;  // as it was defined; "" when there is no such flag
  bool has_value = false;
  bool is_bool = false;  // and needs none
  bool is_text = false;  // a text flag that needs none, as it stands for...
  bool text = false;     // ...this
};

// What gflags makes of "--name=value", "-name", "--noname", "--rad-cutoff=6".
FlagWord ParseFlagWord(absl::string_view argument);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_WORD_H_
