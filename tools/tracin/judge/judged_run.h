// What the judge of influence needs of a run's data and models, in either domain: which examples train and test, and
// what a model says of the tests.

#ifndef RUTILE_TOOLS_TRACIN_JUDGE_JUDGED_RUN_H_
#define RUTILE_TOOLS_TRACIN_JUDGE_JUDGED_RUN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/files/subsets_file.h"

namespace rutile {

// The data of a run: --train and --test, read as its model wants them.
class JudgedRun {
 public:
  virtual ~JudgedRun() = default;

  // ---- training examples, for a plan
  // kStructureExamples or kTripleExamples.
  virtual const char* examples() const = 0;
  // Returns a line for each example that the run in `directory` trained on (SubsetPlan::lines).
  virtual absl::StatusOr<std::vector<std::string>> Lines(const std::string& directory) const = 0;
  // Returns the stratum of each of these lines, numbered from 0. INVALID_ARGUMENT: there is no such property.
  virtual absl::StatusOr<std::vector<int64_t>> Strata(const std::vector<std::string>& lines,
                                                      const std::string& property) const = 0;
  // Returns the entities that each of these lines connects; empty if examples are no triples.
  virtual std::vector<std::array<int32_t, 2>> Links(const std::vector<std::string>& lines) const { return {}; }

  // ---- influence
  // Returns, for each training example as influence files number them, the line of the plan that it belongs to. Inverse
  // examples belong to the line of their triple. -1: of no line, because it stays in every subset (triples known to be
  // false). INVALID_ARGUMENT if the plan is of other data.
  virtual absl::StatusOr<std::vector<int64_t>> LinesOfExamples(const SubsetPlan& plan,
                                                               absl::Span<const int64_t> examples) const = 0;
  // INVALID_ARGUMENT if the scores of the file, which lists all training examples, are of other files than --train, or
  // of these in another order: numbers of examples would be those of others.
  virtual absl::Status CheckTrainingData(const InfluenceFile& influence) const = 0;
  // Chooses the tests and the quantity of an influence file. INVALID_ARGUMENT: its tests are not those of --test, or
  // its quantity is none that a model can be asked for here.
  virtual absl::Status ChooseTests(const InfluenceFile& influence) = 0;
  // How an example that makes the test better changes the chosen quantity, as influence files count: 1 if it lowers it
  // (losses), -1 if it raises it (scores of triples), 0 if neither is better (energies, force components).
  virtual int SignOfHelp() const = 0;
  // Returns the quantity of each chosen test as the model in the file predicts it. INVALID_ARGUMENT: a model of other
  // data.
  virtual absl::StatusOr<std::vector<double>> Predict(const std::string& model) const = 0;
  // Returns the loss of each line's example under the model.
  virtual absl::StatusOr<std::vector<double>> TrainingLosses(const std::string& model,
                                                             const SubsetPlan& plan) const = 0;
  // True if the example of a line is akin to chosen test number t: of its config_type, or with an entity in common.
  virtual absl::StatusOr<std::vector<uint8_t>> Akin(const SubsetPlan& plan, int64_t t) const = 0;
  // What Akin compares: "same config_type", "shared entity".
  virtual const char* akin() const = 0;
};

// Reads the data. model: any model of the run, for the descriptor or the names. train, test: files, expanded; test may
// be empty if no tests are chosen.
absl::StatusOr<std::unique_ptr<JudgedRun>> OpenJudgedRun(const std::string& model,
                                                         const std::vector<std::string>& train,
                                                         const std::vector<std::string>& test);
absl::StatusOr<std::unique_ptr<JudgedRun>> OpenJudgedPotential(const std::string& model,
                                                               const std::vector<std::string>& train,
                                                               const std::vector<std::string>& test);
absl::StatusOr<std::unique_ptr<JudgedRun>> OpenJudgedGraph(const std::string& model,
                                                           const std::vector<std::string>& train,
                                                           const std::vector<std::string>& test);

// The error of CheckTrainingData.
absl::Status OtherTrainingData(const InfluenceFile& influence);

// INVALID_ARGUMENT if the names of an influence file's tests are not `names`, which --test has in these places.
absl::Status CheckTestNames(const InfluenceFile& influence, const std::vector<std::string>& names);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_JUDGE_JUDGED_RUN_H_
