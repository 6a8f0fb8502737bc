#include "lib/md/md_context.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

constexpr double kLargestPosition = 1e9;  // Angstrom, as for neighbor searches

// Pairs that are farther than the cutoff by more than rounding are dropped here; the descriptor decides on the others.
constexpr double kRounding = 1e-9;

absl::Status WrongSpecies(const MdModel& model, int64_t atom, int species) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "the species of atom %d is %d, which the model does not have; expected 0 to %d for %s (rutile_species_index)",
      atom + 1, species, model.symbols().size() - 1, absl::StrJoin(model.symbols(), ", ")));
}

bool IsUsable(const double* position) {
  for (int a = 0; a < 3; ++a) {
    if (!(std::abs(position[a]) <= kLargestPosition)) return false;
  }
  return true;
}

absl::Status NotUsable(const double* position, int64_t atom) {
  return absl::InvalidArgumentError(
      absl::StrFormat("atom %d is at %g %g %g, expected coordinates in Angstrom of at most %g", atom + 1, position[0],
                      position[1], position[2], kLargestPosition));
}

bool WantsDeviations(const rutile_outputs& outputs) {
  return outputs.energy_deviation != nullptr || outputs.atom_energy_deviation != nullptr ||
         outputs.force_deviation != nullptr;
}

}  // namespace

// Passes messages on in the order of the caller's atoms. Rows of atoms that the model does not know are 0.
class MdContext::PlacedExchange final : public MessageExchange {
 public:
  PlacedExchange(MessageExchange* callers, const std::vector<int32_t>& order, int64_t num_callers_atoms)
      : callers_(callers), order_(order), num_callers_atoms_(num_callers_atoms) {}

  absl::Status SendOut(int width, absl::Span<double> values) override {
    return Pass(width, values, &MessageExchange::SendOut);
  }
  absl::Status SendHome(int width, absl::Span<double> values) override {
    return Pass(width, values, &MessageExchange::SendHome);
  }

 private:
  absl::Status Pass(int width, absl::Span<double> values,
                    absl::Status (MessageExchange::*pass)(int, absl::Span<double>)) {
    std::vector<double> all(num_callers_atoms_ * width, 0.0);
    for (size_t k = 0; k < order_.size(); ++k) std::copy_n(&values[k * width], width, &all[order_[k] * size_t(width)]);
    RETURN_IF_ERROR((callers_->*pass)(width, absl::MakeSpan(all)));
    for (size_t k = 0; k < order_.size(); ++k) std::copy_n(&all[order_[k] * size_t(width)], width, &values[k * width]);
    return absl::OkStatus();
  }

  MessageExchange* const callers_;
  const std::vector<int32_t>& order_;
  const int64_t num_callers_atoms_;
};

MdContext::MdContext(std::shared_ptr<const MdModel> model)
    : model_(std::move(model)),
      predictor_(model_->potentials()),
      search_(predictor_.cutoff(), {/*shifts=*/true, /*vectors=*/false}) {}

absl::Status MdContext::ComputeCell(absl::Span<const int> species, const double* positions, const Matrix3& cell,
                                    const std::array<bool, 3>& pbc, const rutile_outputs& outputs) {
  const int64_t num_atoms = static_cast<int64_t>(species.size());
  for (const double x : cell) {
    if (!std::isfinite(x)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the cell is ", absl::StrJoin(cell, " "), ", expected finite lattice vectors in Angstrom"));
    }
  }
  structure_.element.resize(num_atoms);
  for (int64_t i = 0; i < num_atoms; ++i) {
    if (species[i] < 0 || species[i] >= static_cast<int>(model_->symbols().size())) {
      return WrongSpecies(*model_, i, species[i]);
    }
    structure_.element[i] = static_cast<uint8_t>(species[i]);
  }
  structure_.position.assign(positions, positions + 3 * num_atoms);
  structure_.cell = cell;
  structure_.pbc = pbc;
  order_.resize(num_atoms);
  std::iota(order_.begin(), order_.end(), 0);
  row_of_ = order_;
  num_callers_atoms_ = num_atoms;
  RETURN_IF_ERROR(search_.Compute(structure_, &pairs_));
  return Predict(num_atoms, pairs_.shift.data(), /*exchange=*/nullptr, outputs);
}

absl::Status MdContext::ComputeList(absl::Span<const int> species, const double* positions,
                                    absl::Span<const int> centers, const NeighborsOf& neighbors, int mask,
                                    MessageExchange* exchange, const rutile_outputs& outputs) {
  if (outputs.energy_spread != nullptr || outputs.force_spread != nullptr) {
    return absl::InvalidArgumentError(
        "a spread is asked for, but the spread of a part of the atoms is no part of the spread; ask for member_energy "
        "and member_forces, add them up over all parts, and take the deviation then");
  }
  if (WantsDeviations(outputs)) {
    return absl::InvalidArgumentError(
        "standard deviations are asked for, but those of a part of the atoms do not add up; rutile_compute_cell has "
        "them");
  }
  RETURN_IF_ERROR(OrderAtoms(species, positions, centers));
  const int64_t num_centers = static_cast<int64_t>(pairs_.offset.size()) - 1;
  pairs_.j.clear();
  pairs_.nearest_squared = std::numeric_limits<double>::infinity();
  RETURN_IF_ERROR(CollectPairs(0, num_centers, neighbors, mask));
  const bool has_messages = predictor_.num_messages() > 0;
  if (has_messages && exchange == nullptr) RETURN_IF_ERROR(CollectSenders(neighbors, mask));
  RETURN_IF_ERROR(CheckFull());
  // Distances are those of the atoms and images that the caller placed, so that no pair has a lattice shift.
  no_shift_.resize(std::max<size_t>(no_shift_.size(), 3 * pairs_.num_pairs()), 0);
  if (!has_messages || exchange == nullptr) return Predict(num_centers, no_shift_.data(), nullptr, outputs);
  PlacedExchange placed(exchange, order_, num_callers_atoms_);
  return Predict(num_centers, no_shift_.data(), &placed, outputs);
}

absl::Status MdContext::OrderAtoms(absl::Span<const int> species, const double* positions,
                                   absl::Span<const int> centers) {
  constexpr int32_t kOther = -1, kCenter = -2;
  num_callers_atoms_ = static_cast<int64_t>(species.size());
  place_.assign(num_callers_atoms_, kOther);
  order_.clear();
  row_of_.clear();
  for (const int i : centers) {
    if (i < 0 || i >= num_callers_atoms_) {
      return absl::InvalidArgumentError(
          absl::StrFormat("a center is atom %d, but there are %d atoms", int64_t{i} + 1, num_callers_atoms_));
    }
    if (place_[i] != kOther) {
      return absl::InvalidArgumentError(absl::StrFormat("atom %d is twice among the centers", int64_t{i} + 1));
    }
    place_[i] = kCenter;
    row_of_.push_back(-1);
    if (species[i] == RUTILE_NO_SPECIES) continue;
    row_of_.back() = static_cast<int32_t>(order_.size());
    order_.push_back(i);
  }
  const size_t num_centers = order_.size();
  for (int64_t i = 0; i < num_callers_atoms_; ++i) {
    if (place_[i] != kCenter && species[i] != RUTILE_NO_SPECIES) order_.push_back(static_cast<int32_t>(i));
    place_[i] = -1;
  }
  structure_.element.resize(order_.size());
  structure_.position.resize(3 * order_.size());
  structure_.cell = {};
  structure_.pbc = {false, false, false};
  for (size_t k = 0; k < order_.size(); ++k) {
    const int64_t i = order_[k];
    if (species[i] < 0 || species[i] >= static_cast<int>(model_->symbols().size())) {
      return WrongSpecies(*model_, i, species[i]);
    }
    if (!IsUsable(positions + 3 * i)) return NotUsable(positions + 3 * i, i);
    place_[i] = static_cast<int32_t>(k);
    structure_.element[k] = static_cast<uint8_t>(species[i]);
    std::copy_n(positions + 3 * i, 3, &structure_.position[3 * k]);
  }
  pairs_.offset.assign(num_centers + 1, 0);
  return absl::OkStatus();
}

absl::Status MdContext::CollectPairs(int64_t begin, int64_t end, const NeighborsOf& neighbors, int mask) {
  pairs_.offset.resize(end + 1);
  last_row_.assign(order_.size(), -1);
  for (int64_t row = begin; row < end; ++row) {
    ASSIGN_OR_RETURN(const absl::Span<const int> entries, neighbors(order_[row]));
    RETURN_IF_ERROR(AppendPairs(row, entries, mask));
    pairs_.offset[row + 1] = pairs_.num_pairs();
    RETURN_IF_ERROR(CheckTwice(row));
  }
  return absl::OkStatus();
}

absl::Status MdContext::CheckFull() const {
  const int64_t num_lists = static_cast<int64_t>(pairs_.offset.size()) - 1;
  int64_t upward = 0, downward = 0;  // pairs of two atoms that have lists
  for (int64_t row = 0; row < num_lists; ++row) {
    for (int64_t p = pairs_.offset[row]; p < pairs_.offset[row + 1]; ++p) {
      upward += pairs_.j[p] > row && pairs_.j[p] < num_lists;
      downward += pairs_.j[p] < row;
    }
  }
  if (upward == downward) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the neighbor lists are not full: of two atoms i < j with lists and within the cutoff, j is %d times in the list "
      "of i, and i %d times in that of j; expected both for each pair",
      upward, downward));
}

absl::Status MdContext::CollectSenders(const NeighborsOf& neighbors, int mask) {
  const int64_t num_atoms = static_cast<int64_t>(order_.size());
  const int64_t num_centers = static_cast<int64_t>(pairs_.offset.size()) - 1;
  std::vector<int32_t> met(num_atoms, 0);  // by how many centers
  for (const int32_t j : pairs_.j) ++met[j];
  std::vector<int32_t> old_places, new_place(num_atoms);  // old_places: senders first
  for (int64_t k = num_centers; k < num_atoms; ++k) {
    if (met[k] > 0) old_places.push_back(static_cast<int32_t>(k));
  }
  const int64_t num_lists = num_centers + static_cast<int64_t>(old_places.size());
  for (int64_t k = num_centers; k < num_atoms; ++k) {
    if (met[k] == 0) old_places.push_back(static_cast<int32_t>(k));
  }
  std::iota(new_place.begin(), new_place.end(), 0);
  const Structure was = structure_;
  const std::vector<int32_t> order = order_;
  for (int64_t k = num_centers; k < num_atoms; ++k) {
    const int32_t from = old_places[k - num_centers];
    new_place[from] = static_cast<int32_t>(k);
    order_[k] = order[from];
    place_[order_[k]] = static_cast<int32_t>(k);
    structure_.element[k] = was.element[from];
    std::copy_n(&was.position[3 * int64_t{from}], 3, &structure_.position[3 * k]);
  }
  for (int32_t& j : pairs_.j) j = new_place[j];
  RETURN_IF_ERROR(CollectPairs(num_centers, num_lists, neighbors, mask));
  for (int64_t row = num_centers; row < num_lists; ++row) {
    const int32_t expected = met[old_places[row - num_centers]];
    int32_t found = 0;
    for (int64_t p = pairs_.offset[row]; p < pairs_.offset[row + 1]; ++p) found += pairs_.j[p] < num_centers;
    if (found == expected) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "atom %d is no center, and within the cutoff of %d of them, but its list has %d of these: a potential of two "
        "layers needs the full lists of such atoms, and so all atoms within two cutoffs of a center (rutile.h)",
        order_[row] + 1, expected, found));
  }
  return absl::OkStatus();
}

absl::Status MdContext::AppendPairs(int64_t row, absl::Span<const int> entries, int mask) {
  const double limit = model_->cutoff() * model_->cutoff() * (1 + kRounding);
  const int64_t begin = pairs_.num_pairs(), atom = order_[row];
  const double* const position = structure_.position.data();
  const double xi = position[3 * row], yi = position[3 * row + 1], zi = position[3 * row + 2];
  double nearest = limit;
  pairs_.j.resize(begin + entries.size());
  int32_t* to = pairs_.j.data() + begin;
  for (const int entry : entries) {
    const int64_t j = entry & mask;
    if (j < 0 || j >= num_callers_atoms_) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the list of atom %d has the entry %d, with the mask %d atom %d, but there are %d atoms",
                          atom + 1, entry, mask, j + 1, num_callers_atoms_));
    }
    const int32_t k = place_[j];
    if (k < 0) continue;
    const double* const rj = position + 3 * int64_t{k};
    const double x = rj[0] - xi, y = rj[1] - yi, z = rj[2] - zi;
    const double square = x * x + y * y + z * z;
    // Without a branch: a third of the entries are farther than the cutoff, and which ones cannot be predicted.
    *to = k;
    to += square <= limit ? 1 : 0;
    nearest = std::min(nearest, square);
  }
  pairs_.j.resize(to - pairs_.j.data());
  pairs_.nearest_squared = std::min(pairs_.nearest_squared, nearest);
  if (nearest >= kSmallestDistance * kSmallestDistance) return absl::OkStatus();
  return TooNear(row);
}

absl::Status MdContext::TooNear(int64_t row) const {
  const double* const ri = &structure_.position[3 * row];
  for (size_t p = pairs_.offset[row]; p < pairs_.j.size(); ++p) {
    const double* const rj = &structure_.position[3 * int64_t{pairs_.j[p]}];
    const double distance = std::hypot(rj[0] - ri[0], rj[1] - ri[1], rj[2] - ri[2]);
    if (distance >= kSmallestDistance) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("atoms %d and %d are %.3g Angstrom apart, expected at least %g; correct the positions",
                        order_[row] + 1, order_[pairs_.j[p]] + 1, distance, kSmallestDistance));
  }
  return absl::OkStatus();
}

absl::Status MdContext::CheckTwice(int64_t row) {
  for (int64_t p = pairs_.offset[row]; p < pairs_.offset[row + 1]; ++p) {
    int32_t* const last = &last_row_[pairs_.j[p]];
    if (*last == row) {
      return absl::InvalidArgumentError(absl::StrFormat("the list of atom %d has atom %d twice, expected once",
                                                        order_[row] + 1, order_[pairs_.j[p]] + 1));
    }
    *last = static_cast<int32_t>(row);
  }
  return absl::OkStatus();
}

absl::Status MdContext::Predict(int64_t num_centers, const int16_t* shift, MessageExchange* exchange,
                                const rutile_outputs& outputs) {
  const bool forces = outputs.forces != nullptr || outputs.virial != nullptr || outputs.force_spread != nullptr ||
                      outputs.member_forces != nullptr || outputs.atom_virial != nullptr;
  StructureGeometry geometry;
  geometry.species = structure_.element;
  geometry.position = structure_.position;
  geometry.cell = structure_.cell;
  geometry.pairs = {pairs_.offset, pairs_.j.data(), shift, 0};
  Matrix3 virial = {};
  atom_virial_.resize(outputs.atom_virial != nullptr ? 9 * order_.size() : 0);
  RETURN_IF_ERROR(predictor_.PredictCenters(geometry, num_centers, forces, &prediction_,
                                            outputs.virial != nullptr ? &virial : nullptr, absl::MakeSpan(atom_virial_),
                                            exchange));
  const double near = model_->potentials()[0].descriptor.min_cutoff();
  if (pairs_.nearest_squared <= near * near) MarkAtomsTooNear(geometry, near, absl::MakeSpan(prediction_.outside));
  RETURN_IF_ERROR(CheckFinite());
  RETURN_IF_ERROR(PredictDeviations(geometry, outputs));
  if (outputs.member_forces != nullptr) member_forces_.resize(3 * order_.size());  // writing itself cannot fail
  Write(num_centers, virial, outputs);
  return absl::OkStatus();
}

absl::Status MdContext::PredictDeviations(const StructureGeometry& geometry, const rutile_outputs& outputs) {
  if (!WantsDeviations(outputs)) return absl::OkStatus();
  if (model_->curvature() == nullptr) {
    return absl::InvalidArgumentError(
        "standard deviations are asked for, but the model was opened without its curvature: make the file with tracin "
        "--mode=curvature and name it in rutile_options");
  }
  UncertaintyOptions options;
  options.atoms = outputs.atom_energy_deviation != nullptr;
  options.forces = outputs.force_deviation != nullptr;
  if (options.atoms && predictor_.num_messages() > 0) {
    return absl::InvalidArgumentError(
        "standard deviations of atoms' energies are asked for, which a potential of two layers (--messages) does not "
        "have: take those of the energy and of forces");
  }
  if (deviations_ == nullptr) {
    deviations_ = std::make_unique<UncertaintyPredictor>(*model_->formulas(), *model_->curvature());
  }
  deviations_->Predict(geometry, options, &deviation_);
  return absl::OkStatus();
}

absl::Status MdContext::CheckFinite() const {
  for (size_t k = 0; k < prediction_.atom_energy.size(); ++k) {
    if (std::isfinite(prediction_.atom_energy[k])) continue;
    return absl::InternalError(
        absl::StrFormat("the energy of atom %d is %g eV: its neighbors are too near or too many for the model",
                        order_[k] + 1, prediction_.atom_energy[k]));
  }
  for (size_t c = 0; c < prediction_.force.size(); ++c) {
    if (std::isfinite(prediction_.force[c])) continue;
    return absl::InternalError(absl::StrFormat(
        "the force on atom %d along %c is %g eV/Angstrom: its neighbors are too near or too many for the model",
        order_[c / 3] + 1, "xyz"[c % 3], prediction_.force[c]));
  }
  return absl::OkStatus();
}

void MdContext::Write(int64_t num_centers, const Matrix3& virial, const rutile_outputs& outputs) const {
  const AtomicPrediction& p = prediction_;
  const int64_t num_atoms = static_cast<int64_t>(order_.size());
  if (outputs.energy_deviation != nullptr) *outputs.energy_deviation = deviation_.energy;
  if (outputs.atom_energy_deviation != nullptr) {
    std::copy(deviation_.atom_energy.begin(), deviation_.atom_energy.end(), outputs.atom_energy_deviation);
  }
  if (outputs.force_deviation != nullptr) {
    std::copy(deviation_.force.begin(), deviation_.force.end(), outputs.force_deviation);
  }
  const int num_members = static_cast<int>(model_->potentials().size());
  const absl::Span<const double> member_energies = predictor_.member_energies();
  if (outputs.energy != nullptr) *outputs.energy = p.energy;
  if (outputs.energy_spread != nullptr) *outputs.energy_spread = p.energy_spread;
  if (outputs.virial != nullptr) std::copy(virial.begin(), virial.end(), outputs.virial);
  for (size_t c = 0; c < row_of_.size(); ++c) {
    const int32_t row = row_of_[c];
    if (outputs.atom_energy != nullptr) outputs.atom_energy[c] = row < 0 ? 0 : p.atom_energy[row];
    if (outputs.outside != nullptr) outputs.outside[c] = row < 0 || p.outside.empty() ? 0 : p.outside[row];
  }
  if (outputs.forces != nullptr) {
    if (outputs.add_forces == 0) std::fill_n(outputs.forces, 3 * num_callers_atoms_, 0.0);
    for (int64_t c = 0; c < 3 * num_atoms; ++c) outputs.forces[3 * int64_t{order_[c / 3]} + c % 3] += p.force[c];
  }
  if (outputs.force_spread != nullptr) {
    for (int64_t k = 0; k < num_atoms; ++k) {
      outputs.force_spread[order_[k]] = p.force_spread.empty() ? 0 : p.force_spread[k];
    }
  }
  if (outputs.atom_virial != nullptr) {
    std::fill_n(outputs.atom_virial, 9 * num_callers_atoms_, 0.0);
    for (int64_t k = 0; k < num_atoms; ++k) {
      std::copy_n(&atom_virial_[9 * k], 9, outputs.atom_virial + 9 * int64_t{order_[k]});
    }
  }
  if (outputs.member_energy != nullptr) {
    std::copy(member_energies.begin(), member_energies.end(), outputs.member_energy);
  }
  if (outputs.member_forces == nullptr) return;
  std::fill_n(outputs.member_forces, 3 * num_callers_atoms_ * num_members, 0.0);
  for (int m = 0; m < num_members; ++m) {
    double* const to = outputs.member_forces + 3 * num_callers_atoms_ * m;
    predictor_.MemberForces(m, absl::MakeSpan(member_forces_));
    for (int64_t c = 0; c < 3 * num_atoms; ++c) to[3 * int64_t{order_[c / 3]} + c % 3] = member_forces_[c];
  }
}

}  // namespace rutile
