#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/structure_list.h"
#include "lib/potential/influence/potential_products.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/prediction/predict_data.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/provenance.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/data_sha256.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/tracin/judge/judged_run.h"
#include "tools/tracin/potentials/potential_flags.h"
#include "tools/tracin/potentials/potential_inputs.h"

namespace rutile {
namespace {

// What counts in the loss of a test: the weights that a checkpoint gave to sums of squares.
struct TestLoss {
  double energy = 1, force = 0, stress = 0;
};

// Sum of squared differences.
double SquaredError(absl::Span<const double> predicted, absl::Span<const double> reference) {
  double sum = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    sum += (predicted[i] - reference[i]) * (predicted[i] - reference[i]);
  }
  return sum;
}

double LossOf(const StructurePrediction& p, const AtomicData& data, int64_t s, const TestLoss& weights) {
  double loss = 0;
  if (data.has_energy(s)) {
    const double error = (p.predicted_energy - data.energy(s)) / static_cast<double>(data.num_atoms(s));
    loss += weights.energy * error * error;
  }
  if (weights.force > 0 && !data.force(s).empty()) {
    loss += weights.force * SquaredError(p.predicted_force, data.force(s));
  }
  if (weights.stress > 0 && data.has_stress(s) && p.predicted_stress.has_value()) {
    loss += weights.stress * SquaredError(*p.predicted_stress, data.stress(s));
  }
  return loss;
}

class JudgedPotential : public JudgedRun {
 public:
  JudgedPotential(AtomicData train, AtomicData test, std::string train_sha256)
      : train_(std::move(train)), test_(std::move(test)), train_sha256_(std::move(train_sha256)) {}

  const char* examples() const override { return kStructureExamples; }

  absl::StatusOr<std::vector<std::string>> Lines(const std::string& directory) const override {
    const std::string path = absl::StrCat(directory, "/train_frames.txt");
    ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(path));
    if (!list.has_hashes()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": does not say by their content which structures trained: it is of an older version; train again"));
    }
    RETURN_IF_ERROR(PlacesOf(list).status());  // --train has them
    std::vector<std::string> lines;
    for (size_t i = 0; i < list.numbers.size(); ++i) {
      lines.push_back(absl::StrCat(list.numbers[i], "  # ", list.names[i], " ", list.hashes[i]));
    }
    return lines;
  }

  absl::StatusOr<std::vector<int64_t>> Strata(const std::vector<std::string>& lines,
                                              const std::string& property) const override {
    if (property != "config_type") {
      return absl::InvalidArgumentError(
          absl::StrCat("--stratify_by=", property, ": expected config_type with structures"));
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesOfLines("the run", lines));
    std::map<std::string, int64_t> numbers;
    std::vector<int64_t> strata;
    for (const int64_t s : places) {
      strata.push_back(numbers.emplace(train_.config_type(s), static_cast<int64_t>(numbers.size())).first->second);
    }
    return strata;
  }

  absl::StatusOr<std::vector<int64_t>> LinesOfExamples(const SubsetPlan& plan,
                                                       absl::Span<const int64_t> examples) const override {
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesOfLines(plan.path, plan.lines));
    std::vector<int64_t> line(train_.num_structures(), -1);
    for (size_t i = 0; i < places.size(); ++i) line[places[i]] = static_cast<int64_t>(i);
    std::vector<int64_t> lines;
    for (const int64_t example : examples) {
      if (example >= train_.num_structures() || line[example] < 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "training structure ", example,
            example < train_.num_structures() ? absl::StrCat(" (", train_.name(example), ")") : "", " is not in ",
            plan.path, ": the scores are of another run, or --train is not what they were computed with"));
      }
      lines.push_back(line[example]);
    }
    return lines;
  }

  absl::Status CheckTrainingData(const InfluenceFile& influence) const override {
    std::vector<int64_t> examples = influence.influence.train;
    std::sort(examples.begin(), examples.end());
    examples.erase(std::unique(examples.begin(), examples.end()), examples.end());
    const std::string sha256 = StructureExamplesSha256(train_sha256_, examples);
    return sha256 == influence.description.train_sha256 ? absl::OkStatus() : OtherTrainingData(influence);
  }

  absl::Status ChooseTests(const InfluenceFile& influence) override {
    const InfluenceDescription& description = influence.description;
    ASSIGN_OR_RETURN(PotentialTestOptions options, QuantityOf(influence));
    ASSIGN_OR_RETURN(const std::vector<PotentialTest> all, PotentialTests(test_, options));
    quantity_ = options.quantity;
    component_ = options.component;
    tests_.clear();
    std::vector<std::string> names;
    for (const int64_t test : influence.influence.tests) {
      if (test < 0 || test >= static_cast<int64_t>(all.size())) {
        names.emplace_back();
        continue;
      }
      tests_.push_back(all[test]);
      const int64_t s = all[test].structure;
      names.push_back(absl::StrCat(test_.name(s), " ", test_.config_type(s), " ", test_.num_atoms(s)));
      if (all[test].atom >= 0) absl::StrAppend(&names.back(), " ", all[test].atom);
    }
    RETURN_IF_ERROR(CheckTestNames(influence, names));
    return SetLoss(influence.path, description);
  }

  int SignOfHelp() const override {
    return quantity_ == PotentialQuantity::kLoss || quantity_ == PotentialQuantity::kAtomForce ? 1 : 0;
  }

  absl::StatusOr<std::vector<double>> Predict(const std::string& model) const override {
    std::vector<int64_t> structures;
    for (const PotentialTest& test : tests_) structures.push_back(test.structure);
    ASSIGN_OR_RETURN(const std::vector<StructurePrediction> predictions,
                     PredictionsOf(model, test_, structures, quantity_ != PotentialQuantity::kEnergy && needs_forces(),
                                   quantity_ == PotentialQuantity::kLoss && loss_.stress > 0));
    std::vector<double> values;
    for (size_t t = 0; t < tests_.size(); ++t) values.push_back(ValueOf(predictions[t], tests_[t]));
    return values;
  }

  absl::StatusOr<std::vector<double>> TrainingLosses(const std::string& model, const SubsetPlan& plan) const override {
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesOfLines(plan.path, plan.lines));
    ASSIGN_OR_RETURN(const std::vector<StructurePrediction> predictions,
                     PredictionsOf(model, train_, places, loss_.force > 0 || loss_.stress > 0, loss_.stress > 0));
    std::vector<double> losses;
    for (size_t i = 0; i < places.size(); ++i) {
      losses.push_back(train_.weight(places[i]) * LossOf(predictions[i], train_, places[i], loss_));
    }
    return losses;
  }

  absl::StatusOr<std::vector<uint8_t>> Akin(const SubsetPlan& plan, int64_t t) const override {
    ASSIGN_OR_RETURN(const std::vector<int64_t> places, PlacesOfLines(plan.path, plan.lines));
    std::vector<uint8_t> akin;
    const std::string& type = test_.config_type(tests_[t].structure);
    for (const int64_t s : places) akin.push_back(train_.config_type(s) == type ? 1 : 0);
    return akin;
  }
  const char* akin() const override { return "same config_type"; }

 private:
  bool needs_forces() const {
    return quantity_ == PotentialQuantity::kAtomForce || quantity_ == PotentialQuantity::kForceComponent ||
           loss_.force > 0 || loss_.stress > 0;
  }

  absl::StatusOr<std::vector<int64_t>> PlacesOf(const StructureList& list) const {
    absl::StatusOr<ListedPlaces> found = PlacesOfListed(list, train_);
    if (!found.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(found.status().message(), ": --train needs the data of the run"));
    }
    return std::move(found->places);
  }

  absl::StatusOr<std::vector<int64_t>> PlacesOfLines(const std::string& path,
                                                     const std::vector<std::string>& lines) const {
    ASSIGN_OR_RETURN(const StructureList list, ParseStructureList(path, absl::StrJoin(lines, "\n")));
    return PlacesOf(list);
  }

  // Returns the quantity that the scores are of; flags choose the atoms, as they did then.
  static absl::StatusOr<PotentialTestOptions> QuantityOf(const InfluenceFile& influence) {
    const InfluenceDescription& description = influence.description;
    const absl::StatusOr<PotentialQuantity> quantity = ParsePotentialQuantity(description.test_quantity);
    if (!quantity.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(influence.path, ": scores of \"", description.test_quantity,
                                                     "\", a quantity that cannot be compared with retrained models"));
    }
    PotentialTestOptions options;
    options.atom = kAllAtoms;
    if (FlagGiven("test_quantity")) {
      ASSIGN_OR_RETURN(options, TestOptionsFromFlags(description.test_quantity));
      if (options.quantity != *quantity) {
        return absl::InvalidArgumentError(absl::StrCat("--test_quantity=", PotentialQuantityName(options.quantity),
                                                       ": ", influence.path, " has scores of ",
                                                       description.test_quantity));
      }
    } else {
      RETURN_IF_ERROR(RefuseFlags("without --test_quantity", {"test_atom", "test_component"}));
    }
    options.quantity = *quantity;
    const auto component = description.settings.find("test_component");
    if (component != description.settings.end()) {
      options.component = static_cast<int>(absl::string_view("xyz").find(component->second));
    }
    return options;
  }

  // The weights of the last checkpoint: the loss at the end of the run.
  absl::Status SetLoss(const std::string& path, const InfluenceDescription& description) {
    const auto& settings = description.settings;
    const auto found = settings.find(absl::StrCat("term_weights.", description.checkpoints.size() - 1));
    std::vector<double> weights;
    if (found != settings.end()) {
      for (const absl::string_view text : absl::StrSplit(found->second, ',')) {
        weights.push_back(0);
        if (!absl::SimpleAtod(text, &weights.back())) weights.clear();
      }
    }
    if (weights.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": does not say what errors count in the loss"));
    }
    loss_ = {weights[0], 0, 0};
    if (weights.size() == 1) return absl::OkStatus();
    const auto kind = settings.find("loss");
    if (quantity_ == PotentialQuantity::kLoss && kind != settings.end() && kind->second == "huber") {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": Huber's loss of energies and forces together is not computed here: score --test_quantity=energy"));
    }
    const auto terms = settings.find("terms");
    if (terms == settings.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path,
                       ": was written by an older version, which did not say of what the terms of the loss are: "
                       "compute the scores again"));
    }
    const std::vector<std::string> names = absl::StrSplit(terms->second, ',');
    for (size_t i = 1; i < weights.size(); ++i) {
      (i < names.size() && names[i] == "force" ? loss_.force : loss_.stress) = weights[i];
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<StructurePrediction>> PredictionsOf(const std::string& path, const AtomicData& data,
                                                                 absl::Span<const int64_t> structures, bool forces,
                                                                 bool stress) const {
    ASSIGN_OR_RETURN(const TensorFile look, LookIntoTensorFile(path));
    const absl::StatusOr<FileKind> kind = GetFileKind(look);
    if (kind.ok() && kind->name == "predictions") return PredictionsInFile(path, data, structures, forces, stress);
    ASSIGN_OR_RETURN(const Potential potential, ReadPotential(path));
    if (potential.descriptor != data.descriptor()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": of another descriptor than the other models"));
    }
    absl::StatusOr<std::vector<StructurePrediction>> predictions =
        PredictData(potential, data, structures, forces, ThreadsFromFlags());
    if (predictions.ok()) return predictions;
    return absl::Status(predictions.status().code(), absl::StrCat(path, ": ", predictions.status().message()));
  }

  // Returns what evaluate has predicted for the structures, which have the same names, atoms and reference energies.
  static absl::StatusOr<std::vector<StructurePrediction>> PredictionsInFile(const std::string& path,
                                                                            const AtomicData& data,
                                                                            absl::Span<const int64_t> structures,
                                                                            bool forces, bool stress) {
    ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
    RETURN_IF_ERROR(CheckSchema(PredictionsSchema(), file).status());
    ASSIGN_OR_RETURN(const std::vector<StructurePrediction> all, DecodePredictions(file));
    std::map<std::string, const StructurePrediction*> by_name;
    for (const StructurePrediction& p : all) by_name.emplace(p.name, &p);
    std::vector<StructurePrediction> predictions;
    for (const int64_t s : structures) {
      const auto found = by_name.find(data.name(s));
      const auto error = [&](absl::string_view what) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": ", what, " ", data.name(s)));
      };
      if (found == by_name.end()) return error("has no prediction of the test");
      const StructurePrediction& p = *found->second;
      const bool same_energy =
          data.has_energy(s) ? p.reference_energy == data.energy(s) : std::isnan(p.reference_energy);
      if (p.num_atoms != data.num_atoms(s) || !same_energy) {
        return error("has other atoms, or another reference energy, than --test for");
      }
      if (forces && p.predicted_force.empty()) return error("has no forces (evaluate --forces=false) of");
      if (stress && data.has_stress(s) && !p.predicted_stress.has_value()) {
        return error("has no stress, which is a part of the loss, of");
      }
      predictions.push_back(p);
    }
    return predictions;
  }

  double ValueOf(const StructurePrediction& p, const PotentialTest& test) const {
    switch (quantity_) {
      case PotentialQuantity::kEnergy:
        return p.predicted_energy;
      case PotentialQuantity::kAtomForce:
        return SquaredError(absl::MakeConstSpan(p.predicted_force).subspan(3 * test.atom, 3),
                            test_.force(test.structure).subspan(3 * test.atom, 3));
      case PotentialQuantity::kForceComponent:
        return p.predicted_force[3 * test.atom + component_];
      case PotentialQuantity::kLoss:
        break;
    }
    return LossOf(p, test_, test.structure, loss_);
  }

  const AtomicData train_, test_;
  const std::string train_sha256_;  // of the files
  std::vector<PotentialTest> tests_;
  PotentialQuantity quantity_ = PotentialQuantity::kLoss;
  int component_ = 0;
  TestLoss loss_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JudgedRun>> OpenJudgedPotential(const std::string& model,
                                                               const std::vector<std::string>& train,
                                                               const std::vector<std::string>& test) {
  ASSIGN_OR_RETURN(const Potential potential, ReadPotential(model));
  ASSIGN_OR_RETURN(AtomicData train_data, ReadData(train, potential, AtomicDataOptions()));
  AtomicData test_data = train_data;
  if (!test.empty()) {
    ASSIGN_OR_RETURN(test_data, ReadData(test, potential, AtomicDataOptions()));
  }
  Provenance provenance;
  for (const std::string& input : train) RETURN_IF_ERROR(provenance.AddInput(input));
  std::string sha256 = DataSha256(MakeMetadata(InfluenceSchema().kind, provenance, {}), train);
  return std::unique_ptr<JudgedRun>(
      std::make_unique<JudgedPotential>(std::move(train_data), std::move(test_data), std::move(sha256)));
}

}  // namespace rutile
