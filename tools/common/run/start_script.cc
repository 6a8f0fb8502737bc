#include "tools/common/run/start_script.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/match.h"

namespace rutile {

bool IsLoader(absl::string_view path) { return absl::StartsWith(path.substr(path.rfind('/') + 1), "ld-linux"); }

std::string PathOfThisProgram() {
  constexpr char kSelf[] = "/proc/self/exe";
  char self[PATH_MAX];
  const ssize_t size = ::readlink(kSelf, self, sizeof(self));
  // An ordinary program that one of an archive has started inherits the variable, too, and must not heed it.
  const char* const script = std::getenv(kStartScriptVariable);
  return script != nullptr && size > 0 && IsLoader(absl::string_view(self, size)) ? script : kSelf;
}

}  // namespace rutile
