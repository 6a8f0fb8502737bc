#include "lib/mace/mace_evaluator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/logging.h"
#include "lib/matrix/dense_products.h"

namespace rutile {
namespace {

void FindPairs(const StructureGeometry& geometry, int64_t num_rows, double cutoff, MacePairs* pairs) {
  const PairView& from = geometry.pairs;
  pairs->offset.assign(1, 0);
  pairs->j.clear();
  pairs->vector.clear();
  pairs->distance.clear();
  for (int64_t i = 0; i < num_rows; ++i) {
    for (int64_t p = from.offset[i]; p < from.offset[i + 1]; ++p) {
      const int64_t j = from.j[p] - from.first_atom;
      double r[3], square = 0;
      for (int c = 0; c < 3; ++c) {
        r[c] = geometry.position[3 * j + c] - geometry.position[3 * i + c];
        for (int a = 0; a < 3; ++a) r[c] += from.shift[3 * p + a] * geometry.cell[3 * a + c];
        square += r[c] * r[c];
      }
      if (!(square > 0 && square < cutoff * cutoff)) continue;
      pairs->j.push_back(static_cast<int32_t>(j));
      pairs->vector.insert(pairs->vector.end(), r, r + 3);
      pairs->distance.push_back(std::sqrt(square));
    }
    pairs->offset.push_back(static_cast<int64_t>(pairs->j.size()));
  }
}

}  // namespace

MaceEvaluator::MaceEvaluator(std::shared_ptr<const MaceModel> model)
    : model_(std::move(model)), stride_(MaceLayerSums::Stride(*model_)), first_(*model_, 0) {
  const int64_t k = model_->channels, s = model_->num_species();
  species_up_ = AlignedBuffer<double>::Zeros(s * stride_);
  for (int64_t a = 0; a < s; ++a) std::copy_n(&model_->layers[0].up[a * k], k, &species_up_[a * stride_]);
  if (!model_->has_messages()) return;
  second_ = std::make_unique<MaceLayerSums>(*model_, 1);
  up_ = AlignedBuffer<double>::Zeros(stride_ * stride_);
  for (int64_t r = 0; r < k; ++r) std::copy_n(&model_->layers[1].up[r * k], k, &up_[r * stride_]);
}

void MaceEvaluator::First(const StructureGeometry& geometry, int64_t num_rows, int64_t num_centers) {
  CHECK_LE(num_centers, num_rows);
  num_atoms_ = static_cast<int64_t>(geometry.species.size());
  num_centers_ = num_centers;
  num_rows_ = model_->has_messages() ? num_rows : num_centers;
  species_.assign(geometry.species.begin(), geometry.species.end());
  FindPairs(geometry, num_rows_, model_->neighborhood.cutoff, &pairs_);
  double* const sent = first_u_.Take(num_atoms_ * stride_);
  for (int64_t i = 0; i < num_atoms_; ++i) {
    std::copy_n(species_up_.data() + species_[i] * stride_, stride_, sent + i * stride_);
  }
  readouts_.assign(num_rows_, 0.0);
  first_.Forward(num_rows_, species_.data(), pairs_, sent, nullptr, h_.Take(num_rows_ * stride_), readouts_.data());
  if (!model_->has_messages()) return;
  double* const u = u_.Take(num_atoms_ * stride_);
  std::fill(u, u + num_atoms_ * stride_, 0.0);
  if (num_rows_ > 0) {
    MultiplyDense<double>({h_.data(), num_rows_, stride_, stride_}, {up_.data(), stride_, stride_, stride_}, false, u,
                          stride_);
  }
}

void MaceEvaluator::GetMessages(int64_t begin, int64_t end, double* values, int64_t width) const {
  CHECK(model_->has_messages());
  for (int64_t i = begin; i < end; ++i) {
    std::copy_n(u_.data() + i * stride_, model_->channels, values + (i - begin) * width);
  }
}

void MaceEvaluator::SetMessages(int64_t begin, int64_t end, const double* values, int64_t width) {
  CHECK(model_->has_messages());
  for (int64_t i = begin; i < end; ++i) {
    std::copy_n(values + (i - begin) * width, model_->channels, u_.data() + i * stride_);
  }
}

void MaceEvaluator::Second() {
  if (second_ != nullptr) {
    second_->Forward(num_centers_, species_.data(), pairs_, u_.data(), h_.data(),
                     second_h_.Take(num_centers_ * stride_), readouts_.data());
  }
  atom_energies_.resize(num_centers_);
  energy_ = 0;
  for (int64_t i = 0; i < num_centers_; ++i) {
    atom_energies_[i] = model_->atomic_energies[species_[i]] + model_->shift + model_->scale * readouts_[i];
    energy_ += atom_energies_[i];
  }
}

void MaceEvaluator::BackFromSecond(double* atom_strain) {
  forces_.force.assign(3 * num_atoms_, 0.0);
  std::fill(std::begin(forces_.strain), std::end(forces_.strain), 0.0);
  forces_.atom_strain = atom_strain;
  if (atom_strain != nullptr) std::fill(atom_strain, atom_strain + 9 * num_atoms_, 0.0);
  if (second_ == nullptr) return;
  double* const u_bar = u_bar_.Take(num_atoms_ * stride_);
  double* const h_bar = h_bar_.Take(num_rows_ * stride_);
  std::fill(u_bar, u_bar + num_atoms_ * stride_, 0.0);
  std::fill(h_bar, h_bar + num_rows_ * stride_, 0.0);
  second_->Backward(num_centers_, pairs_, u_.data(), nullptr, h_bar, u_bar, &forces_);
}

void MaceEvaluator::GetMessageSlopes(int64_t begin, int64_t end, double* values, int64_t width) const {
  CHECK(model_->has_messages());
  for (int64_t i = begin; i < end; ++i) {
    std::copy_n(u_bar_.data() + i * stride_, model_->channels, values + (i - begin) * width);
  }
}

void MaceEvaluator::SetMessageSlopes(int64_t begin, int64_t end, const double* values, int64_t width) {
  CHECK(model_->has_messages());
  for (int64_t i = begin; i < end; ++i) {
    std::copy_n(values + (i - begin) * width, model_->channels, u_bar_.data() + i * stride_);
  }
}

void MaceEvaluator::BackFromFirst() {
  const double* h_bar = nullptr;
  if (second_ != nullptr && num_rows_ > 0) {
    const MatrixView<double> up = {up_.data(), stride_, stride_, stride_};
    MultiplyDense<double>({u_bar_.data(), num_rows_, stride_, stride_}, up.Transposed(), true, h_bar_.data(), stride_);
    h_bar = h_bar_.data();
  }
  first_.Backward(num_centers_, pairs_, first_u_.data(), h_bar, nullptr, nullptr, &forces_);
}

}  // namespace rutile
