#include "lib/potential/prediction/force_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_errors.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/structure/cell.h"
#include "lib/structure/species_map.h"

namespace rutile {
namespace {

// The step is small, since the second derivative of the cutoff function jumps where a pair crosses the cutoff.
// Differences are taken atom by atom, so that the size of the total energy costs no digits.
constexpr double kStep = 3e-5;
constexpr double kTolerance = 1e-5;
constexpr char kAxes[] = "xyz";

std::vector<Potential> InDoublePrecision(absl::Span<const Potential> models) {
  std::vector<Potential> result;
  for (const Potential& model : models) result.push_back(WithPrecision(model, DType::kF64));
  return result;
}

// Applies r -> (1 + strain e_a e_b^T) r to atoms and cell.
void Strain(int a, int b, double strain, Structure* structure) {
  for (size_t i = 0; i < structure->position.size(); i += 3) {
    structure->position[i + a] += strain * structure->position[i + b];
  }
  for (int row = 0; row < 3; ++row) structure->cell[3 * row + a] += strain * structure->cell[3 * row + b];
}

}  // namespace

struct ForceCheck::State {
  explicit State(absl::Span<const Potential> models)
      : predictor(InDoublePrecision(models)), species_map(models[0].descriptor.species()), search(predictor.cutoff()) {}

  absl::Status Predict(const Structure& structure, bool forces, AtomicPrediction* prediction) {
    if (absl::Status status = search.Compute(structure, &neighbors); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(structure.name, ": ", status.message()));
    }
    StructureGeometry geometry;
    geometry.species = species;
    geometry.position = structure.position;
    geometry.cell = structure.cell;
    geometry.pairs = {neighbors.offset, neighbors.j.data(), neighbors.shift.data(), 0};
    predictor.Predict(geometry, structure.pbc, forces, prediction);
    return absl::OkStatus();
  }

  // Returns d energy / dt at t = 0, where move(t, &structure) changes the structure.
  template <typename Move>
  absl::StatusOr<double> Derivative(const Structure& structure, const Move& move) {
    double derivative = 0;
    for (const auto& [steps, weight] : {std::pair(1, 2.0 / 3), std::pair(2, -1.0 / 12)}) {
      for (const int sign : {1, -1}) {
        Structure moved = structure;
        move(sign * steps * kStep, &moved);
        RETURN_IF_ERROR(Predict(moved, false, sign > 0 ? &above : &below));
      }
      for (size_t i = 0; i < above.atom_energy.size(); ++i) {
        derivative += weight * (above.atom_energy[i] - below.atom_energy[i]) / kStep;
      }
    }
    return derivative;
  }

  ForcePredictor predictor;
  const SpeciesMap species_map;
  NeighborSearch search;
  NeighborList neighbors;
  std::vector<uint8_t> species;
  AtomicPrediction above, below;
};

ForceCheck::ForceCheck(absl::Span<const Potential> models, int atoms)
    : state_(std::make_unique<State>(models)), atoms_(atoms) {}

ForceCheck::~ForceCheck() = default;

void ForceCheck::Compare(const std::string& what, double predicted, double difference, double scale, double* worst) {
  const double error = std::abs(predicted - difference);
  *worst = std::max(*worst, error);
  if (error <= kTolerance * (1 + scale) || !result_.ok()) return;
  result_ = absl::FailedPreconditionError(absl::StrFormat(
      "%s is %.10g, but finite differences of the energy give %.10g: a bug of rutile; please report it with the model "
      "and the structure",
      what, predicted, difference));
}

absl::Status ForceCheck::Add(const Structure& structure) {
  RETURN_IF_ERROR(state_->species_map.Map(structure, &state_->species));
  AtomicPrediction prediction;
  RETURN_IF_ERROR(state_->Predict(structure, true, &prediction));
  ++num_structures_;
  double scale = 0;
  for (const double f : prediction.force) scale = std::max(scale, std::abs(f));
  const int64_t atoms = std::min<int64_t>(atoms_, structure.size());
  for (int64_t k = 0; k < atoms; ++k) {
    const int64_t atom = k * structure.size() / atoms;
    for (int a = 0; a < 3; ++a) {
      ASSIGN_OR_RETURN(const double slope, state_->Derivative(structure, [&](double t, Structure* moved) {
        moved->position[3 * atom + a] += t;
      }));
      Compare(absl::StrFormat("%s: the force on atom %d along %c (eV/Å)", structure.name, atom + 1, kAxes[a]),
              prediction.force[3 * atom + a], -slope, scale, &worst_force_);
      ++num_forces_;
    }
  }
  if (!prediction.stress.has_value()) return absl::OkStatus();
  const double volume = CellVolume(structure.cell);
  scale = 0;
  for (const double s : *prediction.stress) scale = std::max(scale, std::abs(s) * volume);
  for (const auto& [a, b] : {std::pair(0, 0), {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}}) {
    ASSIGN_OR_RETURN(const double slope, state_->Derivative(structure, [a = a, b = b](double t, Structure* moved) {
      Strain(a, b, t, moved);
    }));
    Compare(absl::StrFormat("%s: stress %c%c times volume (eV)", structure.name, kAxes[a], kAxes[b]),
            (*prediction.stress)[3 * a + b] * volume, slope, scale, &worst_stress_);
    ++num_stresses_;
  }
  return absl::OkStatus();
}

std::string ForceCheck::Summary() const {
  std::string text =
      absl::StrFormat("%d force components of %d structures agree with finite differences of the energy to %.1e eV/Å",
                      num_forces_, num_structures_, worst_force_);
  if (num_stresses_ > 0) {
    absl::StrAppendFormat(&text, ", %d stress components (times volume) to %.1e eV", num_stresses_, worst_stress_);
  }
  return text;
}

absl::Status CheckNetForces(absl::Span<const StructurePrediction> predictions, DType precision) {
  const double allowance = precision == DType::kF32 ? 1e-5 : 1e-10;
  for (const StructurePrediction& p : predictions) {
    double sum = 0;
    for (int64_t atom = 0; atom < p.num_atoms && !p.predicted_force.empty(); ++atom) {
      const double* const f = &p.predicted_force[3 * atom];
      sum += std::sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
    }
    const double net = NetForce(p), limit = allowance * (p.num_atoms + sum);
    if (net <= limit) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: the forces add up to %.3e eV/Å, expected 0 within %.3e: a bug of rutile; please report it "
                        "with the model and the structure",
                        p.name, net, limit));
  }
  return absl::OkStatus();
}

}  // namespace rutile
