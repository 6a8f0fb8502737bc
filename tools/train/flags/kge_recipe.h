// --kge_recipe: which defaults the other flags have on triples, by the size of the graph.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_KGE_RECIPE_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_KGE_RECIPE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/kge/model/kge_options.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {

enum class KgeRecipe {
  kAuto,   // the flag's word for a choice; no run has it
  kPlain,  // the defaults that the help of each flag states
  kN3      // Adagrad and N3 without dropout, in large batches of grouped queries (docs/recipes-kge.md)
};

inline constexpr absl::string_view kKgeRecipeWords[] = {"auto", "plain", "n3"};
inline constexpr EnumNames<KgeRecipe> kKgeRecipeNames("no recipe for triples", kKgeRecipeWords);

// What a choice goes by. initial: the options of the model that the run starts from, or null.
struct KgeRecipeBasis {
  KgeModel model = KgeModel::kComplEx;
  Preset preset = Preset::kDefault;
  int64_t num_triples = 0, num_entities = 0;  // of training; triples of weight above 0
  const KgeOptions* initial = nullptr;
};

struct KgeRecipeChoice {
  KgeRecipe recipe = KgeRecipe::kPlain;
  std::string message;  // what was chosen for a large graph, and why; "" where there was no choice
};

// Training triples from which a new run that is told nothing has kN3. Below, kPlain did better on three of five graphs
// of 1,592 to 8,544 triples, by up to 0.15 of MRR. From here on kN3 did, or came within 0.01 in a fraction of the time,
// unless the graph is dense (docs/recipes-kge.md, "The defaults by size").
inline constexpr int64_t kTriplesForN3 = 12000;
// Graphs of fewer entities than kFewEntities with kDenseTriples or more training triples for each are dense: kPlain did
// better on all that were measured, of 14 to 997 entities, and takes minutes at most.
inline constexpr int64_t kFewEntities = 1000, kDenseTriples = 25;

// Chooses the recipe, and makes its values the defaults of the flags that were not given: to be called before flags are
// read into options. A run that goes on has the recipe that it began with, and one that starts from a model kPlain.
// INVALID_ARGUMENT for another word, and for n3 where it does not go with the model, the preset or the loss.
absl::StatusOr<KgeRecipeChoice> SetKgeRecipeFromFlags(const KgeRecipeBasis& basis,
                                                      const std::optional<CheckpointSummary>& resumed);

// For a run that goes on. What nobody has recorded is kPlain.
void RecordKgeRecipe(KgeRecipe recipe, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_KGE_RECIPE_H_
