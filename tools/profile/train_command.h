// Parses a command of train into flags and inputs, so that other flags can be tried.

#ifndef RUTILE_TOOLS_PROFILE_TRAIN_COMMAND_H_
#define RUTILE_TOOLS_PROFILE_TRAIN_COMMAND_H_

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// A command of train whose flags can be changed.
class TrainCommand {
 public:
  // Parses a command. words: "train", "rutile-train" or a path of either, its flags (--name=value, --name value,
  // --noname, one dash or two) and inputs; flag files are read. train --help tells which flags exist. INVALID_ARGUMENT:
  // another command, no inputs, a flag that train does not have; errors of running train and of reading flag files.
  static absl::StatusOr<TrainCommand> Parse(const std::vector<std::string>& words);

  const std::string& program() const { return program_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  // The flags as they were given, in their order; the last one of a name counts.
  const std::vector<std::pair<std::string, std::string>>& flags() const { return flags_; }
  // Returns the value of the last --name that was given.
  std::optional<std::string> Get(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Get(name).has_value(); }

  // Removes these flags; they need not have been given.
  void Remove(std::initializer_list<const char*> names);
  // Replaces a flag. Names that this train does not know are ignored.
  void Set(const std::string& name, const std::string& value);

  // Returns program, flags and inputs as words.
  std::vector<std::string> Words() const;

 private:
  std::string program_;
  std::map<std::string, bool> known_;  // flags of train --help: whether they are boolean
  std::vector<std::pair<std::string, std::string>> flags_;
  std::vector<std::string> inputs_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TRAIN_COMMAND_H_
