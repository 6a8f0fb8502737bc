#include "tools/common/run/flag_word.h"

#include <gflags/gflags.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

namespace rutile {
namespace {

std::set<std::string>& StandAlone() {
  static auto* names = new std::set<std::string>();
  return *names;
}

}  // namespace

bool MayStandAlone(const char* name) { return StandAlone().insert(name).second; }

bool IsFlag(absl::string_view argument) { return argument.size() > 1 && argument[0] == '-'; }

FlagWord ParseFlagWord(absl::string_view argument) {
  FlagWord word;
  argument.remove_prefix(absl::StartsWith(argument, "--") ? 2 : 1);
  const size_t equals = argument.find('=');
  word.has_value = equals != absl::string_view::npos;
  const std::string name = absl::StrReplaceAll(argument.substr(0, equals), {{"-", "_"}});
  gflags::CommandLineFlagInfo info;
  const auto find = [&](const std::string& flag, bool value) {
    if (!word.name.empty() || !gflags::GetCommandLineFlagInfo(flag.c_str(), &info)) return;
    word.is_text = StandAlone().count(flag) > 0;
    word.is_bool = word.is_text || info.type == "bool";
    word.text = value;
    if (word.is_bool || value) word.name = flag;
  };
  find(name, true);
  if (absl::StartsWith(name, "no")) find(name.substr(2), false);
  return word;
}

}  // namespace rutile
