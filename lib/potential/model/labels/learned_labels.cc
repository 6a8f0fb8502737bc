#include "lib/potential/model/labels/learned_labels.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/interrupt.h"
#include "lib/base/status_macros.h"
#include "lib/machine/parallel_for.h"
#include "lib/potential/data/atomic_labels.h"
#include "lib/potential/data/geometry.h"
#include "lib/structure/cell.h"

namespace rutile {
namespace {

// The scratch memory of one thread.
struct Worker {
  PairMemory pairs;
  PairRepulsion::Result result;
};

absl::Status Subtract(const AtomicData& data, int64_t s, const PairRepulsion& repulsion, Worker* worker,
                      AtomicLabels* labels) {
  RETURN_IF_ERROR(CheckInterrupt());
  ASSIGN_OR_RETURN(const StructureGeometry geometry, GeometryOf(data, s, &worker->pairs));
  PairRepulsion::Result& result = worker->result;
  repulsion.Compute(geometry, data.num_atoms(s), &result);
  labels->energy[s] -= result.energy;
  double* const force = labels->force.data() + labels->force_offset[s];
  const int64_t components = labels->force_offset[s + 1] - labels->force_offset[s];
  for (int64_t c = 0; c < components; ++c) force[c] -= result.force[c];
  if (!data.has_stress(s)) return absl::OkStatus();
  const double volume = CellVolume(geometry.cell);
  if (volume <= 0) return absl::OkStatus();  // a stress without a volume is refused where stresses are learned
  for (int k = 0; k < 9; ++k) labels->stress[9 * s + k] -= result.virial[k] / volume;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AtomicData> LearnedLabels(const AtomicData& data, const RepulsionRadii& radii, int num_threads) {
  if (radii.empty()) return data;
  const PairRepulsion repulsion(radii, data.descriptor());
  AtomicLabels labels = LabelsOf(data);
  std::vector<absl::Status> status(data.num_structures());
  ThreadPool pool(num_threads);
  std::vector<Worker> workers(num_threads);
  pool.For(data.num_structures(), 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t s = begin; s < end; ++s) status[s] = Subtract(data, s, repulsion, &workers[worker], &labels);
  });
  for (const absl::Status& each : status) RETURN_IF_ERROR(each);
  return data.WithLabels(std::move(labels));
}

}  // namespace rutile
