#include "tools/tracin/potentials/potential_domain.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/sha256.h"
#include "lib/machine/memory.h"
#include "lib/network/network_shape.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/atomic_inputs.h"
#include "lib/potential/data/structure_list.h"
#include "lib/potential/influence/curvature/ek_fac.h"
#include "lib/potential/influence/curvature/leave_one_out.h"
#include "lib/potential/influence/curvature/make_curvature.h"
#include "lib/potential/influence/potential_products.h"
#include "lib/potential/influence/unrolled_products.h"
#include "lib/potential/model/model_frame.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/structure/element.h"
#include "lib/structure/label_keys.h"
#include "lib/task/framed_model.h"
#include "lib/task/precision.h"
#include "lib/tensorfile/tensor_of_doubles.h"
#include "lib/train/files/checkpoint.h"
#include "tools/common/flags/data_sha256.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/tracin/outputs/curvature_output.h"
#include "tools/tracin/outputs/leave_one_out_table.h"
#include "tools/tracin/potentials/potential_curvature.h"
#include "tools/tracin/potentials/potential_flags.h"
#include "tools/tracin/potentials/potential_inputs.h"
#include "tools/tracin/potentials/potential_weights.h"
#include "tools/tracin/projection_flags.h"
#include "tools/tracin/unrolled_run.h"

DEFINE_string(train_frames, "auto",
              "Structures: file with the numbers of the structures of --train that were trained on, or all. auto: "
              "train_frames.txt of the run, where it is.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// Upper bound of the memory for the products of a checkpoint, per thread.
constexpr int64_t kWorkspaceBytes = int64_t{8} << 20;

class PotentialDomain : public InfluenceDomain {
 public:
  PotentialDomain(const TracinFlags& flags, const CheckpointSet* checkpoint_set, Potential potential, AtomicData train,
                  AtomicData test, GradientReference reference)
      : flags_(flags),
        checkpoint_set_(checkpoint_set),
        potential_(std::move(potential)),
        train_(std::move(train)),
        test_(std::move(test)),
        reference_(reference) {}

  absl::Status Start(const ToolRun& run);

  int64_t num_train() const override { return train_.num_structures(); }
  int64_t num_tests() const override { return static_cast<int64_t>(tests_.size()); }
  std::vector<int64_t> TrainExamples() const override { return examples_; }

  absl::StatusOr<std::vector<int64_t>> Strata(const std::string& property,
                                              absl::Span<const int64_t> train) const override {
    if (property != "config_type") {
      return absl::InvalidArgumentError(
          absl::StrCat("--stratify_by=", property, ": expected config_type with structures"));
    }
    std::map<std::string, int64_t> numbers;
    std::vector<int64_t> strata;
    for (const int64_t s : train) {
      strata.push_back(numbers.emplace(train_.config_type(s), static_cast<int64_t>(numbers.size())).first->second);
    }
    return strata;
  }

  std::vector<ParameterSlice> slices() const override { return slices_; }

  ParameterPlace Place(const ParameterSlice& slice) const override {
    // The name is network.Ti.0.weight, or second.network.Ti.0.weight in a second layer, whose networks are as deep.
    absl::string_view name = slice.name;
    const bool second = absl::ConsumePrefix(&name, "second.");
    const std::vector<std::string> words = absl::StrSplit(name, '.');
    int depth = 0;
    if (words.size() != 4 || !absl::SimpleAtoi(words[2], &depth)) return {"other", slice.name, -1};
    return {words[1], absl::StrCat(second ? "second." : "", words[1], ".", words[2]), depth};
  }

  absl::StatusOr<std::unique_ptr<GradientProducts>> Products(size_t index) const override {
    ASSIGN_OR_RETURN(WeightedCheckpoint at, PointAt(index));
    ASSIGN_OR_RETURN(const Potential potential, PotentialAt(index));
    const PotentialProductsOptions options = OptionsAt(index);
    if (flags_.unrolled) {
      ASSIGN_OR_RETURN(UnrolledRun steps,
                       UnrolledRunOf(checkpoint_set_->unrolled, slices_, potential.shape, examples_));
      if (steps.of_average) {
        ASSIGN_OR_RETURN(const OptimizerState end, steps.state(static_cast<int64_t>(steps.steps.size())));
        at.parameters = TensorOfDoubles(options.precision, end.average);
      }
      return MakeUnrolledProducts(potential, train_, test_, at, std::move(steps), options);
    }
    return MakePotentialProducts(potential, train_, test_, at, options, reference_);
  }

  absl::StatusOr<std::string> LeaveOneOutTable(absl::Span<const ProductPart> parts) const override;
  absl::Status WriteCurvatureFile(absl::Span<const ProductPart> parts, const std::string& path,
                                  const Metadata& provenance) const override;

  int64_t bytes_per_point() const override {
    const int64_t numbers = slices_.empty() ? 0 : slices_.back().offset + slices_.back().num_elements();
    int64_t matrix = flags_.gauss_newton ? 8 * numbers * numbers : 0;
    if (flags_.ek_fac) {
      matrix = static_cast<int64_t>(EkFac::Bytes(KroneckerBlocks(slices_, {{0, numbers}})));
    }
    return 8 * numbers + matrix + options_.num_threads * kWorkspaceBytes;
  }
  double tolerance() const override { return options_.precision == DType::kF64 ? 1e-9 : 2e-4; }

  std::string TrainSha256(absl::Span<const int64_t> train) const override {
    return StructureExamplesSha256(data_sha256_, train);
  }
  std::string TestSha256() const override { return test_sha256_; }

  void Describe(InfluenceDescription* description) const override {
    description->model = "atomistic";
    description->train_quantity = "loss";
    description->test_quantity = std::string(PotentialQuantityName(options_.test.quantity));
    description->train_sha256 = TrainSha256(examples_);
    description->test_sha256 = test_sha256_;
    auto& settings = description->settings;
    if (flags_.gauss_newton) curvature_.Describe(&settings);
    settings["precision"] = std::string(kPrecisionNames.Name(PrecisionOf(options_.precision)));
    settings["loss"] = LossNames(losses_);
    settings["terms"] = absl::StrCat("energy", options_.loss.force_weight > 0 ? ",force" : "",
                                     options_.loss.stress_weight > 0 ? ",stress" : "");
    if (options_.test.quantity == PotentialQuantity::kForceComponent)
      settings["test_component"] = std::string(1, "xyz"[options_.test.component]);
    if (options_.projection.kind != ProjectionKind::kNone) {
      settings["projection"] = absl::StrCat(ProjectionKindName(options_.projection.kind), " ", options_.projection.dim,
                                            " seed ", options_.projection.seed);
    }
    for (size_t p = 0; p < losses_.size(); ++p) {
      settings[absl::StrCat("term_weights.", p)] = absl::StrJoin(losses_[p].weights, ",");
    }
  }

  std::vector<std::string> train_columns() const override { return {"structure", "config_type", "atoms"}; }
  std::vector<std::string> TrainCells(int64_t s) const override { return Cells(train_, s); }
  std::vector<std::string> test_columns() const override {
    std::vector<std::string> columns = {"structure", "config_type", "atoms"};
    if (of_atoms()) columns.push_back("atom");
    return columns;
  }
  std::vector<std::string> TestCells(int64_t test) const override {
    std::vector<std::string> cells = Cells(test_, tests_[test].structure);
    if (of_atoms()) cells.push_back(absl::StrCat(tests_[test].atom));
    return cells;
  }
  int SignOfHelp() const override {
    const PotentialQuantity quantity = options_.test.quantity;
    return quantity == PotentialQuantity::kLoss || quantity == PotentialQuantity::kAtomForce ? 1 : 0;
  }
  std::string score_unit() const override {
    switch (options_.test.quantity) {
      case PotentialQuantity::kEnergy:
        return "eV";
      case PotentialQuantity::kAtomForce:
        return "(eV/Å)^2";
      case PotentialQuantity::kForceComponent:
        return "eV/Å";
      default:
        return self_unit();
    }
  }
  std::string self_unit() const override { return "loss"; }

 private:
  bool of_atoms() const {
    return options_.test.quantity == PotentialQuantity::kAtomForce ||
           options_.test.quantity == PotentialQuantity::kForceComponent;
  }
  static std::vector<std::string> Cells(const AtomicData& data, int64_t s) {
    return {data.name(s), data.config_type(s), absl::StrCat(data.num_atoms(s))};
  }
  // Returns the model of a checkpoint, which has the scales that its parameters were trained in.
  absl::StatusOr<Potential> PotentialAt(size_t index) const;
  absl::StatusOr<WeightedCheckpoint> PointAt(size_t index) const;
  PotentialProductsOptions OptionsAt(size_t index) const;
  std::string RunDirectory() const;
  absl::Status ChooseExamples();
  absl::Status SetLosses();
  absl::Status CheckData(const ToolRun& run, const std::vector<std::string>& inputs);
  absl::Status CacheNeighbors();
  absl::Status CheckTests() const;
  absl::Status CheckOnePoint(absl::string_view mode) const;

  const TracinFlags& flags_;
  const CheckpointSet* const checkpoint_set_;
  const Potential potential_;
  AtomicData train_, test_;
  const GradientReference reference_;
  PotentialProductsOptions options_;
  std::vector<int64_t> examples_;
  std::vector<PotentialTest> tests_;
  std::vector<ParameterSlice> slices_;
  std::vector<CheckpointLoss> losses_;  // [checkpoints]
  PotentialCurvature curvature_;
  std::string data_sha256_, test_sha256_;  // of the files
  bool found_by_content_ = false;          // the training structures, by the hashes of train_frames.txt
};

PotentialProductsOptions PotentialDomain::OptionsAt(size_t index) const {
  PotentialProductsOptions options = options_;
  options.loss = losses_[index].loss;
  if (flags_.gauss_newton) options.gauss_newton = curvature_.At(index, options.loss);
  return options;
}

absl::StatusOr<WeightedCheckpoint> PotentialDomain::PointAt(size_t index) const {
  WeightedCheckpoint at;
  if (checkpoint_set_->are_models()) {
    ASSIGN_OR_RETURN(const Potential model, ReadPotential(checkpoint_set_->paths[index]));
    at.parameters = ConvertTensor(model.parameters, options_.precision);
  } else {
    ASSIGN_OR_RETURN(at, ReadWeightedCheckpoint(*checkpoint_set_, index, slices_, options_.precision, flags_.adam));
  }
  at.loss_weight = losses_[index].weights;
  return at;
}

absl::StatusOr<Potential> PotentialDomain::PotentialAt(size_t index) const {
  if (checkpoint_set_->are_models()) return potential_;
  const std::string& path = checkpoint_set_->paths[index];
  ASSIGN_OR_RETURN(const ModelFrame frame, ReadCheckpointFrame(path));
  if (frame.empty()) return potential_;  // of a version that wrote scales to model files alone
  absl::StatusOr<Potential> potential = PotentialOfFrame(frame);
  if (!potential.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", potential.status().message()));
  if (potential->repulsion != potential_.repulsion) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": of another model: its repulsion (--zbl) is not that of the model file"));
  }
  if (potential->descriptor == potential_.descriptor) return potential;
  return absl::InvalidArgumentError(absl::StrCat(path, ": of another model: its descriptor is ",
                                                 potential->descriptor.ToJson(), ", that of the model file ",
                                                 potential_.descriptor.ToJson()));
}

// Returns the directory of the run: of a checkpoint's, or the one that holds the model.
std::string PotentialDomain::RunDirectory() const {
  if (checkpoint_set_ == nullptr) return "";
  const std::string& first = checkpoint_set_->paths[0];
  if (!checkpoint_set_->are_models()) return RunDirectoryOf(first);
  const size_t slash = first.rfind('/');
  return slash == std::string::npos ? "." : first.substr(0, slash);
}

// Selects the structures that trained: those that the run recorded, if they are in the data.
absl::Status PotentialDomain::ChooseExamples() {
  std::string path = FLAGS_train_frames;
  const std::string directory = RunDirectory();
  if (path == "auto") {
    path = directory.empty() ? "" : directory + "/train_frames.txt";
    if (path.empty() || !FileExists(path)) {
      if (checkpoint_set_ != nullptr) {
        PrintWarning(absl::StrCat("all ", train_.num_structures(), " structures of --train count as trained on: ",
                                  path.empty() ? "no run is known" : absl::StrCat("there is no ", path),
                                  "; --train_frames says which"));
      }
      path = "all";
    }
  }
  if (path == "all") {
    for (int64_t s = 0; s < train_.num_structures(); ++s) examples_.push_back(s);
  } else {
    ASSIGN_OR_RETURN(const StructureList list, ReadStructureList(path));
    absl::StatusOr<ListedPlaces> found = PlacesOfListed(list, train_);
    if (!found.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(found.status().message(), ": --train needs the data of the run, or --train_frames=all"));
    }
    if (const std::string moved = DescribeMoved(list, found->moved); !moved.empty()) PrintMessage(moved);
    examples_ = std::move(found->places);
    std::sort(examples_.begin(), examples_.end());
    // Hashes have said already that these are the structures of the list.
    found_by_content_ = FLAGS_train_frames == "auto" && list.has_hashes();
    if (FLAGS_train_frames == "auto" && !list.has_hashes()) {
      RETURN_IF_ERROR(CheckFingerprint(flags_, *checkpoint_set_, train_, examples_, path, directory));
    }
  }
  // A structure counts by the labels that it has; which of them the loss has, its weights say.
  const auto end = std::remove_if(examples_.begin(), examples_.end(), [&](int64_t s) {
    return !train_.has_energy(s) && train_.force(s).empty() && !train_.has_stress(s);
  });
  if (end != examples_.end()) {
    PrintMessage(absl::StrCat(examples_.end() - end,
                              " structures of --train have no energy, forces or stress and are left out"));
    examples_.erase(end, examples_.end());
  }
  if (examples_.empty()) return absl::InvalidArgumentError("--train: no structure with an energy, forces or a stress");
  return absl::OkStatus();
}

absl::Status PotentialDomain::SetLosses() {
  ASSIGN_OR_RETURN(const std::vector<double> given, TermWeightsFromFlags());
  ASSIGN_OR_RETURN(losses_, LossesOfRun(flags_, *checkpoint_set_, given, train_, examples_,
                                        options_.test.quantity == PotentialQuantity::kLoss));
  options_.loss = TermsOfAll(losses_);
  return absl::OkStatus();
}

absl::Status PotentialDomain::CheckData(const ToolRun& run, const std::vector<std::string>& inputs) {
  ASSIGN_OR_RETURN(const Metadata train, OutputMetadata(run, InfluenceSchema().kind, inputs));
  const std::string now = DataSha256(train, inputs);
  data_sha256_ = now;
  ASSIGN_OR_RETURN(const Metadata test, OutputMetadata(run, InfluenceSchema().kind, flags_.test));
  test_sha256_ = DataSha256(test, flags_.test);
  if (checkpoint_set_ == nullptr || now.empty()) return absl::OkStatus();
  return CheckDataOfRun(flags_, *checkpoint_set_, now, train_, found_by_content_ ? RunDirectory() : "");
}

absl::Status PotentialDomain::Start(const ToolRun& run) {
  RETURN_IF_ERROR(ChooseExamples());
  const std::string usual = flags_.gauss_newton || flags_.unrolled ? "energy" : "loss",
                    &merged = flags_.merged_quantity;
  ASSIGN_OR_RETURN(options_.test, TestOptionsFromFlags(merged.empty() ? usual : merged));
  if (checkpoint_set_ == nullptr) {
    if (PotentialQuantityName(options_.test.quantity) != merged) {
      return absl::InvalidArgumentError(absl::StrCat("--test_quantity=", PotentialQuantityName(options_.test.quantity),
                                                     ", but the scores are of ", merged, ": leave it out"));
    }
    if (!flags_.test.empty()) {
      ASSIGN_OR_RETURN(tests_, PotentialTests(test_, options_.test));
    }
    return CheckData(run, flags_.train);
  }
  RETURN_IF_ERROR(SetLosses());
  ASSIGN_OR_RETURN(options_.projection, ProjectionFromFlags(flags_));
  options_.num_threads = ThreadsFromFlags();
  const DType own =
      checkpoint_set_->are_models() ? potential_.parameters.dtype() : checkpoint_set_->checkpoints[0].dtype;
  options_.precision = flags_.unrolled || (flags_.gauss_newton && flags_.precision == Precision::kAuto)
                           ? DType::kF64
                           : CheckpointPrecision(flags_, own);
  RETURN_IF_ERROR(CheckPotentialProductsOptions(options_));
  slices_ = NetworkSlices(potential_.descriptor, potential_.shape);
  for (const CheckpointSummary& checkpoint : checkpoint_set_->checkpoints) {
    RETURN_IF_ERROR(CheckSameParameters(checkpoint, slices_));
    const auto activation = checkpoint.task.find("activation");
    if (activation == checkpoint.task.end() ||
        activation->second == kActivationNames.Name(potential_.shape.activation)) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint.path, ": of another model: its activation is ", activation->second, ", that of ",
                     ModelPath(*checkpoint_set_, flags_), " ", kActivationNames.Name(potential_.shape.activation)));
  }
  if (checkpoint_set_->are_models()) RETURN_IF_ERROR(CheckSameModels(checkpoint_set_->paths, potential_));
  ASSIGN_OR_RETURN(curvature_,
                   PotentialCurvature::Create(flags_, *checkpoint_set_, slices_, options_.loss, train_, examples_));
  RETURN_IF_ERROR(CacheNeighbors());
  if (flags_.has_tests()) {
    ASSIGN_OR_RETURN(tests_, PotentialTests(test_, options_.test));
    RETURN_IF_ERROR(CheckTests());
  }
  return CheckData(run, flags_.train);
}

absl::StatusOr<std::string> PotentialDomain::LeaveOneOutTable(absl::Span<const ProductPart> parts) const {
  RETURN_IF_ERROR(CheckOnePoint("leave-one-out"));
  ASSIGN_OR_RETURN(const WeightedCheckpoint point, PointAt(0));
  ASSIGN_OR_RETURN(const Potential potential, PotentialAt(0));
  const PotentialProductsOptions options = OptionsAt(0);
  ASSIGN_OR_RETURN(const LeaveOneOut found,
                   ComputeLeaveOneOut(potential, train_, point, ColumnsOf(slices_, parts), options));
  PrintMessage(found.notes);
  return LeaveOneOutToTsv(found, train_);
}

absl::Status PotentialDomain::WriteCurvatureFile(absl::Span<const ProductPart> parts, const std::string& path,
                                                 const Metadata& provenance) const {
  RETURN_IF_ERROR(CheckOnePoint("curvature"));
  ASSIGN_OR_RETURN(const WeightedCheckpoint point, PointAt(0));
  ASSIGN_OR_RETURN(const Potential potential, PotentialAt(0));
  HeldOut held_out;
  if (flags_.test.empty()) {
    ASSIGN_OR_RETURN(held_out, ValidationStructures(train_, RunDirectory()));
    // With --train_frames=all those of the validation train, too.
    auto& held = held_out.structures;
    const auto trains = [&](int64_t s) { return std::find(examples_.begin(), examples_.end(), s) != examples_.end(); };
    held.erase(std::remove_if(held.begin(), held.end(), trains), held.end());
  } else {
    ASSIGN_OR_RETURN(held_out, TestStructures(test_, potential_.metadata));
  }
  ASSIGN_OR_RETURN(MadeCurvature made, MakeCurvature(potential, train_, test_, held_out.structures, point,
                                                     ColumnsOf(slices_, parts), OptionsAt(0)));
  std::map<std::string, std::string> metadata = provenance;
  curvature_.Describe(&metadata);
  metadata["train_sha256"] = TrainSha256(examples_);
  RETURN_IF_ERROR(SaveCurvature(path, held_out.source, std::move(metadata), std::move(made)));
  // Models, such as best.safetensors and averages, do not know these, and need them.
  if (!checkpoint_set_->are_models()) {
    PrintMessage(absl::StrCat("the errors of the run count as with --term_weights=", TermWeightsText(losses_[0])));
  }
  return absl::OkStatus();
}

absl::Status PotentialDomain::CheckOnePoint(absl::string_view mode) const {
  if (checkpoint_set_->size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--mode=", mode, " is of one checkpoint or model, and there are ",
                                                 checkpoint_set_->size(), ": give the last"));
}

// The loss of an example without values has no gradient, so all of its scores would be 0.
absl::Status PotentialDomain::CheckTests() const {
  if (options_.test.quantity != PotentialQuantity::kLoss) return absl::OkStatus();
  for (const PotentialTest& test : tests_) {
    const int64_t s = test.structure;
    if (test_.has_energy(s) || (options_.loss.force_weight > 0 && !test_.force(s).empty()) ||
        (options_.loss.stress_weight > 0 && test_.has_stress(s))) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        test_.name(s), ": has nothing that the run learned (energy", options_.loss.force_weight > 0 ? ", forces" : "",
        options_.loss.stress_weight > 0 ? ", stress" : "",
        "), so its loss is of nothing: --test_quantity=energy asks for what is predicted"));
  }
  return absl::OkStatus();
}

// Computes neighbors that are in no file once instead of at each checkpoint, if memory allows.
absl::Status PotentialDomain::CacheNeighbors() {
  const bool forces = options_.loss.force_weight > 0 || options_.loss.stress_weight > 0;
  if (!forces && options_.test.quantity != PotentialQuantity::kAtomForce &&
      options_.test.quantity != PotentialQuantity::kForceComponent) {
    return absl::OkStatus();
  }
  for (AtomicData* data : {&train_, &test_}) {
    if (data->has_pairs()) continue;
    const absl::Status status = data->CacheNeighbors(/*triplets=*/false, "", MemoryLimit() / 4, options_.num_threads);
    if (!absl::IsResourceExhausted(status)) RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<InfluenceDomain>> MakePotentialDomain(const ToolRun& run, const TracinFlags& flags,
                                                                     const CheckpointSet* checkpoint_set,
                                                                     GradientReference reference) {
  RETURN_IF_ERROR(CheckPotentialFlags(flags, checkpoint_set != nullptr));
  const std::string path = checkpoint_set != nullptr ? ModelPath(*checkpoint_set, flags) : flags.model;
  std::optional<Potential> potential;
  if (!path.empty()) {
    ASSIGN_OR_RETURN(potential, ReadPotential(path));
  } else if (checkpoint_set != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(checkpoint_set->paths[0],
                     ": a checkpoint does not hold the descriptor and the scales of its potential, and there is no ",
                     "best.safetensors beside its folder: give --model"));
  }
  if (!potential.has_value()) RETURN_IF_ERROR(CheckKnowDescriptor(flags));
  ASSIGN_OR_RETURN(AtomicDataOptions weights, WeightsOfRun(checkpoint_set));
  RETURN_IF_ERROR(TakeLabelFlagsOfRun(flags, checkpoint_set));
  ASSIGN_OR_RETURN(AtomicData train, ReadData(flags.train, potential, std::move(weights)));
  AtomicData test = train;
  if (!flags.test.empty()) {
    ASSIGN_OR_RETURN(test, ReadData(flags.test, potential, AtomicDataOptions()));
  }
  if (potential.has_value()) RETURN_IF_ERROR(CheckRecordedLabels(*potential, train, test));
  if (!train.from_structures() && !test.from_structures()) {
    RETURN_IF_ERROR(RefuseStructureReaderFlags("on files that were made from structures"));
  } else if (potential.has_value()) {
    StructureReaderOptions reader;
    const std::string taken = TakeRecordedLabels(LabelKeysOf(potential->metadata), &reader);
    if (!taken.empty()) PrintMessage(absl::StrCat("labels of structures are read as the model's were, by ", taken));
  }
  auto domain = std::make_unique<PotentialDomain>(flags, checkpoint_set, potential.value_or(Potential()),
                                                  std::move(train), std::move(test), reference);
  RETURN_IF_ERROR(domain->Start(run));
  return std::unique_ptr<InfluenceDomain>(std::move(domain));
}

}  // namespace rutile
