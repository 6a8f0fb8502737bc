// Reads the models to evaluate.

#ifndef RUTILE_TOOLS_EVALUATE_MODELS_H_
#define RUTILE_TOOLS_EVALUATE_MODELS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/potential/model/potential_file.h"
#include "lib/structure/label_keys.h"
#include "lib/structure/structure_reader.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// One potential or a committee.
struct Models {
  std::vector<std::string> paths;     // of all files
  std::vector<Potential> potentials;  // one, or a committee with one descriptor
  std::vector<std::string> names;     // of each potential: its path, or paths if it is of aenet
};

// argument: MODEL or MODEL,MODEL..., each a file, a directory, a glob or list:FILE; the networks of aenet for all
// species are one model. Returns the errors of ExpandInputs, OpenPotentials and CheckCommittee.
absl::StatusOr<Models> ReadModels(const std::string& argument);

// INVALID_ARGUMENT naming the models of a directory that is that of a run or of a committee, given in place of them.
absl::Status RefuseRunDirectory(const std::string& path);

// Warns if the model says that the run which wrote it had not ended: it was stopped, or is still going.
void WarnOfUnfinishedRun(absl::string_view path, const Metadata& metadata);
// Warns if two members of a committee have the same parameters, which makes its spread too small.
void WarnOfEqualMembers(const Models& models);
// Says so if the model learned from a subset of the training examples of its run.
void SayIfOfSubset(absl::string_view path, const Metadata& metadata);
// Returns by which names and units the labels of the training data were read, as all models record it. INVALID_ARGUMENT
// naming two models that differ in one that no flag of this command gives.
absl::StatusOr<LabelKeys> RecordedLabels(const Models& models);
// Returns how structures are read for the models: as flags say and, where they say nothing, under the names of the
// labels that the models learned from. taken: receives these as flags, unless null.
absl::StatusOr<StructureReaderOptions> ReaderOptionsFor(const Models& models, std::string* taken = nullptr);
// Copies what a single model says of its subset into the metadata of its predictions, by which tracin --lds finds them.
void DescribeSubset(const Models& models, Metadata* metadata);

// Returns facts for the report: name, value with its unit.
std::vector<std::pair<std::string, std::string>> ModelFacts(const Models& models);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_MODELS_H_
