#include "tools/evaluate/selection.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/decimal.h"
#include "lib/base/enum_names.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/machine/memory.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/model/mace_potential.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/prediction/predict_inputs.h"
#include "lib/structure/extxyz/extxyz_writer.h"
#include "tools/common/flags/structure_flags.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/own_labels.h"

DEFINE_int64(select, 0,
             "Choose so many structures to compute next, which need no labels, and write them to --select_output. 0: "
             "none.");
DEFINE_string(select_by, "uncertainty",
              "uncertainty: those that lower the uncertainty of all energies most (needs --uncertainty); spread: the "
              "largest spread of a committee; outside: the most atoms outside the training range; farthest: the "
              "farthest from each other and from the training set in mean features.");
DEFINE_string(select_for, "",
              "With --select_by=uncertainty: files, with commas between, with the structures whose energies are to "
              "become more certain. Empty: the structures to choose from.");
DEFINE_string(select_output, "", "Extended XYZ file for the structures that --select chooses, the best first.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr absl::string_view kRuleWords[] = {"uncertainty", "spread", "outside", "farthest"};
constexpr EnumNames<SelectionRule> kRuleNames("structures cannot be chosen by", kRuleWords);

// Returns the rows divided by the numbers of atoms: those of energies per atom.
std::vector<double> PerAtom(std::vector<double> row, int64_t atoms) {
  for (double& each : row) each /= static_cast<double>(atoms);
  return row;
}

double LargestSpread(const StructurePrediction& p) {
  if (p.force_spread.empty()) return p.energy_spread.value_or(0) / static_cast<double>(p.num_atoms);
  return *std::max_element(p.force_spread.begin(), p.force_spread.end());
}

// Returns the structure's labels under the names by which they were read or, where a file has no names, those that the
// model learned from: flags that read the pool also read what is chosen from it. A virial has become a stress.
ExtxyzLabels LabelsAsRead(const Structure& structure, const StructureReaderOptions& reader) {
  const auto first = [](const std::string& key, const std::string& recorded, absl::string_view usual) {
    return !key.empty() ? absl::string_view(key) : !recorded.empty() ? absl::string_view(recorded) : usual;
  };
  const LabelNames& recorded = reader.recorded;
  ExtxyzLabels labels;
  if (structure.energy.has_value()) {
    const absl::string_view name = first(structure.energy_key, recorded.energy, "energy");
    labels.values.push_back({name, absl::MakeConstSpan(&*structure.energy, 1)});
  }
  if (structure.stress.has_value()) {
    static const std::string kNone;  // the labels refer to the name that is chosen
    // The name of a stress is not kept: that of the run goes with energies and forces of the run.
    const bool of_run = (structure.energy_key.empty() || structure.energy_key == recorded.energy) &&
                        (structure.force_key.empty() || structure.force_key == recorded.force);
    labels.values.push_back({first(reader.stress_key, of_run ? recorded.stress : kNone, "stress"), *structure.stress});
  }
  if (!structure.force.empty()) {
    labels.columns.push_back({first(structure.force_key, recorded.force, "forces"), 'R', 3, structure.force});
  }
  return labels;
}

double ShareOutside(const StructurePrediction& p) {
  return static_cast<double>(p.atoms_outside.value_or(0)) / static_cast<double>(p.num_atoms);
}

}  // namespace

Selection::Selection(const Models& models, Uncertainty* uncertainty) : models_(models), uncertainty_(uncertainty) {}

absl::StatusOr<std::unique_ptr<Selection>> Selection::FromFlags(const Models& models,
                                                                absl::Span<const std::string> inputs,
                                                                Uncertainty* uncertainty) {
  if (FLAGS_select < 0) {
    return absl::InvalidArgumentError(absl::StrCat("--select=", FLAGS_select, ": expected 1 or more, or 0 for none"));
  }
  if (FLAGS_select == 0) {
    RETURN_IF_ERROR(RefuseFlags("without --select", {"select_by", "select_for", "select_output"}));
    return nullptr;
  }
  if (FLAGS_select_output.empty() || FLAGS_select_output == "-") {
    return absl::InvalidArgumentError("--select needs --select_output: the file for the structures that are chosen");
  }
  for (const std::string& input : inputs) {
    std::error_code error;
    if (input != "-" && std::filesystem::is_regular_file(input, error)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--select reads structures twice, and ",
                                                   input == "-" ? "standard input" : input,
                                                   " can be read only once: name a file"));
  }
  auto selection = absl::WrapUnique(new Selection(models, uncertainty));
  ASSIGN_OR_RETURN(const SelectionRule rule, ParseFlagChoice("select_by", FLAGS_select_by, kRuleNames));
  selection->rule_ = rule;
  if (rule != SelectionRule::kUncertainty) {
    RETURN_IF_ERROR(RefuseFlags(absl::StrCat("with --select_by=", FLAGS_select_by), {"select_for"}));
  }
  switch (rule) {
    case SelectionRule::kUncertainty:
      if (uncertainty == nullptr) {
        return absl::InvalidArgumentError(
            "--select_by=uncertainty needs --uncertainty: a file of tracin --mode=curvature");
      }
      if (!(uncertainty->curvature().energy_curvature > 0)) {
        return absl::InvalidArgumentError(absl::StrCat(
            uncertainty->path(), ": the model learned no energies, by which --select_by=uncertainty chooses"));
      }
      if (!FLAGS_select_for.empty()) {
        ASSIGN_OR_RETURN(selection->targets_, ExpandInputs(SplitInputs(FLAGS_select_for)));
      }
      break;
    case SelectionRule::kSpread:
      if (models.potentials.size() > 1) break;
      return absl::InvalidArgumentError("--select_by=spread needs a committee: MODEL,MODEL");
    case SelectionRule::kOutside:
      if (std::any_of(models.potentials.begin(), models.potentials.end(),
                      [](const Potential& p) { return !p.feature_range.min.empty(); })) {
        break;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("--select_by=outside: ", models.names[0], " does not store the range of its training features"));
    case SelectionRule::kFarthest:
      RETURN_IF_ERROR(RefuseMace(models.potentials[0], models.names[0], "--select_by=farthest"));
      selection->formulas_ = std::make_unique<GradientFormulas>(models.potentials[0], LossOptions(), TermWeights(),
                                                                AngularMethod::kMoments);
      if (!models.potentials[0].descriptor.is_chebyshev()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--select_by=farthest: ", models.names[0],
                         " is a many-body potential, whose features turn with the structure, so that distances between "
                         "them say nothing: choose by uncertainty or spread"));
      }
      for (int t = 0; t < ThreadsFromFlags(); ++t) {
        selection->features_.push_back(std::make_unique<GradientRows>(*selection->formulas_));
      }
      break;
  }
  return selection;
}

void Selection::AddGeometry(int thread, int64_t number, const StructureGeometry& geometry, int64_t num_atoms,
                            const std::vector<double>& energy_row) {
  std::vector<double> row;
  if (rule_ == SelectionRule::kUncertainty) {
    row = PerAtom(energy_row, num_atoms);
  } else {
    row.resize(formulas_->mean.size());
    features_[thread]->PredictGeometry(geometry, /*forces=*/false);
    features_[thread]->MeanInputs(absl::MakeSpan(row));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  rows_[number] = std::move(row);
}

std::vector<double> Selection::RowsInOrder() const {
  std::vector<double> rows;
  for (const int64_t number : numbers_) {
    const std::vector<double>& row = rows_.at(number);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

absl::StatusOr<std::vector<Choice>> Selection::ByUncertainty() const {
  const int64_t size = uncertainty_->curvature().size();
  std::vector<double> targets;
  if (!targets_.empty()) {
    PredictOptions of_targets;
    ASSIGN_OR_RETURN(of_targets.reader, ReaderOptionsFor(models_));
    of_targets.num_threads = ThreadsFromFlags();
    of_targets.forces = false;
    std::map<int64_t, std::vector<double>> rows;
    std::mutex mutex;
    of_targets.on_geometry = [&](int thread, int64_t number, const StructureGeometry& geometry,
                                 StructurePrediction* prediction) {
      std::vector<double> row;
      uncertainty_->Add(thread, geometry, prediction, &row);
      const std::lock_guard<std::mutex> lock(mutex);
      rows[number] = PerAtom(std::move(row), prediction->num_atoms);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(PredictInputs(models_.potentials, targets_, of_targets).status());
    for (const auto& [number, row] : rows) targets.insert(targets.end(), row.begin(), row.end());
  }
  const std::vector<double> candidates = RowsInOrder();
  const double scale = uncertainty_->curvature().energy_scale;
  ThreadPool pool(ThreadsFromFlags());
  ASSIGN_OR_RETURN(std::vector<Choice> choices,
                   ChooseByVariance(size, candidates, targets, 1 / uncertainty_->curvature().energy_curvature,
                                    FLAGS_select, MemoryLimit() / 2, &pool));
  const std::vector<double>& of = targets_.empty() ? candidates : targets;
  double before = 0, fall = 0;
  for (const double each : of) before += scale * scale * each * each;
  for (Choice& choice : choices) {
    choice.score *= scale * scale;
    fall += choice.score;
  }
  const auto n = static_cast<double>(of.size()) / static_cast<double>(size);
  PrintMessage(absl::StrFormat(
      "uncertainty of the energies of %d structures in the root mean square: %.4g meV/atom, and %.4g with the energies "
      "of those that are chosen",
      static_cast<int64_t>(n), 1000 * std::sqrt(before / n), 1000 * std::sqrt(std::max(0.0, before - fall) / n)));
  return choices;
}

absl::StatusOr<std::vector<Choice>> Selection::Choose(absl::Span<const StructurePrediction> predictions) const {
  const auto n = static_cast<int64_t>(predictions.size());
  if (FLAGS_select > n) {
    return absl::InvalidArgumentError(
        absl::StrCat("--select=", FLAGS_select, ": there are ", n, " structures to choose from"));
  }
  std::vector<double> scores;
  switch (rule_) {
    case SelectionRule::kUncertainty:
      return ByUncertainty();
    case SelectionRule::kFarthest:
      return ChooseFarthest(static_cast<int64_t>(formulas_->mean.size()), RowsInOrder(), FLAGS_select);
    case SelectionRule::kSpread:
      for (const StructurePrediction& p : predictions) scores.push_back(LargestSpread(p));
      break;
    case SelectionRule::kOutside:
      for (const StructurePrediction& p : predictions) scores.push_back(ShareOutside(p));
      break;
  }
  return ChooseLargest(scores, FLAGS_select);
}

absl::Status Selection::Write(absl::Span<const std::string> inputs,
                              absl::Span<const StructurePrediction> predictions) const {
  ASSIGN_OR_RETURN(const std::vector<Choice> choices, Choose(predictions));
  const auto count = static_cast<int64_t>(choices.size());
  if (count < FLAGS_select) {
    PrintMessage(absl::StrCat("--select=", FLAGS_select, ": only ", count, " structures have a ",
                              rule_ == SelectionRule::kOutside ? "share of atoms outside the training range" : "spread",
                              " above 0"));
  }
  PredictOptions again;
  ASSIGN_OR_RETURN(again.reader, ReaderOptionsFor(models_));
  again.reader.on_warning = nullptr;  // they were given when the structures were read first
  again.num_threads = ThreadsFromFlags();
  again.forces = false;
  again.frames.emplace();
  std::map<int64_t, int64_t> place;  // in the order of choice
  for (const Choice& choice : choices) {
    place[numbers_[choice.index]] = static_cast<int64_t>(place.size());
    again.frames->push_back(numbers_[choice.index]);
  }
  const std::vector<bool> are_own = LabelsThatArePredictions(predictions);
  int64_t num_own = 0;
  std::vector<std::string> frames(choices.size());
  again.on_prediction = [&](const PredictedStructure& p) {
    const int64_t k = place.at(p.number);
    Structure structure = p.structure;
    // Uncertainties of an earlier evaluate are of another model.
    structure.info.erase("energy_spread");
    structure.info.erase("energy_std");
    structure.info["select_rank"] = absl::StrCat(k + 1);
    structure.info["select_score"] = ShortestDecimal(choices[k].score);
    structure.info["structure_number"] = absl::StrCat(p.number);
    structure.info["structure_name"] = p.structure.name;
    const bool is_own = are_own[choices[k].index];
    num_own += is_own;
    AppendExtxyz(structure, is_own ? ExtxyzLabels() : LabelsAsRead(structure, again.reader), &frames[k]);
    return absl::OkStatus();
  };
  if (count > 0) RETURN_IF_ERROR(PredictInputs(models_.potentials, inputs, again).status());
  std::string text;
  for (const std::string& frame : frames) text += frame;
  RETURN_IF_ERROR(WriteFileAtomically(FLAGS_select_output, text));
  PrintMessage(absl::StrCat("wrote ", FLAGS_select_output, ": ", count, " of ", predictions.size(), " structures by ",
                            kRuleNames.Name(rule_)));
  if (num_own > 0) {
    PrintMessage(absl::StrCat("the labels of ", num_own, " of them are the model's own predictions and were left out"));
  }
  return absl::OkStatus();
}

void AddHooks(Uncertainty* uncertainty, Selection* selection, PredictionHooks* hooks) {
  const bool keeps = selection != nullptr && selection->needs_geometry();
  if (uncertainty != nullptr || keeps) {
    hooks->on_geometry = [=](int thread, int64_t number, const StructureGeometry& geometry, StructurePrediction* p) {
      std::vector<double> row;
      if (uncertainty != nullptr) uncertainty->Add(thread, geometry, p, keeps ? &row : nullptr);
      if (keeps) selection->AddGeometry(thread, number, geometry, p->num_atoms, row);
      return absl::OkStatus();
    };
  }
  if (selection == nullptr) return;
  hooks->on_prediction = [selection, next = std::move(hooks->on_prediction)](const PredictedStructure& p) {
    selection->AddNumber(p.number);
    return next ? next(p) : absl::OkStatus();
  };
}

}  // namespace rutile
