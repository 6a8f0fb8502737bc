// Options that all tasks that train a potential share: the model, the loss, the work.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/scaling.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The loss of an error e: for kRmse and kMse the square e^2; for kHuber Huber's function, e^2 / 2 up to delta and delta
// (|e| - delta / 2) beyond.
enum class LossKind { kRmse, kMse, kHuber };

// The loss is energy_weight L_E + force_weight L_F + stress_weight L_S. Each L is the mean of the errors' losses over
// the labels of that kind in the batch or, for kRmse, the root of that mean. aenet's (1 - alpha) RMSE_E + alpha RMSE_F
// has energy_weight = 1 - alpha and force_weight = alpha. A kind without labels in the batch adds nothing.
struct LossOptions {
  LossKind kind = LossKind::kRmse;
  double energy_weight = 1;    // for errors of the energy per atom, eV
  double force_weight = 0;     // for errors of a force component, eV/Angstrom
  double stress_weight = 0;    // for errors of a stress component, eV/Angstrom^3
  double energy_delta = 0.01;  // deltas of Huber's function, in the units above
  double force_delta = 0.1;
  double stress_delta = 0.001;
  // Divides L_F by the root of the share of the batch's forces that is sampled, as aenet-python's option of that name
  // does. Despite the name, this makes the estimate biased: the mean over sampled components already estimates the mean
  // over all.
  bool force_scale_unbiased = false;
};

enum class ForceSampleUnit { kStructure, kAtom };

// Which forces of the training set an epoch learns from.
struct ForceSamplingOptions {
  double fraction = 1;  // in (0, 1], of the structures with forces, or of their atoms
  ForceSampleUnit unit = ForceSampleUnit::kStructure;
  int64_t resample_epochs = 1;  // epochs that share a sample; 0 keeps the first sample
  int64_t min_structures = 1;   // the least size of a sample, in structures or atoms
  uint64_t seed = 0;
};

// How much is prepared before the first step. The kernels take batches of any size, and nothing is ever recompiled.
enum class CompilePreset {
  kDefault,         // prepares nothing: memory grows with the largest batch so far
  kReduceOverhead,  // reserves the memory of the largest possible batch: no step allocates, not even the first
  kMaxAutotune      // also times kernel plans on a batch of this run (kernel_tuner.h)
};

struct CompileOptions {
  CompilePreset preset = CompilePreset::kDefault;
  // What the other presets prepare for: the examples in a batch, which with_replacement may repeat.
  int64_t batch_size = 32;
  bool with_replacement = false;
  std::string cache_directory;  // of kernel plans; "" caches none
};

struct AtomisticTaskOptions {
  // ---- the model
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;
  FeatureScalingKind feature_scaling = FeatureScalingKind::kPooled;
  bool scale_energies = true;
  std::map<uint8_t, double> atomic_energies;  // eV; if empty, those of the data, or else fitted
  DType precision = DType::kF32;              // type of parameters and arithmetic: F32 or F64
  // In training, rounds the factors of the networks' products to bfloat16 (bf16-mixed). Parameters are F32.
  bool mixed_precision = false;

  // ---- the loss
  LossOptions loss;
  ForceSamplingOptions force_sampling;

  // ---- the work
  AngularMethod angular = AngularMethod::kMoments;
  // caches the features of all structures where that helps: for energies without forces
  bool cached_features = false;
  int64_t geometry_bytes = 0;  // limit of GeometryCache, for structures whose forces are learned; 0 caches none
  int num_threads = 1;
  int step_threads = 0;  // threads for gradients and errors of energies; 0: num_threads
  int ThreadsOfSteps() const { return step_threads > 0 ? step_threads : num_threads; }
  CompileOptions compile;
};

// Return the values of the flags: rmse, mse, huber; none, pooled, species.
absl::string_view LossKindName(LossKind kind);
absl::string_view FeatureScalingName(FeatureScalingKind kind);

// Returns default, reduce-overhead or max-autotune.
absl::string_view CompilePresetName(CompilePreset preset);
// Parses what CompilePresetName returns. INVALID_ARGUMENT, listing the valid names.
absl::StatusOr<CompilePreset> ParseCompilePreset(absl::string_view name);
// INVALID_ARGUMENT if batch_size is below 1, naming it.
absl::Status CheckCompileOptions(const CompileOptions& options);
// INVALID_ARGUMENT if mixed precision is asked for with fp64 parameters.
absl::Status CheckPrecision(const AtomisticTaskOptions& options);

// Returns the options of model, loss and sampling under the names of their flags, for Task::ResumeConfig.
std::map<std::string, std::string> ResumeConfigOf(const AtomisticTaskOptions& options);
// Parses the loss options from a map that ResumeConfigOf returned, for callers that have a run's options only as text.
// Other keys are ignored, and missing deltas have their defaults. INVALID_ARGUMENT: a missing key of the loss, or a
// value that is not valid for it.
absl::StatusOr<LossOptions> LossOfConfig(const std::map<std::string, std::string>& config);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_
