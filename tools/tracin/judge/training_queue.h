// Runs trainings one after another, or several at a time.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_TRAINING_QUEUE_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_TRAINING_QUEUE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rutile {

struct TrainingCommand {
  std::vector<std::string> command;  // command[0] is a path
  std::string log;                   // file for all that it prints
};

// Runs the commands, `at_once` at a time. done: called when one more has succeeded. The first that fails ends the
// others (SIGTERM): INVALID_ARGUMENT with its name and the last line of its log. CANCELLED after a signal, which is
// passed on.
absl::Status RunTrainings(const std::vector<TrainingCommand>& commands, int at_once, const std::function<void()>& done);

// Returns the path of another of these programs: beside this one, or where a build puts it, ../NAME/NAME. NOT_FOUND.
absl::StatusOr<std::string> SiblingProgram(const std::string& name);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_TRAINING_QUEUE_H_
