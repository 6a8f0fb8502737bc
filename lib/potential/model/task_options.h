// Options that all tasks that train a potential share: the model, the loss, the work.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/base/settings.h"
#include "lib/descriptor/chebyshev_options.h"
#include "lib/network/network_shape.h"
#include "lib/potential/model/labels/scaling.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The loss of an error e: for kRmse and kMse the square e^2; for kHuber Huber's function, e^2 / 2 up to delta and delta
// (|e| - delta / 2) beyond.
enum class LossKind { kRmse, kMse, kHuber };

inline constexpr absl::string_view kLossWords[] = {"rmse", "mse", "huber"};
inline constexpr EnumNames<LossKind> kLossNames("no loss of potentials", kLossWords);

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

// One row for each loss option: its flag, range, what decides about it, its name in configs.
absl::Span<const Setting<LossOptions>> LossSettings();
// INVALID_ARGUMENT naming an option out of its range, or weights that are all 0.
absl::Status CheckLossOptions(const LossOptions& options);

enum class ForceSampleUnit { kStructure, kAtom };

inline constexpr absl::string_view kForceSampleUnitWords[] = {"structure", "atom"};
inline constexpr EnumNames<ForceSampleUnit> kForceSampleUnitNames("no unit of force_fraction", kForceSampleUnitWords);

// Which forces of the training set an epoch learns from.
struct ForceSamplingOptions {
  double fraction = 1;  // in (0, 1], of the structures with forces, or of their atoms
  ForceSampleUnit unit = ForceSampleUnit::kStructure;
  int64_t resample_epochs = 1;  // epochs that share a sample; 0 keeps the first sample
  int64_t min_structures = 1;   // the least size of a sample, in structures or atoms
  uint64_t seed = 0;
};

// One row for each option but the seed, as LossSettings has. Two rows say how long a sample stays: "force_sampling",
// which knows random and fixed alone, comes after the number of epochs and has the last word.
absl::Span<const Setting<ForceSamplingOptions>> ForceSamplingSettings();

// How much is prepared before the first step. The kernels take batches of any size, and nothing is ever recompiled.
enum class CompilePreset {
  kDefault,         // prepares nothing: memory grows with the largest batch so far
  kReduceOverhead,  // reserves the memory of the largest possible batch: no step allocates, not even the first
  kMaxAutotune      // also times kernel plans on a batch of this run (kernel_tuner.h)
};

inline constexpr absl::string_view kCompilePresetWords[] = {"default", "reduce-overhead", "max-autotune"};
inline constexpr EnumNames<CompilePreset> kCompilePresetNames("no preset", kCompilePresetWords);

struct CompileOptions {
  CompilePreset preset = CompilePreset::kDefault;
  // What the other presets prepare for: the examples in a batch, which with_replacement may repeat.
  int64_t batch_size = 32;
  bool with_replacement = false;
  std::string cache_directory;  // of kernel plans; "" caches none
};

// One row for the preset and one for the directory. The batches are the trainer's.
absl::Span<const Setting<CompileOptions>> CompileSettings();
// INVALID_ARGUMENT if batch_size is below 1, naming it.
absl::Status CheckCompileOptions(const CompileOptions& options);

struct AtomisticTaskOptions {
  // ---- the model
  int channels = 0;         // of a many-body potential, for data whose descriptor is of moments; others have none
  int messages = 0;         // of its second layer; 0: one layer
  int vector_messages = 0;  // vectors besides, at most as many as messages
  std::vector<int> hidden = {15, 15};
  Activation activation = Activation::kTanh;
  FeatureScalingKind feature_scaling = FeatureScalingKind::kPooled;
  bool scale_energies = true;
  ZblOptions zbl;  // the repulsion that is subtracted from the labels, and added to predictions
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
  // Energies learned from files of features: the most that a scaled copy of all features may take. If it is more, they
  // are scaled batch by batch, with the same bits.
  int64_t standardized_bytes = std::numeric_limits<int64_t>::max();
  // Energies: the atoms of a batch whose values are in memory at a time.
  int64_t atoms_together = int64_t{1} << 15;
  int64_t geometry_bytes = 0;  // limit of GeometryCache, for structures whose forces are learned; 0 caches none
  int gpu = -1;  // with forces: CUDA's number of the GPU whose kernels do the steps; -1: those of processors do
  int num_threads = 1;
  int step_threads = 0;  // threads for gradients and errors of energies; 0: num_threads
  int ThreadsOfSteps() const { return step_threads > 0 ? step_threads : num_threads; }
  CompileOptions compile;
};

// One row for each option of the model: its flag or where its value comes from, and its name in configs. Rows of the
// work are not there: another way to compute is no other run.
absl::Span<const Setting<AtomisticTaskOptions>> AtomisticTaskSettings();
// INVALID_ARGUMENT if mixed precision is asked for with fp64 parameters.
absl::Status CheckPrecision(const AtomisticTaskOptions& options);

// Returns the options of model, loss and sampling under the names of their rows, for Task::ResumeConfig.
std::map<std::string, std::string> ResumeConfigOf(const AtomisticTaskOptions& options);
// Parses the loss options from a map that ResumeConfigOf returned, for callers that have a run's options only as text.
// Other keys are ignored, and deltas of other losses than Huber's have their defaults. INVALID_ARGUMENT: a missing key
// of the loss, or a value that is not valid for it.
absl::StatusOr<LossOptions> LossOfConfig(const std::map<std::string, std::string>& config);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_TASK_OPTIONS_H_
