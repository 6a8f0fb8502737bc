// What a potential is trained for, and how: shared by all tasks that train one.

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

// Of an error e: e^2, or Huber's function of it, e^2 / 2 up to delta and delta (|e| - delta / 2) beyond.
enum class LossKind { kRmse, kMse, kHuber };

// loss = energy_weight L_E + force_weight L_F + stress_weight L_S, each L the mean of the errors' losses over what the
// batch has of it, or for kRmse the root of that mean. aenet's (1 - alpha) RMSE_E + alpha RMSE_F is energy_weight =
// 1 - alpha, force_weight = alpha. What a batch has nothing of adds nothing.
struct LossOptions {
  LossKind kind = LossKind::kRmse;
  double energy_weight = 1;    // of the energy per atom, eV
  double force_weight = 0;     // of a force component, eV/Angstrom
  double stress_weight = 0;    // of a component of the stress, eV/Angstrom^3
  double energy_delta = 0.01;  // Huber's, in the units above
  double force_delta = 0.1;
  double stress_delta = 0.001;
  // Divides L_F by the root of the share of the batch's forces that is sampled, as aenet-python's option of that name
  // does. The mean over sampled components already estimates the mean over all: this one does not.
  bool force_scale_unbiased = false;
};

enum class ForceSampleUnit { kStructure, kAtom };

// Which forces of the training set an epoch learns from.
struct ForceSamplingOptions {
  double fraction = 1;  // (0, 1] of the structures with forces, or of their atoms
  ForceSampleUnit unit = ForceSampleUnit::kStructure;
  int64_t resample_epochs = 1;  // a new sample every so many epochs; 0: the first one stays
  int64_t min_structures = 1;   // at least so many (structures or atoms) in the sample
  uint64_t seed = 0;
};

// How much is prepared before the first step. The kernels take batches of any size, and nothing is ever compiled again.
enum class CompilePreset {
  kDefault,         // nothing: memory grows with the largest batch seen
  kReduceOverhead,  // the memory of the largest batch there can be: no step allocates, the first neither
  kMaxAutotune      // that, and kernel plans are timed on a batch of the run's own (kernel_tuner.h)
};

struct CompileOptions {
  CompilePreset preset = CompilePreset::kDefault;
  // What the others prepare for: examples in a batch, which may hold the same one several times.
  int64_t batch_size = 32;
  bool with_replacement = false;
  std::string cache_directory;  // of kernel plans; "": none is kept
};

struct AtomisticTaskOptions {
  // ---- the model
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;
  FeatureScalingKind feature_scaling = FeatureScalingKind::kPooled;
  bool scale_energies = true;
  std::map<uint8_t, double> atomic_energies;  // eV; empty: those of the data, else fitted
  DType precision = DType::kF32;              // of parameters and arithmetic: F32 or F64
  // bf16-mixed: while training, factors of the networks' products are rounded to bfloat16. Parameters are F32.
  bool mixed_precision = false;

  // ---- the loss
  LossOptions loss;
  ForceSamplingOptions force_sampling;

  // ---- the work
  AngularMethod angular = AngularMethod::kMoments;
  bool cached_features = false;  // keep the features of all structures where they serve: energies without forces
  int64_t geometry_bytes = 0;    // most memory for GeometryCache, of structures that are learned with forces; 0: none
  int num_threads = 1;
  int step_threads = 0;  // of gradients and errors of energies; 0: num_threads
  int ThreadsOfSteps() const { return step_threads > 0 ? step_threads : num_threads; }
  CompileOptions compile;
};

// As flags say them: rmse, mse, huber; none, pooled, species.
absl::string_view LossKindName(LossKind kind);
absl::string_view FeatureScalingName(FeatureScalingKind kind);

// default, reduce-overhead, max-autotune.
absl::string_view CompilePresetName(CompilePreset preset);
// INVALID_ARGUMENT with the names there are.
absl::StatusOr<CompilePreset> ParseCompilePreset(absl::string_view name);
// INVALID_ARGUMENT naming batch_size below 1.
absl::Status CheckCompileOptions(const CompileOptions& options);
// INVALID_ARGUMENT: mixed precision of fp64 parameters.
absl::Status CheckPrecision(const AtomisticTaskOptions& options);

// The options of the model, the loss and the sampling by the names of their flags: what Task::Course says.
std::map<std::string, std::string> ResumeConfigOf(const AtomisticTaskOptions& options);
// The loss of what ResumeConfigOf said, for those who have a run's options as text alone. Other keys are ignored,
// deltas that are not said are defaults. INVALID_ARGUMENT: a key of the loss that is missing, or text that is none of
// its values.
absl::StatusOr<LossOptions> LossOfConfig(const std::map<std::string, std::string>& config);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_
