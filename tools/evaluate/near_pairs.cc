#include "tools/evaluate/near_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace rutile {

double NearestDistance(const StructureGeometry& geometry) {
  const PairView& pairs = geometry.pairs;
  double nearest = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < pairs.num_atoms(); ++i) {
    for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) {
      const int64_t j = pairs.j[p] - pairs.first_atom;
      double square = 0;
      for (int a = 0; a < 3; ++a) {
        double d = geometry.position[3 * j + a] - geometry.position[3 * i + a];
        for (int k = 0; k < 3; ++k) d += pairs.shift[3 * p + k] * geometry.cell[3 * k + a];
        square += d * d;
      }
      nearest = std::min(nearest, square);
    }
  }
  return std::sqrt(nearest);
}

NearPairs::NearPairs(const Models& models)
    : NearPairs(models.potentials[0].descriptor.min_cutoff(),
                std::any_of(models.potentials.begin(), models.potentials.end(),
                            [](const Potential& p) { return !p.repulsion.empty(); })) {}

void NearPairs::AddTo(PredictionHooks* hooks) {
  if (!(min_cutoff_ > 0)) return;
  hooks->on_geometry = [this, next = std::move(hooks->on_geometry)](
                           int thread, int64_t number, const StructureGeometry& geometry, StructurePrediction* p) {
    Add(number, p->name, geometry);
    return next ? next(thread, number, geometry, p) : absl::OkStatus();
  };
}

void NearPairs::Add(int64_t number, absl::string_view name, const StructureGeometry& geometry) {
  const double distance = NearestDistance(geometry);
  if (!(distance <= min_cutoff_)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_nearest = structures_ == 0 || std::tie(distance, number) < std::tie(nearest_, number_);
  ++structures_;
  if (!is_nearest) return;
  nearest_ = distance;
  number_ = number;
  name_.assign(name.data(), name.size());
}

std::string NearPairs::Warning() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (structures_ == 0) return "";
  return absl::StrCat(
      structures_, " structures have atoms nearer than --min_cutoff=", min_cutoff_,
      " Angstrom, which the descriptor does not see: ",
      has_repulsion_ ? "the repulsion alone acts between them" : "energies and forces lack what these do to each other",
      absl::StrFormat("; the nearest two, at %.3f Angstrom, are in ", nearest_), name_);
}

}  // namespace rutile
