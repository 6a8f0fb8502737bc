#include "lib/potential/model/atom_networks.h"

#include <algorithm>
#include <numeric>

#include "lib/base/logging.h"
#include "lib/many_body/atom_kernel_factory.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> ConvertedParameters(const Potential& potential) {
  const std::vector<double> values = potential.parameters.ToDoubles();
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
std::vector<T> SlopeScale(const Potential& potential) {
  std::vector<T> result;
  for (const double scale : potential.feature_scaling.scale) {
    result.push_back(static_cast<T>(scale / potential.energy_scaling.scale));
  }
  return result;
}

}  // namespace

template <typename T>
AtomNetworks<T>::AtomNetworks(const Potential& potential)
    : num_species_(potential.shape.num_species),
      num_features_(potential.shape.num_features),
      num_messages_(potential.shape.moments.message_width()),
      energy_scaling_(potential.energy_scaling),
      mean_(potential.feature_scaling.mean),
      scale_(potential.feature_scaling.scale),
      atomic_energies_(potential.atomic_energies),
      slope_scale_(SlopeScale<T>(potential)),
      parameters_(ConvertedParameters<T>(potential)),
      layers_(potential.shape.has_messages() ? std::make_unique<LayeredKernel<T>>(potential.shape) : nullptr),
      one_layer_(layers_ != nullptr ? nullptr : MakeAtomKernel<T>(potential.shape)),
      kernel_(layers_ != nullptr ? static_cast<AtomKernel<T>*>(layers_.get()) : one_layer_.get()),
      messages_(MakeStructureMessages<T>(potential.descriptor, potential.shape, potential.feature_scaling)) {
  kernel_->SetMessageSums(messages_.get());
  if (messages_ != nullptr) messages_->KeepAtomStrains();
  CHECK_EQ(mean_.size(), num_species_ * num_features_);
  CHECK_EQ(scale_.size(), num_species_ * num_features_);
  CHECK_EQ(atomic_energies_.size(), num_species_);
}

template <typename T>
template <typename U>
double AtomNetworks<T>::PlaceAtoms(absl::Span<const U> features, absl::Span<const uint8_t> species) {
  const int64_t num_atoms = static_cast<int64_t>(species.size());
  CHECK_EQ(features.size(), num_atoms * num_features_);
  // The kernel needs atoms sorted by species, which a counting sort does.
  offset_.assign(num_species_ + 1, 0);
  for (const uint8_t s : species) ++offset_[s + 1];
  for (int s = 0; s < num_species_; ++s) offset_[s + 1] += offset_[s];
  next_ = offset_;
  species_.assign(species.begin(), species.end());
  row_.resize(num_atoms);
  x_.resize(num_atoms * num_features_);
  double constant = energy_scaling_.shift * static_cast<double>(num_atoms);
  for (int64_t atom = 0; atom < num_atoms; ++atom) {
    const int s = species[atom];
    const double* const mean = &mean_[s * num_features_];
    const double* const scale = &scale_[s * num_features_];
    const U* const from = &features[atom * num_features_];
    row_[atom] = static_cast<int32_t>(next_[s]++);
    T* const to = &x_[int64_t{row_[atom]} * num_features_];
    for (int f = 0; f < num_features_; ++f) to[f] = static_cast<T>((from[f] - mean[f]) * scale[f]);
    constant += atomic_energies_[s];
  }
  return constant;
}

template <typename T>
template <typename U>
double AtomNetworks<T>::Energies(absl::Span<const U> features, absl::Span<const uint8_t> species,
                                 absl::Span<double> atom_energies) {
  const int64_t num_atoms = static_cast<int64_t>(species.size());
  CHECK(atom_energies.empty() || atom_energies.size() == num_atoms);
  const double constant = PlaceAtoms(features, species);
  structure_.assign(num_atoms, 0);
  if (messages_ != nullptr) {
    CHECK(neighbors_ != nullptr) << "SetNeighbors comes first";
    messages_->Clear();
    messages_->Add({neighbors_, row_.data(), num_atoms, num_atoms});
  }
  double sum = 0;
  outputs_.resize(num_atoms);
  kernel_->Evaluate(parameters_, Rows(), absl::MakeSpan(&sum, 1), absl::MakeSpan(outputs_));
  for (size_t atom = 0; atom < atom_energies.size(); ++atom) {
    atom_energies[atom] =
        outputs_[row_[atom]] / energy_scaling_.scale + energy_scaling_.shift + atomic_energies_[species[atom]];
  }
  return constant + sum / energy_scaling_.scale;
}

template <typename T>
void AtomNetworks<T>::Slopes(absl::Span<T> slopes) {
  CHECK_EQ(slopes.size(), x_.size()) << "Energies comes first";
  x_gradients_.resize(x_.size());
  kernel_->InputGradients(parameters_, Rows(), absl::MakeSpan(x_gradients_));
  PutSlopes(slopes);
}

template <typename T>
void AtomNetworks<T>::PutSlopes(absl::Span<T> slopes) const {
  for (size_t atom = 0; atom < species_.size(); ++atom) {
    const T* const from = &x_gradients_[int64_t{row_[atom]} * num_features_];
    const T* const scale = &slope_scale_[species_[atom] * num_features_];
    T* const to = &slopes[atom * num_features_];
    for (int f = 0; f < num_features_; ++f) to[f] = from[f] * scale[f];
  }
}

template <typename T>
void AtomNetworks<T>::AddMessageForces(absl::Span<T> force, double* strain_gradient,
                                       absl::Span<double> atom_strain) const {
  const double per_energy = 1 / energy_scaling_.scale;
  messages_->AddForces(0, per_energy, force, strain_gradient);
  const absl::Span<const double> of_atoms = messages_->atom_strain(0);
  for (size_t c = 0; c < atom_strain.size(); ++c) atom_strain[c] += per_energy * of_atoms[c];
}

template <typename T>
void AtomNetworks<T>::ToRows(absl::Span<const double> values, std::vector<T>* rows) const {
  rows->resize(values.size());
  const size_t width = num_messages_, num_sorted = species_.size();
  for (size_t atom = 0; atom * width < values.size(); ++atom) {
    T* const to = rows->data() + (atom < num_sorted ? row_[atom] : atom) * width;
    for (size_t k = 0; k < width; ++k) to[k] = static_cast<T>(values[atom * width + k]);
  }
}

template <typename T>
void AtomNetworks<T>::FromRows(const std::vector<T>& rows, absl::Span<double> values) const {
  CHECK_EQ(rows.size(), values.size());
  const size_t width = num_messages_, num_sorted = species_.size();
  for (size_t atom = 0; atom * width < values.size(); ++atom) {
    const T* const from = rows.data() + (atom < num_sorted ? row_[atom] : atom) * width;
    std::copy_n(from, width, values.data() + atom * width);
  }
}

template <typename T>
void AtomNetworks<T>::SendMessages(absl::Span<const T> features, absl::Span<const uint8_t> species, bool only_send,
                                   absl::Span<double> messages) {
  CHECK(layers_ != nullptr) << "atoms of one layer send nothing";
  constant_ = PlaceAtoms(features, species);
  structure_.resize(species.size());
  std::iota(structure_.begin(), structure_.end(), 0);
  sums_.resize(only_send ? 0 : species.size());
  sent_.resize(species.size() * num_messages_);
  layers_->SendMessages(parameters_, Rows(), absl::MakeSpan(sums_), sent_.data());
  FromRows(sent_, messages);
}

template <typename T>
double AtomNetworks<T>::EnergiesOfMessages(absl::Span<const double> messages, absl::Span<double> atom_energies) {
  const int64_t num_sorted = static_cast<int64_t>(species_.size());
  const int64_t num_atoms = static_cast<int64_t>(messages.size()) / num_messages_;
  CHECK(neighbors_ != nullptr) << "SetNeighbors comes first";
  CHECK_EQ(static_cast<int64_t>(sums_.size()), num_sorted) << "SendMessages comes first, of atoms with energies";
  CHECK_LE(num_sorted, num_atoms);
  ToRows(messages, &sent_);
  for (int64_t atom = num_sorted; atom < num_atoms; ++atom) row_.push_back(static_cast<int32_t>(atom));
  messages_->Clear();
  messages_->Add({neighbors_, row_.data(), num_atoms, num_sorted});
  layers_->AddSecondLayer(parameters_, Rows(), sent_.data(), absl::MakeSpan(sums_));
  double sum = 0;
  for (int64_t atom = 0; atom < num_sorted; ++atom) {
    const double energy = sums_[row_[atom]] / energy_scaling_.scale;
    sum += energy;
    atom_energies[atom] = energy + energy_scaling_.shift + atomic_energies_[species_[atom]];
  }
  return constant_ + sum;
}

template <typename T>
void AtomNetworks<T>::MessageSlopes(bool forces, absl::Span<double> message_slopes) {
  sent_slopes_.resize(sent_.size());
  layers_->MessageSlopes(sent_.data(), forces, sent_slopes_.data());
  FromRows(sent_slopes_, message_slopes);
}

template <typename T>
void AtomNetworks<T>::SlopesOfMessages(absl::Span<const double> message_slopes, absl::Span<T> slopes) {
  CHECK_EQ(slopes.size(), x_.size()) << "SendMessages comes first";
  CHECK_EQ(message_slopes.size(), species_.size() * num_messages_);
  ToRows(message_slopes, &sent_slopes_);
  x_gradients_.resize(x_.size());
  layers_->FirstLayerSlopes(Rows(), sent_slopes_.data(), x_gradients_.data());
  PutSlopes(slopes);
}

template class AtomNetworks<float>;
template class AtomNetworks<double>;
template double AtomNetworks<float>::Energies(absl::Span<const float>, absl::Span<const uint8_t>, absl::Span<double>);
template double AtomNetworks<float>::Energies(absl::Span<const double>, absl::Span<const uint8_t>, absl::Span<double>);
template double AtomNetworks<double>::Energies(absl::Span<const float>, absl::Span<const uint8_t>, absl::Span<double>);
template double AtomNetworks<double>::Energies(absl::Span<const double>, absl::Span<const uint8_t>, absl::Span<double>);

}  // namespace rutile
