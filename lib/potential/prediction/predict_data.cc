#include "lib/potential/prediction/predict_data.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/data/geometry.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/structure/element.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

// The scratch memory of one thread.
struct Worker {
  explicit Worker(const Potential& potential) : predictor(absl::MakeConstSpan(&potential, 1)) {}
  ForcePredictor predictor;
  PairMemory pairs;
  AtomicPrediction prediction;
};

std::string Composition(absl::Span<const uint8_t> elements, absl::Span<const uint8_t> species) {
  std::string composition;
  for (size_t e = 0; e < elements.size(); ++e) {
    const auto count = std::count(species.begin(), species.end(), e);
    if (count > 0) absl::StrAppend(&composition, ElementSymbol(elements[e]));
    if (count > 1) absl::StrAppend(&composition, count);
  }
  return composition;
}

absl::Status PredictOne(const AtomicData& data, int64_t s, bool forces, Worker* worker, StructurePrediction* result) {
  RETURN_IF_ERROR(CheckInterrupt());
  const ProfileScope scope(Stage::kPredict);
  scope.Add(Counter::kAtoms, data.num_atoms(s));
  AtomicPrediction& prediction = worker->prediction;
  if (!forces && data.has_features() && !worker->predictor.needs_geometry()) {
    if (data.feature_dtype() == DType::kF64) {
      worker->predictor.PredictFromFeatures(data.features<double>(s), data.species(s), &prediction);
    } else {
      worker->predictor.PredictFromFeatures(data.features<float>(s), data.species(s), &prediction);
    }
  } else {
    ASSIGN_OR_RETURN(const StructureGeometry geometry, GeometryOf(data, s, &worker->pairs));
    worker->predictor.Predict(geometry, data.pbc(s), forces, &prediction);
  }
  result->name = data.name(s);
  result->config_type = data.config_type(s);
  result->composition = Composition(data.descriptor().species(), data.species(s));
  result->num_atoms = data.num_atoms(s);
  result->reference_energy = data.energy(s);
  result->predicted_energy = prediction.energy;
  for (const uint8_t species : data.species(s)) result->element.push_back(data.descriptor().species()[species]);
  result->atom_energy = prediction.atom_energy;
  result->reference_force.assign(data.force(s).begin(), data.force(s).end());
  result->predicted_force = prediction.force;
  if (data.has_stress(s)) {
    result->reference_stress.emplace();
    std::copy_n(data.stress(s).begin(), 9, result->reference_stress->begin());
  }
  result->predicted_stress = prediction.stress;
  if (!prediction.outside.empty()) {
    result->atoms_outside =
        std::count_if(prediction.outside.begin(), prediction.outside.end(), [](uint8_t o) { return o != 0; });
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<StructurePrediction>> PredictData(const Potential& potential, const AtomicData& data,
                                                             absl::Span<const int64_t> structures, bool forces,
                                                             int num_threads) {
  CHECK(potential.descriptor == data.descriptor());
  std::vector<StructurePrediction> predictions(structures.size());
  std::vector<absl::Status> status(structures.size());
  ThreadPool pool(num_threads);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int t = 0; t < num_threads; ++t) workers.push_back(std::make_unique<Worker>(potential));
  pool.For(structures.size(), 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t k = begin; k < end; ++k) {
      status[k] = PredictOne(data, structures[k], forces, workers[worker].get(), &predictions[k]);
    }
  });
  for (const absl::Status& s : status) RETURN_IF_ERROR(s);
  return predictions;
}

}  // namespace rutile
