// ForcePredictor of MACE models that mace-torch trained, and of committees of them.

#include <algorithm>
#include <deque>
#include <vector>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/mace/mace_evaluator.h"
#include "lib/potential/prediction/force_predictor.h"
#include "lib/potential/prediction/force_predictor_impl.h"
#include "lib/structure/cell.h"

namespace rutile {

class ForcePredictor::MaceImpl final : public ForcePredictor::Impl {
 public:
  explicit MaceImpl(absl::Span<const Potential> models) : cutoff_(models[0].descriptor.cutoff()) {
    for (const Potential& model : models) {
      CHECK(model.mace != nullptr && model.descriptor == models[0].descriptor) << "CheckCommittee comes first";
      members_.emplace_back(model.mace);
      columns_.push_back(width_);
      width_ += members_.back().num_messages();
    }
    energies_.resize(models.size());
    forces_.resize(models.size());
  }

  double cutoff() const override { return cutoff_; }
  bool needs_geometry() const override { return true; }
  int num_messages() const override { return width_; }

  void Predict(const StructureGeometry& geometry, const std::array<bool, 3>& pbc, bool forces,
               AtomicPrediction* prediction) override {
    const bool stress = forces && pbc[0] && pbc[1] && pbc[2] && CellVolume(geometry.cell) > 0;
    Matrix3 virial;
    const absl::Status predicted = PredictCenters(geometry, static_cast<int64_t>(geometry.species.size()), forces,
                                                  prediction, stress ? &virial : nullptr, {}, nullptr);
    CHECK(predicted.ok()) << predicted << ": without an exchange nothing can fail";
    if (!stress) return;
    for (double& v : virial) v /= CellVolume(geometry.cell);
    prediction->stress = virial;
  }

  absl::Status PredictCenters(const StructureGeometry& geometry, int64_t num_centers, bool forces,
                              AtomicPrediction* prediction, Matrix3* virial, absl::Span<double> atom_virial,
                              MessageExchange* exchange) override {
    const auto num_atoms = static_cast<int64_t>(geometry.species.size());
    const int num_models = static_cast<int>(members_.size());
    CHECK(forces || (virial == nullptr && atom_virial.empty())) << "a virial comes with forces";
    CHECK(atom_virial.empty() || atom_virial.size() == 9 * geometry.species.size());
    CHECK_LT(num_centers, static_cast<int64_t>(geometry.pairs.offset.size()));
    const bool exchanges = exchange != nullptr && width_ > 0;
    const int64_t num_rows = exchange != nullptr ? num_centers : geometry.pairs.num_atoms();
    for (MaceEvaluator& member : members_) member.First(geometry, num_rows, num_centers);
    if (exchanges) {
      Gather(num_atoms, &MaceEvaluator::GetMessages);
      RETURN_IF_ERROR(exchange->SendOut(width_, absl::MakeSpan(messages_)));
      Scatter(num_centers, num_atoms, &MaceEvaluator::SetMessages);
    }
    prediction->stress.reset();
    prediction->outside.clear();
    prediction->force.clear();
    prediction->force_spread.clear();
    prediction->atom_energy.assign(num_centers, 0.0);
    for (int m = 0; m < num_models; ++m) {
      members_[m].Second();
      energies_[m] = members_[m].energy();
      for (int64_t i = 0; i < num_centers; ++i) {
        prediction->atom_energy[i] += members_[m].atom_energies()[i] / num_models;
      }
    }
    SetMeanEnergy(energies_, prediction);
    if (!forces) return absl::OkStatus();
    atom_strain_.resize(num_models);
    for (int m = 0; m < num_models; ++m) {
      atom_strain_[m].resize(atom_virial.size());
      members_[m].BackFromSecond(atom_virial.empty() ? nullptr : atom_strain_[m].data());
    }
    if (exchanges) {
      Gather(num_atoms, &MaceEvaluator::GetMessageSlopes);
      RETURN_IF_ERROR(exchange->SendHome(width_, absl::MakeSpan(messages_)));
      Scatter(0, num_centers, &MaceEvaluator::SetMessageSlopes);
    }
    Matrix3 strain = {};
    std::fill(atom_virial.begin(), atom_virial.end(), 0.0);
    for (int m = 0; m < num_models; ++m) {
      members_[m].BackFromFirst();
      forces_[m] = members_[m].forces().force;
      for (int a = 0; a < 9; ++a) strain[a] += members_[m].forces().strain[a] / num_models;
      for (size_t k = 0; k < atom_virial.size(); ++k) atom_virial[k] += atom_strain_[m][k] / num_models;
    }
    SetMeanForces(forces_, num_atoms, prediction);
    if (virial != nullptr) *virial = SymmetricStrain(strain);
    return absl::OkStatus();
  }

  absl::Span<const double> member_energies() const override { return energies_; }

  void MemberForces(int m, absl::Span<double> forces) const override {
    CHECK_EQ(forces.size(), forces_[m].size()) << "the last prediction had no forces, or another number of atoms";
    std::copy(forces_[m].begin(), forces_[m].end(), forces.begin());
  }

  void PredictFromFeatures(absl::Span<const float>, absl::Span<const uint8_t>, AtomicPrediction*) override {
    LOG(FATAL) << "features alone do not give the energy of a MACE model";
  }
  void PredictFromFeatures(absl::Span<const double>, absl::Span<const uint8_t>, AtomicPrediction*) override {
    LOG(FATAL) << "features alone do not give the energy of a MACE model";
  }

 private:
  // Copies what all atoms send, or the slopes by it, to messages_, and the rows of atoms [begin, end) back.
  void Gather(int64_t num_atoms, void (MaceEvaluator::*get)(int64_t, int64_t, double*, int64_t) const) {
    messages_.resize(num_atoms * width_);
    for (size_t m = 0; m < members_.size(); ++m) {
      if (members_[m].num_messages() > 0) (members_[m].*get)(0, num_atoms, messages_.data() + columns_[m], width_);
    }
  }
  void Scatter(int64_t begin, int64_t end, void (MaceEvaluator::*set)(int64_t, int64_t, const double*, int64_t)) {
    for (size_t m = 0; m < members_.size(); ++m) {
      if (members_[m].num_messages() == 0) continue;
      (members_[m].*set)(begin, end, messages_.data() + begin * width_ + columns_[m], width_);
    }
  }

  const double cutoff_;
  std::deque<MaceEvaluator> members_;
  std::vector<int> columns_;  // of the members' messages
  int width_ = 0;
  std::vector<double> messages_;  // [atoms, width_]
  std::vector<double> energies_;
  std::vector<std::vector<double>> forces_, atom_strain_;  // [members]
};

std::unique_ptr<ForcePredictor::Impl> ForcePredictor::MakeMaceImpl(absl::Span<const Potential> models) {
  return std::make_unique<MaceImpl>(models);
}

}  // namespace rutile
