#include "lib/potential/prediction/force_predictor.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/potential/model/atom_networks.h"
#include "lib/potential/model/extrapolation.h"
#include "lib/potential/model/pair_repulsion.h"
#include "lib/potential/prediction/force_predictor_impl.h"
#include "lib/structure/cell.h"
#include "lib/tensorfile/tensor_of_doubles.h"

namespace rutile {

absl::Status CheckCommittee(absl::Span<const Potential> models, absl::Span<const std::string> names) {
  CHECK_EQ(models.size(), names.size());
  for (size_t m = 1; m < models.size(); ++m) {
    if ((models[m].mace == nullptr) != (models[0].mace == nullptr)) {
      const size_t mace = models[m].mace == nullptr ? 0 : m;
      return absl::InvalidArgumentError(absl::StrCat(names[mace], ": is a MACE model of mace-torch, but ",
                                                     names[m - mace], " is one of train; a committee is of one kind"));
    }
    if (models[m].descriptor == models[0].descriptor) continue;
    return absl::InvalidArgumentError(absl::StrCat(names[m], ": has the descriptor ", models[m].descriptor.ToJson(),
                                                   ", but ", names[0], " has ", models[0].descriptor.ToJson(),
                                                   "; the models of a committee need the same one"));
  }
  return absl::OkStatus();
}

DType CommitteePrecision(absl::Span<const Potential> models) {
  const bool single = std::all_of(models.begin(), models.end(),
                                  [](const Potential& model) { return model.parameters.dtype() == DType::kF32; });
  return single ? DType::kF32 : DType::kF64;
}

Potential WithPrecision(const Potential& potential, DType dtype) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64);
  Potential result = potential;
  if (potential.parameters.dtype() == dtype) return result;
  CHECK(potential.mace == nullptr) << "MACE models compute in double precision";
  result.parameters = TensorOfDoubles(dtype, potential.parameters.ToDoubles());
  return result;
}

namespace {

// Calls f(atom, squared distance) for each pair of the first num_centers atoms.
template <typename F>
void ForEachSquare(const StructureGeometry& geometry, int64_t num_centers, const F& f) {
  const PairView& pairs = geometry.pairs;
  const double* const position = geometry.position.data();
  for (int64_t i = 0; i < num_centers; ++i) {
    for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) {
      const int64_t j = pairs.j[p] - pairs.first_atom;
      double square = 0;
      for (int a = 0; a < 3; ++a) {
        double d = position[3 * j + a] - position[3 * i + a];
        for (int k = 0; k < 3; ++k) d += pairs.shift[3 * p + k] * geometry.cell[3 * k + a];
        square += d * d;
      }
      f(i, square);
    }
  }
}

}  // namespace

double NearestDistance(const StructureGeometry& geometry) {
  double nearest = std::numeric_limits<double>::infinity();
  ForEachSquare(geometry, geometry.pairs.num_atoms(),
                [&](int64_t, double square) { nearest = std::min(nearest, square); });
  return std::sqrt(nearest);
}

void MarkAtomsTooNear(const StructureGeometry& geometry, double min_cutoff, absl::Span<uint8_t> marks) {
  ForEachSquare(geometry, static_cast<int64_t>(marks.size()), [&](int64_t i, double square) {
    if (square <= min_cutoff * min_cutoff) marks[i] = 1;
  });
}

template <typename T>
class ForcePredictor::TypedImpl : public ForcePredictor::Impl {
 public:
  explicit TypedImpl(absl::Span<const Potential> models)
      : num_features_(models[0].shape.num_features),
        derivatives_(MakeDescriptorDerivatives<T>(models[0].descriptor, AngularMethod::kMoments)),
        state_(derivatives_->MakeState()) {
    for (const Potential& model : models) {
      CHECK(model.descriptor == models[0].descriptor) << "CheckCommittee comes first";
      networks_.emplace_back(model);
      repulsion_.emplace_back(model.repulsion, model.descriptor);
      if (model.feature_range.min.empty()) continue;
      // A many-body potential ignores neighbors of species that it never saw there, which is worth a word.
      extrapolation_.emplace_back(model.feature_range, model.feature_scaling, model.shape.has_moments());
    }
    energies_.resize(models.size());
    forces_.resize(models.size());
    steps_ = std::make_unique<MessageSteps<T>>(models, &networks_);
  }

  double cutoff() const override { return derivatives_->cutoff(); }
  bool needs_geometry() const override {
    return std::any_of(repulsion_.begin(), repulsion_.end(), [](const PairRepulsion& each) { return !each.empty(); });
  }

  void Predict(const StructureGeometry& geometry, const std::array<bool, 3>& pbc, bool forces,
               AtomicPrediction* prediction) override {
    const bool stress = forces && pbc[0] && pbc[1] && pbc[2] && CellVolume(geometry.cell) > 0;
    Matrix3 virial;
    const absl::Status predicted =
        PredictCenters(geometry, geometry.species.size(), forces, prediction, stress ? &virial : nullptr, {}, nullptr);
    CHECK(predicted.ok()) << predicted << ": without an exchange nothing can fail";
    if (!stress) return;
    for (double& v : virial) v /= CellVolume(geometry.cell);
    prediction->stress = virial;
  }

  absl::Status PredictCenters(const StructureGeometry& geometry, int64_t num_centers, bool forces,
                              AtomicPrediction* prediction, Matrix3* virial, absl::Span<double> atom_virial,
                              MessageExchange* exchange) override {
    const int64_t num_atoms = static_cast<int64_t>(geometry.species.size());
    CHECK(forces || (virial == nullptr && atom_virial.empty())) << "a virial comes with forces";
    CHECK(atom_virial.empty() || atom_virial.size() == 9 * geometry.species.size());
    CHECK_LT(num_centers, static_cast<int64_t>(geometry.pairs.offset.size()));
    // Messages go by steps where atoms are not the whole structure.
    is_divided_ = steps_->width() > 0 && (exchange != nullptr || num_centers < num_atoms);
    const int64_t num_rows = is_divided_ && exchange == nullptr ? geometry.pairs.num_atoms() : num_centers;
    StructureGeometry of_rows = geometry;
    of_rows.pairs.offset = geometry.pairs.offset.first(num_rows + 1);
    features_.resize(num_rows * num_features_);
    derivatives_->Features(of_rows, state_.get(), absl::MakeSpan(features_));
    if (is_divided_) {
      RETURN_IF_ERROR(steps_->Run(state_.get(), features_, geometry.species, num_centers, forces, exchange));
    }
    Matrix3 strain_gradient = {};
    PredictAll<T>(&geometry, features_, geometry.species, num_centers, forces,
                  virial != nullptr ? &strain_gradient : nullptr, atom_virial, prediction);
    if (virial != nullptr) *virial = SymmetricStrain(strain_gradient);
    return absl::OkStatus();
  }

  int num_messages() const override { return steps_->width(); }

  absl::Span<const double> member_energies() const override { return energies_; }

  void MemberForces(int m, absl::Span<double> forces) const override {
    CHECK_EQ(forces.size(), forces_[m].size()) << "the last prediction had no forces, or another number of atoms";
    std::copy(forces_[m].begin(), forces_[m].end(), forces.begin());
  }

  void PredictFromFeatures(absl::Span<const float> features, absl::Span<const uint8_t> species,
                           AtomicPrediction* prediction) override {
    is_divided_ = false;
    PredictAll(nullptr, features, species, species.size(), false, nullptr, {}, prediction);
  }
  void PredictFromFeatures(absl::Span<const double> features, absl::Span<const uint8_t> species,
                           AtomicPrediction* prediction) override {
    is_divided_ = false;
    PredictAll(nullptr, features, species, species.size(), false, nullptr, {}, prediction);
  }

 private:
  // Predicts energies of the first num_centers atoms and, with forces, derivatives after derivatives_->Features of
  // the atoms that all_features [R, F] are of: these centers, or more of which the others send messages. geometry: null
  // where only features are known, which no member with a repulsion allows. strain_gradient: the mean over members is
  // added, unless null. atom_virial: as of PredictCenters.
  template <typename U>
  void PredictAll(const StructureGeometry* geometry, absl::Span<const U> all_features,
                  absl::Span<const uint8_t> all_species, int64_t num_centers, bool forces, Matrix3* strain_gradient,
                  absl::Span<double> atom_virial, AtomicPrediction* prediction) {
    CHECK_LE(num_centers, static_cast<int64_t>(all_species.size()));
    const int64_t num_atoms = static_cast<int64_t>(all_species.size());
    const absl::Span<const uint8_t> species = all_species.first(num_centers);
    CHECK_GE(all_features.size(), num_centers * num_features_);
    const absl::Span<const U> features = all_features.first(num_centers * num_features_);
    const int num_models = static_cast<int>(networks_.size());
    prediction->stress.reset();
    prediction->atom_energy.assign(num_centers, 0.0);
    atom_energy_.resize(num_centers);
    std::fill(atom_virial.begin(), atom_virial.end(), 0.0);
    for (int m = 0; m < num_models; ++m) {
      const bool in_steps = is_divided_ && networks_[m].has_messages();
      if (in_steps) {
        energies_[m] = steps_->energy(m);
        atom_energy_ = steps_->atom_energies(m);
      } else {
        if (networks_[m].has_messages()) networks_[m].SetNeighbors(state_.get());
        energies_[m] = networks_[m].Energies(features, species, absl::MakeSpan(atom_energy_));
      }
      const PairRepulsion& repulsion = repulsion_[m];
      if (!repulsion.empty()) {
        CHECK(geometry != nullptr) << "features alone do not give the energy of a potential with a repulsion";
        repulsion.Compute(*geometry, num_centers, &repelled_);
        energies_[m] += repelled_.energy;
        for (int64_t i = 0; i < num_centers; ++i) atom_energy_[i] += repelled_.atom_energy[i];
      }
      for (int64_t i = 0; i < num_centers; ++i) prediction->atom_energy[i] += atom_energy_[i] / num_models;
      if (!forces) continue;
      slopes_.resize(all_features.size());
      if (in_steps) {
        steps_->Slopes(m, absl::MakeSpan(slopes_));
      } else {
        networks_[m].Slopes(absl::MakeSpan(slopes_).first(features.size()));
        std::fill(slopes_.begin() + features.size(), slopes_.end(), T(0));
      }
      network_force_.resize(3 * num_atoms);
      double strain[9];
      if (atom_virial.empty()) {
        derivatives_->Vjp(state_.get(), slopes_, {}, absl::MakeSpan(network_force_),
                          strain_gradient ? strain : nullptr);
      } else {
        atom_strain_.resize(atom_virial.size());
        derivatives_->VjpByAtom(state_.get(), slopes_, absl::MakeSpan(network_force_), strain,
                                absl::MakeSpan(atom_strain_));
      }
      if (networks_[m].has_messages()) {
        networks_[m].AddMessageForces(absl::MakeSpan(network_force_), strain_gradient ? strain : nullptr,
                                      atom_virial.empty() ? absl::Span<double>() : absl::MakeSpan(atom_strain_));
      }
      forces_[m].assign(network_force_.begin(), network_force_.end());
      for (size_t k = 0; k < atom_virial.size(); ++k) atom_virial[k] += atom_strain_[k] / num_models;
      for (int a = 0; strain_gradient != nullptr && a < 9; ++a) (*strain_gradient)[a] += strain[a] / num_models;
      if (repulsion.empty()) continue;
      for (int64_t c = 0; c < 3 * num_atoms; ++c) forces_[m][c] += repelled_.force[c];
      for (int a = 0; strain_gradient != nullptr && a < 9; ++a) {
        (*strain_gradient)[a] += repelled_.virial[a] / num_models;
      }
      for (size_t k = 0; k < atom_virial.size(); ++k) atom_virial[k] += repelled_.atom_virial[k] / num_models;
    }
    SetMeanEnergy(energies_, prediction);
    prediction->force.clear();
    prediction->force_spread.clear();
    if (forces) SetMeanForces(forces_, num_atoms, prediction);
    prediction->outside.clear();
    if (extrapolation_.empty()) return;
    prediction->outside.assign(num_centers, 0);
    for (const Extrapolation& e : extrapolation_) e.Mark(features, species, absl::MakeSpan(prediction->outside));
  }

  const int num_features_;
  const std::unique_ptr<const DescriptorDerivatives<T>> derivatives_;
  const std::unique_ptr<typename DescriptorDerivatives<T>::State> state_;
  std::deque<AtomNetworks<T>> networks_;  // [members]
  std::unique_ptr<MessageSteps<T>> steps_;
  bool is_divided_ = false;  // the last call had messages of atoms that are no centers, which came by steps_
  std::vector<Extrapolation> extrapolation_;  // of those members that have a training range
  std::vector<double> energies_;              // [members]
  std::vector<PairRepulsion> repulsion_;      // [members]
  PairRepulsion::Result repelled_;            // of one member
  std::vector<std::vector<double>> forces_;   // [members][3N]
  std::vector<T> network_force_;              // [3N] of one member, without its repulsion
  std::vector<T> features_, slopes_;          // [centers, F]
  std::vector<double> atom_energy_;           // [N]
  std::vector<double> atom_strain_;           // [N, 9] of one member
};

ForcePredictor::ForcePredictor(absl::Span<const Potential> models) {
  CHECK(!models.empty());
  if (models[0].mace != nullptr) {
    impl_ = MakeMaceImpl(models);
  } else if (CommitteePrecision(models) == DType::kF32) {
    impl_ = std::make_unique<TypedImpl<float>>(models);
  } else {
    impl_ = std::make_unique<TypedImpl<double>>(models);
  }
}

ForcePredictor::~ForcePredictor() = default;

double ForcePredictor::cutoff() const { return impl_->cutoff(); }
bool ForcePredictor::needs_geometry() const { return impl_->needs_geometry(); }

void ForcePredictor::Predict(const StructureGeometry& geometry, const std::array<bool, 3>& pbc, bool forces,
                             AtomicPrediction* prediction) {
  impl_->Predict(geometry, pbc, forces, prediction);
}

absl::Status ForcePredictor::PredictCenters(const StructureGeometry& geometry, int64_t num_centers, bool forces,
                                            AtomicPrediction* prediction, Matrix3* virial,
                                            absl::Span<double> atom_virial, MessageExchange* exchange) {
  return impl_->PredictCenters(geometry, num_centers, forces, prediction, virial, atom_virial, exchange);
}

int ForcePredictor::num_messages() const { return impl_->num_messages(); }

absl::Span<const double> ForcePredictor::member_energies() const { return impl_->member_energies(); }

void ForcePredictor::MemberForces(int m, absl::Span<double> forces) const { impl_->MemberForces(m, forces); }

void ForcePredictor::PredictFromFeatures(absl::Span<const float> features, absl::Span<const uint8_t> species,
                                         AtomicPrediction* prediction) {
  impl_->PredictFromFeatures(features, species, prediction);
}

void ForcePredictor::PredictFromFeatures(absl::Span<const double> features, absl::Span<const uint8_t> species,
                                         AtomicPrediction* prediction) {
  impl_->PredictFromFeatures(features, species, prediction);
}

}  // namespace rutile
