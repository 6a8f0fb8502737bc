// The flags of train that are an embedding model's own: its kind, its sizes, its loss.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_KGE_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_KGE_FLAGS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/run/flag_settings.h"
#include "tools/train/flags/kge_recipe.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {

// What flags leave open is as in the project that the variant of ConvE comes from, or as the preset has it for the
// other models. Precision and seed are the caller's. Kind, variant and sizes are `initial`'s, where a model is what the
// run starts from, else null. With --kge_model=auto the kind is that of `initial` or of the run that goes on, or ConvE
// where a flag is given that it alone has and in the preset aenet, else ComplEx. INVALID_ARGUMENT naming the flag: a
// value out of range, without effect beside the others, or other than `initial`'s.
// SetKgeRecipeFromFlags comes before.
absl::StatusOr<KgeOptions> KgeOptionsFromFlags(const KgeOptions* initial, Preset preset,
                                               const std::optional<CheckpointSummary>& resumed);

// The kind alone.
absl::StatusOr<KgeModel> KgeModelFromFlags(const KgeOptions* initial, Preset preset,
                                           const std::optional<CheckpointSummary>& resumed);

// True if neither a flag, nor a model or run that this one goes on from, said which kind to learn.
bool ChoseKgeModel(const KgeOptions& model, bool has_initial, const std::optional<CheckpointSummary>& resumed);

// Sets the epochs of a run (default_epochs.h): 200 is the default of all models but ConvE, 50 that of the recipe n3,
// and there is none in the preset aenet.
void SetKgeEpochs(const KgeOptions& model, Preset preset, KgeRecipe recipe,
                  const std::optional<CheckpointSummary>& resumed, TrainerOptions* options);

// --embedding_height, or 0 where it is not given.
int64_t EmbeddingHeightFromFlags();

// on_gpu, in both: KernelGpuFromFlags has found a GPU. Whether each process owns a part of the model (--strategy).
// options: the batch size is known, and the communicator. INVALID_ARGUMENT naming a flag that does not go with it.
absl::StatusOr<bool> ShardsFromFlags(const KgeShape& shape, const TrainerOptions& options, bool on_gpu);
// Whether norms see the batch of all processes (--sync_batchnorm). INVALID_ARGUMENT where that means nothing.
absl::StatusOr<bool> SyncNormsFromFlags(const KgeOptions& model, const TrainerOptions& options, bool on_gpu);

// Batch size, learning rate and what is monitored where the flags leave them open. INVALID_ARGUMENT for what the model
// cannot be trained with.
absl::Status SetKgeTrainerDefaults(const KgeOptions& model, KgeRecipe recipe, bool has_validation,
                                   TrainerOptions* options);

// Returns how many validation and test triples are ranked, 0 for all, and records it, because it decides which model is
// the best. INVALID_ARGUMENT: below 0.
absl::StatusOr<int64_t> RankSampleFromFlag(TrainerOptions* options);

// What the flags mean in this run where they leave it open.
void ResolveKgeFlags(const KgeOptions& model, KgeRecipe recipe, const TrainerOptions& options, FlagSettings* settings);

// INVALID_ARGUMENT for a flag of embeddings that was given, on the data of potentials, and the reverse.
absl::Status RefuseKgeFlags();
absl::Status RefusePotentialFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_KGE_FLAGS_H_
