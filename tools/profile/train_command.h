// A command of train as its flags and inputs, so that others can be tried.

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

class TrainCommand {
 public:
  // words: "train" or a path that ends so, its flags (--name=value, --name value, --noname, one dash or two) and
  // inputs; flag files are read. Which flags there are, train --help says. INVALID_ARGUMENT: another command, no
  // inputs, a flag that train does not have; errors of running train and of reading flag files.
  static absl::StatusOr<TrainCommand> Parse(const std::vector<std::string>& words);

  const std::string& program() const { return program_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  // As they were given, in their order; of a name the last one counts.
  const std::vector<std::pair<std::string, std::string>>& flags() const { return flags_; }
  // Of the last --name that was given.
  std::optional<std::string> Get(absl::string_view name) const;
  bool Has(absl::string_view name) const { return Get(name).has_value(); }

  // Without these flags, each whether it was given or not.
  void Remove(std::initializer_list<const char*> names);
  // Replaces it. Names that this train does not know are left out.
  void Set(const std::string& name, const std::string& value);

  // program, flags, inputs.
  std::vector<std::string> Words() const;

 private:
  std::string program_;
  std::map<std::string, bool> known_;  // flags of train --help: whether they are boolean
  std::vector<std::pair<std::string, std::string>> flags_;
  std::vector<std::string> inputs_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_TRAIN_COMMAND_H_
