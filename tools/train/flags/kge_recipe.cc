#include "tools/train/flags/kge_recipe.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/decimal.h"
#include "lib/base/logging.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_options.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/given_flags.h"

DECLARE_string(kge_recipe);

namespace rutile {
namespace {

constexpr char kRecipe[] = "kge_recipe";

// A rate below this was meant for Adam: Adagrad at a hundredth of the recipe's rate hardly learns.
constexpr double kLeastAdagradRate = 0.02;

std::string Value(const char* flag) {
  std::string value;
  CHECK(gflags::GetCommandLineOption(flag, &value)) << "no flag " << flag;
  return value;
}

std::string Written(const char* flag) {
  return absl::StrCat("--", flag, "=", FlagText(gflags::GetCommandLineFlagInfoOrDie(flag).type, Value(flag)));
}

// The models whose N3 has been published, and those that are parts of these. Rows of the others mean something else.
bool HasN3Recipe(KgeModel model) {
  return model == KgeModel::kComplEx || model == KgeModel::kDistMult || model == KgeModel::kCp ||
         model == KgeModel::kSimple;
}

bool IsAdagrad(const std::string& name) {
  const absl::StatusOr<OptimizerKind> kind = kOptimizerNames.Parse(name);
  return kind.ok() && (*kind == OptimizerKind::kAdagrad || *kind == OptimizerKind::kRowwiseAdagrad);
}

bool IsOneVsAll() {
  const absl::StatusOr<KgeLoss> loss = kKgeLossNames.Parse(Value("kge_loss"));
  return !FlagGiven("kge_loss") || (loss.ok() && *loss == KgeLoss::kOneVsAll);
}

// Returns the flag that was given and is not of the recipe: what else to learn by is then the user's choice, too.
std::string FlagAgainstN3() {
  if (!IsOneVsAll()) return Written("kge_loss");
  if (FlagGiven("optimizer") && !IsAdagrad(Value("optimizer"))) return Written("optimizer");
  const OptimizerOptions adagrad = DefaultOptimizerOptions(OptimizerKind::kAdagrad);
  if (!FlagGiven("optimizer")) {
    for (const Setting<OptimizerOptions>& row : OptimizerSettings()) {
      if (row.derived == nullptr && !row.HasEffect(adagrad) && FlagGiven(row.name)) return Written(row.name);
    }
  }
  double rate = 0;
  if (FlagGiven("learning_rate") && !FlagGiven("optimizer") && absl::SimpleAtod(Value("learning_rate"), &rate) &&
      rate < kLeastAdagradRate) {
    return Written("learning_rate");
  }
  if (FlagGiven("regularizer") && Value("regularizer") != kKgeRegularizerNames.Name(KgeRegularizer::kN3)) {
    return Written("regularizer");
  }
  for (const char* dropout : {"input_dropout", "entity_dropout", "relation_dropout", "candidate_dropout"}) {
    if (FlagGiven(dropout) && (!absl::SimpleAtod(Value(dropout), &rate) || rate != 0)) return Written(dropout);
  }
  return "";
}

absl::Status CheckN3(const KgeRecipeBasis& basis) {
  if (!HasN3Recipe(basis.model)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--kge_recipe=n3 is for complex, distmult, cp and simple, and the "
                     "model is ",
                     kKgeModelNames.Name(basis.model), ": leave it out"));
  }
  if (basis.preset == Preset::kAenet) {
    return absl::InvalidArgumentError(
        "--kge_recipe=n3: --preset=aenet has other defaults for the same flags; give one of them");
  }
  if (IsOneVsAll()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--kge_recipe=n3 learns by 1vsAll, and ", Written("kge_loss"), " is given: leave one of them out"));
}

KgeRecipe RecordedRecipe(const CheckpointSummary& checkpoint) {
  const auto recorded = checkpoint.task.find(kRecipe);
  return recorded != checkpoint.task.end() && recorded->second == kKgeRecipeNames.Name(KgeRecipe::kN3)
             ? KgeRecipe::kN3
             : KgeRecipe::kPlain;
}

KgeRecipeChoice ChooseBySize(const KgeRecipeBasis& basis) {
  KgeRecipeChoice choice;
  const bool is_dense = basis.num_entities < kFewEntities && basis.num_triples >= kDenseTriples * basis.num_entities;
  if (basis.num_triples < kTriplesForN3 || is_dense) return choice;
  if (!HasN3Recipe(basis.model) || basis.preset == Preset::kAenet) return choice;
  const std::string flag = FlagAgainstN3();
  if (!flag.empty()) {
    choice.message = absl::StrCat("of ", basis.num_triples, " training triples --kge_recipe=n3 learns more, in less ",
                                  "time; as ", flag, " is given, the other flags have their plain defaults");
    return choice;
  }
  choice.recipe = KgeRecipe::kN3;
  choice.message =
      absl::StrCat("learns by Adagrad with N3, without dropout, in batches of grouped queries, as there are ",
                   basis.num_triples, " training triples: --kge_recipe=plain has the defaults of smaller graphs");
  return choice;
}

// A model that others go on from is not learned by other means without being asked: Adagrad begins with steps of its
// whole rate, which would undo much of it.
KgeRecipeChoice ChooseByModel(const KgeRecipeBasis& basis) {
  KgeRecipeChoice choice;
  if (basis.initial->regularizer != KgeRegularizer::kN3 || FlagGiven("regularizer") || !HasN3Recipe(basis.model)) {
    return choice;
  }
  choice.message =
      "the model of --init_from was learned with N3, and this run has the plain defaults: --kge_recipe=n3 "
      "goes on with N3 and Adagrad";
  return choice;
}

// The weight of N3 that the run, or the model that it starts from, was learned with; else the recipe's.
std::string Regularization(const KgeOptions* initial, const std::optional<CheckpointSummary>& resumed) {
  if (resumed.has_value()) {
    const auto recorded = resumed->task.find("regularization");
    if (recorded != resumed->task.end()) return recorded->second;
  } else if (initial != nullptr && initial->regularizer == KgeRegularizer::kN3) {
    return ExactDecimal(initial->regularization);
  }
  return "0.05";
}

void SetDefault(const char* flag, const std::string& value) {
  if (FlagGiven(flag)) return;
  const std::string done = gflags::SetCommandLineOptionWithMode(flag, value.c_str(), gflags::SET_FLAGS_DEFAULT);
  CHECK(!done.empty()) << "--" << flag << "=" << value;
}

// regularization: as text.
void SetN3Defaults(const std::string& regularization) {
  SetDefault("kge_loss", std::string(kKgeLossNames.Name(KgeLoss::kOneVsAll)));
  SetDefault("group_queries", "true");
  SetDefault("regularizer", std::string(kKgeRegularizerNames.Name(KgeRegularizer::kN3)));
  SetDefault("regularization", regularization);
  SetDefault("input_dropout", "0");
  SetDefault("init", "normal:0.001");
  SetDefault("optimizer", std::string(kOptimizerNames.Name(OptimizerKind::kAdagrad)));
  if (IsAdagrad(Value("optimizer"))) SetDefault("learning_rate", "0.1");
  SetDefault("batch_size", "1000");
}

}  // namespace

absl::StatusOr<KgeRecipeChoice> SetKgeRecipeFromFlags(const KgeRecipeBasis& basis,
                                                      const std::optional<CheckpointSummary>& resumed) {
  KgeRecipeChoice choice;
  ASSIGN_OR_RETURN(choice.recipe, ParseFlagChoice(kRecipe, FLAGS_kge_recipe, kKgeRecipeNames));
  if (choice.recipe == KgeRecipe::kN3) RETURN_IF_ERROR(CheckN3(basis));
  if (choice.recipe == KgeRecipe::kAuto) {
    if (resumed.has_value()) {
      choice.recipe = RecordedRecipe(*resumed);
    } else if (basis.initial != nullptr) {
      choice = ChooseByModel(basis);
    } else {
      choice = ChooseBySize(basis);
    }
  }
  if (choice.recipe == KgeRecipe::kN3) SetN3Defaults(Regularization(basis.initial, resumed));
  return choice;
}

void RecordKgeRecipe(KgeRecipe recipe, TrainerOptions* options) {
  if (recipe == KgeRecipe::kN3) options->config[kRecipe] = std::string(kKgeRecipeNames.Name(recipe));
}

}  // namespace rutile
