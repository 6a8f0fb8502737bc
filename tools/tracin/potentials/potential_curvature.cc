#include "tools/tracin/potentials/potential_curvature.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/file/sha256.h"
#include "lib/train/files/checkpoint_series.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// Up to so many outputs, and numbers in the rows of all, each output has a row of its own; beyond, each structure has
// so many probes.
constexpr int64_t kAllOutputs = 30000;
constexpr int64_t kAllNumbers = 200'000'000;
constexpr int kProbes = 8;
// What is taken where the damping of the run is unknown.
constexpr double kTraceDamping = 0.1;

int64_t NumOutputs(const LossOptions& loss, const AtomicData& train, const std::vector<int64_t>& examples) {
  int64_t outputs = 0;
  for (const int64_t s : examples) {
    outputs += train.has_energy(s) ? 1 : 0;
    if (loss.force_weight > 0) outputs += static_cast<int64_t>(train.force(s).size());
    if (loss.stress_weight > 0 && train.has_stress(s)) outputs += 6;
  }
  return outputs;
}

}  // namespace

absl::StatusOr<PotentialCurvature> PotentialCurvature::Create(const TracinFlags& flags,
                                                              const CheckpointSet& checkpoint_set,
                                                              const std::vector<ParameterSlice>& slices,
                                                              const LossOptions& terms, const AtomicData& train,
                                                              std::vector<int64_t> examples) {
  PotentialCurvature result;
  ASSIGN_OR_RETURN(result.flags_, CurvatureFromFlags(flags));
  if (!flags.gauss_newton) return result;
  result.num_parameters_ = slices.back().offset + slices.back().num_elements();
  GaussNewtonOptions& options = result.options_;
  options.probes = result.flags_.probes;
  if (options.probes < 0) {
    const int64_t outputs = NumOutputs(terms, train, examples);
    options.probes = outputs > kAllOutputs || outputs > kAllNumbers / result.num_parameters_ ? kProbes : 0;
  }
  options.examples = std::move(examples);
  options.seed = flags.seed;
  options.memory_limit = flags.options.memory_limit;
  options.ek_fac = flags.ek_fac;
  result.own_weights_ = !checkpoint_set.are_models() && !FlagGiven("term_weights");
  if (!result.own_weights_ && flags.mode != TracinMode::kLeaveOneOut && flags.mode != TracinMode::kCurvature) {
    PrintMessage(
        "the loss counts as a sum over structures with --term_weights; by the run's own weights, of its checkpoints, "
        "structures are coupled by the means that the loss is made of");
  }
  if (!result.flags_.from_run) return result;
  absl::StatusOr<std::vector<std::vector<double>>> dampings = DampingsOfRun(checkpoint_set, slices);
  if (dampings.ok()) {
    result.dampings_ = *std::move(dampings);
    return result;
  }
  result.flags_.from_run = false;
  result.flags_.trace = kTraceDamping;
  PrintMessage(absl::StrCat(dampings.status().message(), ": --damping=", result.flags_.Text(), " is taken"));
  return result;
}

GaussNewtonOptions PotentialCurvature::At(size_t index, const LossOptions& loss) const {
  GaussNewtonOptions options = options_;
  // The loss of the run couples structures; weights that were given are those of a sum.
  if (own_weights_) options.coupling = loss.kind == LossKind::kRmse ? LossCoupling::kRoots : LossCoupling::kMeans;
  if (flags_.from_run) {
    options.damping = dampings_[index];
  } else if (flags_.constant > 0) {
    options.damping.assign(num_parameters_, flags_.constant);
  } else {
    options.trace_damping = flags_.trace;
  }
  return options;
}

void PotentialCurvature::Describe(std::map<std::string, std::string>* settings) const {
  (*settings)["damping"] = flags_.Text();
  (*settings)["probes"] = absl::StrCat(options_.probes);
  (*settings)["gauss_newton_examples"] = Sha256Hex(absl::StrJoin(options_.examples, " "));
  if (options_.probes > 0) (*settings)["seed"] = absl::StrCat(options_.seed);
}

}  // namespace rutile
