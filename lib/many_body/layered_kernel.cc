#include "lib/many_body/layered_kernel.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"

namespace rutile {
namespace {

const NetworkShape& Checked(const NetworkShape& shape) {
  CHECK(shape.has_messages()) << "one layer has ManyBodyKernel";
  CHECK(shape.Validate().ok()) << shape.Validate();
  return shape;
}

// Products with weights W [channels, count] of one species: out [count] += W^T in, out [channels] = W in, and sums
// [channels, count] += factor in out^T.
template <typename T>
void AddSent(const T* weights, int64_t channels, int64_t count, const T* in, T* out) {
  for (int64_t c = 0; c < channels; ++c) {
    const T value = in[c], *const row = weights + c * count;
    for (int64_t k = 0; k < count; ++k) out[k] += value * row[k];
  }
}
template <typename T>
void SetReceived(const T* weights, int64_t channels, int64_t count, const T* in, T* out) {
  for (int64_t c = 0; c < channels; ++c) {
    const T* const row = weights + c * count;
    T sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += in[k] * row[k];
    out[c] = sum;
  }
}
template <typename T>
void AddOuter(T factor, int64_t channels, int64_t count, const T* in, const T* out, T* sums) {
  for (int64_t c = 0; c < channels; ++c) {
    const T value = factor * in[c];
    T* const row = sums + c * count;
    for (int64_t k = 0; k < count; ++k) row[k] += value * out[k];
  }
}

// Packs weights [count, channels] as [padded, count] times factor, and adds gradients back.
template <typename T>
void Pack(const T* weights, T factor, int64_t channels, int64_t count, T* packed) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t c = 0; c < channels; ++c) packed[c * count + k] = factor * weights[k * channels + c];
  }
}
template <typename T>
void AddUnpacked(const T* packed, T factor, int64_t channels, int64_t count, T* gradients) {
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t c = 0; c < channels; ++c) gradients[k * channels + c] += factor * packed[c * count + k];
  }
}

}  // namespace

template <typename T>
LayeredKernel<T>::LayeredKernel(const NetworkShape& shape, ThreadPool* pool)
    : shape_(Checked(shape)),
      first_shape_(shape.FirstLayer()),
      second_shape_(shape.SecondLayer()),
      first_(first_shape_, {0, shape.parameters_per_species()}, pool),
      second_(second_shape_, {shape.second_layer_offset(0), shape.parameters_per_species()}, pool),
      message_weights_(
          AlignedBuffer<T>::Zeros(shape.num_species * int64_t{first_.padded_channels()} * shape.moments.messages)),
      vector_weights_(AlignedBuffer<T>::Zeros(shape.num_species * int64_t{first_.padded_channels()} *
                                              shape.moments.vector_messages)),
      message_gradients_(message_weights_.size()),
      vector_gradients_(vector_weights_.size()) {
  if (shape.has_vector_messages()) first_.KeepMoments();
}

template <typename T>
void LayeredKernel<T>::SetFrozen(const std::vector<bool>& species) {
  frozen_ = species;
  first_.DropGradients(species);
  second_.DropGradients(species);
}

template <typename T>
void LayeredKernel<T>::SetPlan(const KernelPlan& plan) {
  first_.SetPlan(plan);
  second_.SetPlan(plan);
}

template <typename T>
void LayeredKernel<T>::Reserve(absl::Span<const int64_t> atoms, bool second_order) {
  first_.Reserve(atoms, second_order);
  second_.Reserve(atoms, second_order);
  int64_t num_atoms = 0;
  for (const int64_t n : atoms) num_atoms += n;
  TakeBuffers(num_atoms, second_order);
}

template <typename T>
void LayeredKernel<T>::TakeBuffers(int64_t num_atoms, bool second_order) {
  const int64_t features = num_atoms * second_shape_.num_features, messages = num_atoms * width();
  messages_.Take(messages);
  message_slopes_.Take(messages);
  features_.Take(features);
  feature_slopes_.Take(features);
  const int64_t invariants = num_atoms * first_.padded_channels();
  bounded_.Take(invariants);
  bound_slopes_.Take(invariants);
  received_.Take(invariants);
  invariant_slopes_.Take(invariants);
  const int64_t vectors = shape_.has_vector_messages() ? 3 * invariants : 0;
  vectors_.Take(vectors);
  received_vectors_.Take(vectors);
  vector_slopes_.Take(vectors);
  if (!second_order) return;
  vector_tangents_.Take(vectors);
  received_vector_tangents_.Take(vectors);
  vector_slope_tangents_.Take(vectors);
  bounded_tangents_.Take(invariants);
  bound_slope_tangents_.Take(invariants);
  received_tangents_.Take(invariants);
  message_tangents_.Take(messages);
  message_slope_tangents_.Take(messages);
  feature_tangents_.Take(features);
  feature_slope_tangents_.Take(features);
}

template <typename T>
void LayeredKernel<T>::PackMessages(absl::Span<const T> parameters, const AtomRows<T>& rows) {
  CHECK(message_sums_ != nullptr) << "SetMessageSums comes first";
  CHECK(rows.row.empty()) << "values alone are read where they lie";
  CHECK_EQ(parameters.size(), shape_.num_parameters());
  const int64_t channels = shape_.moments.channels, padded = first_.padded_channels();
  const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(channels)));
  for (int s = 0; s < shape_.num_species; ++s) {
    Pack(parameters.data() + shape_.message_offset(s), factor, channels, num_messages(),
         message_weights_.data() + s * padded * num_messages());
    Pack(parameters.data() + shape_.vector_offset(s), factor, channels, num_vectors(),
         vector_weights_.data() + s * padded * num_vectors());
  }
}

template <typename T>
AtomRows<T> LayeredKernel<T>::SecondRows(const AtomRows<T>& rows) const {
  const auto size = static_cast<size_t>(rows.num_atoms() * second_shape_.num_features);
  return {{features_.data(), size}, rows.species_offset, rows.structure};
}

template <typename T>
void LayeredKernel<T>::Bound(int64_t num_atoms) {
  const int64_t size = num_atoms * first_.padded_channels();
  const T* const m = first_.invariants();
  for (int64_t i = 0; i < size; ++i) {
    const T factor = 1 / std::sqrt(1 + m[i] * m[i]);
    bounded_[i] = m[i] * factor;
    bound_slopes_[i] = factor * factor * factor;
  }
  if (!shape_.has_vector_messages()) return;
  BoundVectors<T>(Vectors(num_atoms), {first_.moments() + first_.padded_channels(), nullptr},
                  {vectors_.data(), nullptr});
}

template <typename T>
VectorsOfAtoms LayeredKernel<T>::Vectors(int64_t num_atoms) const {
  return {num_atoms, first_.padded_channels(), first_.moments_per_atom()};
}

template <typename T>
void LayeredKernel<T>::BoundTangents(int64_t num_atoms) {
  const int64_t size = num_atoms * first_.padded_channels();
  const T *const m = first_.invariants(), *const dot = first_.tangent_invariants();
  for (int64_t i = 0; i < size; ++i) {
    bounded_tangents_[i] = bound_slopes_[i] * dot[i];
    bound_slope_tangents_[i] = -3 * m[i] / (1 + m[i] * m[i]) * bounded_tangents_[i];
  }
  if (!shape_.has_vector_messages()) return;
  const int64_t at = first_.padded_channels();
  BoundVectors<T>(Vectors(num_atoms), {first_.moments() + at, first_.tangent_moments() + at},
                  {vectors_.data(), vector_tangents_.data()});
}

template <typename T>
void LayeredKernel<T>::Send(const AtomRows<T>& rows, const T* m, const T* a, T* out) const {
  const int64_t padded = first_.padded_channels(), messages = num_messages(), vectors = num_vectors();
  for (int s = 0; s < shape_.num_species; ++s) {
    const T* const weights = message_weights_.data() + s * padded * messages;
    const T* const of_vectors = vector_weights_.data() + s * padded * vectors;
    for (int64_t atom = rows.species_offset[s]; atom < rows.species_offset[s + 1]; ++atom) {
      T* const u = out + atom * width();
      std::fill_n(u, width(), T(0));
      AddSent(weights, padded, messages, m + atom * padded, u);
      for (int64_t c = 0; vectors > 0 && c < 3; ++c) {
        AddSent(of_vectors, padded, vectors, a + (3 * atom + c) * padded, u + messages + c * vectors);
      }
    }
  }
}

template <typename T>
void LayeredKernel<T>::Receive(const AtomRows<T>& rows, const T* u, T* m, T* a) const {
  const int64_t padded = first_.padded_channels(), messages = num_messages(), vectors = num_vectors();
  for (int s = 0; s < shape_.num_species; ++s) {
    const T* const weights = message_weights_.data() + s * padded * messages;
    const T* const of_vectors = vector_weights_.data() + s * padded * vectors;
    for (int64_t atom = rows.species_offset[s]; atom < rows.species_offset[s + 1]; ++atom) {
      const T* const row = u + atom * width();
      SetReceived(weights, padded, messages, row, m + atom * padded);
      for (int64_t c = 0; vectors > 0 && c < 3; ++c) {
        SetReceived(of_vectors, padded, vectors, row + messages + c * vectors, a + (3 * atom + c) * padded);
      }
    }
  }
}

template <typename T>
void LayeredKernel<T>::AddMessageGradients(const AtomRows<T>& rows, absl::Span<const double> factor, const T* u,
                                           const T* m, const T* a) {
  const int64_t padded = first_.padded_channels(), messages = num_messages(), vectors = num_vectors();
  for (int s = 0; s < shape_.num_species; ++s) {
    T* const sums = message_gradients_.data() + s * padded * messages;
    T* const of_vectors = vector_gradients_.data() + s * padded * vectors;
    for (int64_t atom = rows.species_offset[s]; atom < rows.species_offset[s + 1]; ++atom) {
      const T weight = factor.empty() ? T(1) : static_cast<T>(factor[rows.structure[atom]]);
      const T* const row = u + atom * width();
      AddOuter(weight, padded, messages, m + atom * padded, row, sums);
      for (int64_t c = 0; vectors > 0 && c < 3; ++c) {
        AddOuter(weight, padded, vectors, a + (3 * atom + c) * padded, row + messages + c * vectors, of_vectors);
      }
    }
  }
}

template <typename T>
void LayeredKernel<T>::ClearMessageGradients() {
  std::fill(message_gradients_.begin(), message_gradients_.end(), T(0));
  std::fill(vector_gradients_.begin(), vector_gradients_.end(), T(0));
}

template <typename T>
void LayeredKernel<T>::AddMessageGradientsTo(absl::Span<T> gradients) const {
  CHECK_EQ(gradients.size(), shape_.num_parameters());
  const int64_t channels = shape_.moments.channels, padded = first_.padded_channels();
  const T factor = static_cast<T>(1 / std::sqrt(static_cast<double>(channels)));
  for (int s = 0; s < shape_.num_species; ++s) {
    if (!frozen_.empty() && frozen_[s]) continue;
    AddUnpacked(message_gradients_.data() + s * padded * num_messages(), factor, channels, num_messages(),
                gradients.data() + shape_.message_offset(s));
    AddUnpacked(vector_gradients_.data() + s * padded * num_vectors(), factor, channels, num_vectors(),
                gradients.data() + shape_.vector_offset(s));
  }
}

template <typename T>
void LayeredKernel<T>::Propagate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                 bool forces, T* x_gradients) {
  TakeBuffers(rows.num_atoms(), /*second_order=*/false);
  SendMessages(parameters, rows, sums, messages_.data());
  AddSecondLayer(parameters, rows, messages_.data(), sums);
  MessageSlopes(messages_.data(), forces, message_slopes_.data());
  FirstLayerSlopes(rows, message_slopes_.data(), x_gradients);
}

template <typename T>
void LayeredKernel<T>::SendMessages(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                    T* u) {
  PackMessages(parameters, rows);
  TakeBuffers(rows.num_atoms(), /*second_order=*/false);
  first_.ForwardInvariants(parameters, rows, sums);
  Bound(rows.num_atoms());
  Send(rows, bounded_.data(), vectors_.data(), u);
}

template <typename T>
void LayeredKernel<T>::AddSecondLayer(absl::Span<const T> parameters, const AtomRows<T>& rows, const T* u,
                                      absl::Span<double> sums) {
  message_sums_->Sums(u, features_.data());
  const AtomRows<T> second_rows = SecondRows(rows);
  second_sums_.resize(sums.size());
  second_.ForwardInvariants(parameters, second_rows, absl::MakeSpan(second_sums_));
  for (size_t s = 0; s < sums.size(); ++s) sums[s] += second_sums_[s];
  second_.FinishForward(second_rows, nullptr, feature_slopes_.data());
}

template <typename T>
void LayeredKernel<T>::MessageSlopes(const T* u, bool forces, T* ubar) {
  message_sums_->Slopes(u, feature_slopes_.data(), forces, ubar);
}

template <typename T>
void LayeredKernel<T>::FirstLayerSlopes(const AtomRows<T>& rows, const T* ubar, T* x_gradients) {
  Receive(rows, ubar, received_.data(), received_vectors_.data());
  const int64_t size = rows.num_atoms() * first_.padded_channels();
  for (int64_t i = 0; i < size; ++i) invariant_slopes_[i] = bound_slopes_[i] * received_[i];
  if (shape_.has_vector_messages()) {
    BoundVectorSlopes<T>(Vectors(rows.num_atoms()), {first_.moments() + first_.padded_channels(), nullptr},
                         {received_vectors_.data(), nullptr}, {vector_slopes_.data(), nullptr});
  }
  first_.FinishForward(rows, invariant_slopes_.data(), x_gradients,
                       shape_.has_vector_messages() ? vector_slopes_.data() : nullptr);
}

template <typename T>
void LayeredKernel<T>::Forward(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums) {
  Propagate(parameters, rows, sums, /*forces=*/false, nullptr);
}

template <typename T>
void LayeredKernel<T>::Backward(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                absl::Span<const double> slopes, absl::Span<T> gradients) {
  AddEnergyGradients(parameters, rows, slopes, gradients);
}

template <typename T>
void LayeredKernel<T>::Evaluate(absl::Span<const T> parameters, const AtomRows<T>& rows, absl::Span<double> sums,
                                absl::Span<T> atom_energies) {
  PackMessages(parameters, rows);
  TakeBuffers(rows.num_atoms(), /*second_order=*/false);
  first_.Evaluate(parameters, rows, sums, atom_energies);
  Bound(rows.num_atoms());
  Send(rows, bounded_.data(), vectors_.data(), messages_.data());
  message_sums_->Sums(messages_.data(), features_.data());
  second_sums_.resize(sums.size());
  second_energies_.resize(atom_energies.size());
  second_.Evaluate(parameters, SecondRows(rows), absl::MakeSpan(second_sums_), absl::MakeSpan(second_energies_));
  for (size_t s = 0; s < sums.size(); ++s) sums[s] += second_sums_[s];
  for (size_t a = 0; a < atom_energies.size(); ++a) atom_energies[a] += second_energies_[a];
}

template <typename T>
void LayeredKernel<T>::InputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                      absl::Span<T> x_gradients) {
  int32_t num_structures = 0;
  for (int64_t a = 0; a < rows.num_atoms(); ++a) num_structures = std::max(num_structures, rows.structure[a] + 1);
  std::vector<double> sums(num_structures);
  ForwardWithInputGradients(parameters, rows, absl::MakeSpan(sums), x_gradients);
}

template <typename T>
void LayeredKernel<T>::ForwardWithInputGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                 absl::Span<double> sums, absl::Span<T> x_gradients) {
  CHECK_EQ(x_gradients.size(), rows.num_atoms() * shape_.num_features);
  Propagate(parameters, rows, sums, /*forces=*/true, x_gradients.data());
}

template <typename T>
void LayeredKernel<T>::AddEnergyGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                          absl::Span<const double> slopes, absl::Span<T> gradients) {
  ClearMessageGradients();
  first_.AddEnergyGradients(parameters, rows, slopes, gradients);
  second_.AddEnergyGradients(parameters, SecondRows(rows), slopes, gradients);
  AddMessageGradients(rows, slopes, message_slopes_.data(), bounded_.data(), vectors_.data());
  AddMessageGradientsTo(gradients);
}

template <typename T>
void LayeredKernel<T>::AddTangentGradients(absl::Span<const T> /*parameters*/, const AtomRows<T>& rows,
                                           absl::Span<const T> tangents, absl::Span<T> gradients) {
  CHECK_EQ(tangents.size(), rows.num_atoms() * shape_.num_features);
  TakeBuffers(rows.num_atoms(), /*second_order=*/true);
  ClearMessageGradients();
  first_.ForwardTangents(rows, tangents.data());
  BoundTangents(rows.num_atoms());
  Send(rows, bounded_tangents_.data(), vector_tangents_.data(), message_tangents_.data());
  message_sums_->Tangents(messages_.data(), message_tangents_.data(), feature_tangents_.data());
  const AtomRows<T> second_rows = SecondRows(rows);
  second_.ForwardTangents(second_rows, feature_tangents_.data());
  second_.AddGradientsAlong(second_rows, feature_tangents_.data(), nullptr, gradients, feature_slope_tangents_.data());
  message_sums_->TangentSlopes(feature_slopes_.data(), feature_slope_tangents_.data(), message_slope_tangents_.data());
  AddMessageGradients(rows, {}, message_slope_tangents_.data(), bounded_.data(), vectors_.data());
  AddMessageGradients(rows, {}, message_slopes_.data(), bounded_tangents_.data(), vector_tangents_.data());
  Receive(rows, message_slope_tangents_.data(), received_tangents_.data(), received_vector_tangents_.data());
  const int64_t size = rows.num_atoms() * first_.padded_channels();
  for (int64_t i = 0; i < size; ++i) {
    invariant_slopes_[i] = bound_slope_tangents_[i] * received_[i] + bound_slopes_[i] * received_tangents_[i];
  }
  if (shape_.has_vector_messages()) {
    const int64_t at = first_.padded_channels();
    BoundVectorSlopes<T>(Vectors(rows.num_atoms()), {first_.moments() + at, first_.tangent_moments() + at},
                         {received_vectors_.data(), received_vector_tangents_.data()},
                         {vector_slopes_.data(), vector_slope_tangents_.data()});
  }
  first_.AddGradientsAlong(rows, tangents.data(), invariant_slopes_.data(), gradients, nullptr,
                           shape_.has_vector_messages() ? vector_slope_tangents_.data() : nullptr);
  AddMessageGradientsTo(gradients);
}

template <typename T>
void LayeredKernel<T>::AddEnergyAndTangentGradients(absl::Span<const T> parameters, const AtomRows<T>& rows,
                                                    absl::Span<const double> slopes, absl::Span<const T> tangents,
                                                    absl::Span<T> gradients) {
  AddEnergyGradients(parameters, rows, slopes, gradients);
  AddTangentGradients(parameters, rows, tangents, gradients);
}

template class LayeredKernel<float>;
template class LayeredKernel<double>;

}  // namespace rutile
