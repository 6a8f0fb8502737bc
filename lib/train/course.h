// The options of a run, written down: those that decide its course in checkpoints, all of them in config.json.

#ifndef RUTILE_LIB_TRAIN_COURSE_H_
#define RUTILE_LIB_TRAIN_COURSE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/trainer_options.h"

namespace rutile {

// Of the options that decide the course of a run, and of Task::Course, as JSON, for checkpoints.
std::string CourseJson(const TrainerOptions& options, const std::map<std::string, std::string>& task = {});
// FAILED_PRECONDITION naming the first option in which `now` differs from `then` (both from CourseJson).
absl::Status CheckSameCourse(absl::string_view then, absl::string_view now);

// All options, the task's, and what the caller adds ("command", "inputs"...), as the text of config.json.
std::string ConfigJson(const TrainerOptions& options, const std::map<std::string, std::string>& task,
                       const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_COURSE_H_
