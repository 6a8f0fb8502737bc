#include "lib/descriptor/message_moments.h"

#include <algorithm>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/moments/message_edges.h"
#include "lib/descriptor/kernels/moments/moment_tables.h"
#include "lib/machine/aligned_buffer.h"
#include "lib/matrix/dense_products.h"

namespace rutile {

template <typename T>
class MessageMoments<T>::Impl {
 public:
  Impl(const MomentOptions& options, int num_messages, int num_vectors, absl::Span<const double> scale)
      : tables_(options),
        messages_(num_messages),
        vectors_(num_vectors),
        sent_width_(messages_ + 3 * vectors_),
        functions_(int64_t{options.num_radial} * options.num_harmonics()),
        width_(MessageRowWidth(tables_)),
        scale_(scale.begin(), scale.end()) {
    CHECK_GE(num_messages, 1);
    CHECK_GE(num_vectors, 0);
    CHECK_LE(num_vectors, num_messages);
    CHECK_EQ(static_cast<int64_t>(scale.size()), functions_);
  }

  int num_features() const { return static_cast<int>(messages_ * functions_); }

  void Sums(const MessageSites<T>& sites, const T* u, T* x) {
    const MomentView<T>& all = Neighbors(sites);
    T* const sums = sums_.Take(messages_ * width_);
    for (int64_t i = 0; i < sites.centers; ++i) {
      const int64_t n = TakeEdges(all, i, /*slopes=*/false);
      MultiplyDense<T>(Messages(sites, u, &sent_).Transposed(), Rows(n), false, sums, width_);
      PutFeatures(sums, x + sites.row[i] * num_features());
    }
  }

  void Slopes(const MessageSites<T>& sites, const T* u, const T* xbar, T* ubar, T* force, double* strain_gradient,
              double* atom_strain) {
    const MomentView<T>& all = Neighbors(sites);
    Clear(sites, ubar);
    for (int64_t i = 0; i < sites.centers; ++i) {
      const int64_t n = TakeEdges(all, i, force != nullptr);
      const MatrixView<T> bar = Features(xbar + sites.row[i] * num_features(), &features_);
      MultiplyDense<T>(Rows(n), bar.Transposed(), false, received_.Take(n * messages_), messages_);
      AddToMessages(sites, received_.data(), ubar);
      AddToVectors(sites, received_.data(), nullptr, ubar);
      if (force == nullptr) continue;
      T* const q = weights_.Take(n * width_);
      MultiplyDense<T>(Messages(sites, u, &sent_), bar, false, q, width_);
      T* const f = pair_forces_.Take(3 * n);
      MessageForces(tables_, edges_, q, f);
      AddTurningForces(sites, u, received_.data(), f);
      for (int64_t e = 0; e < n; ++e) {
        const T length = edges_.r[e];
        const T r[3] = {length * edges_.x[e], length * edges_.y[e], length * edges_.z[e]};
        for (int a = 0; a < 3; ++a) {
          force[3 * i + a] += f[3 * e + a];
          force[3 * int64_t{edges_.j[e]} + a] -= f[3 * e + a];
          for (int b = 0; strain_gradient != nullptr && b < 3; ++b) {
            const double share = static_cast<double>(f[3 * e + a]) * r[b];
            strain_gradient[3 * a + b] += share;
            if (atom_strain == nullptr) continue;
            atom_strain[9 * i + 3 * a + b] += 0.5 * share;
            atom_strain[9 * int64_t{edges_.j[e]} + 3 * a + b] += 0.5 * share;
          }
        }
      }
    }
  }

  void Tangents(const MessageSites<T>& sites, const T* u, const T* udot, const T* direction, const double* strain,
                T* xdot) {
    const MomentView<T>& all = Neighbors(sites);
    T* const sums = sums_.Take(messages_ * width_);
    for (int64_t i = 0; i < sites.centers; ++i) {
      const int64_t n = TakeEdges(all, i, /*slopes=*/true);
      FindChanges(i, n, direction, strain);
      const MatrixView<T> sent_changes = Messages(sites, udot, &sent_);
      AddTurns(sites, u, sent_.data());
      MultiplyDense<T>(sent_changes.Transposed(), Rows(n), false, sums, width_);
      MultiplyDense<T>(Messages(sites, u, &sent_).Transposed(), RowChanges(n), true, sums, width_);
      PutFeatures(sums, xdot + sites.row[i] * num_features());
    }
  }

  void TangentSlopes(const MessageSites<T>& sites, const T* xbar, const T* xbardot, const T* direction,
                     const double* strain, T* ubardot) {
    const MomentView<T>& all = Neighbors(sites);
    Clear(sites, ubardot);
    for (int64_t i = 0; i < sites.centers; ++i) {
      const int64_t n = TakeEdges(all, i, /*slopes=*/true), at = sites.row[i] * num_features();
      T* const received = received_.Take(n * messages_);
      FindChanges(i, n, direction, strain);
      const MatrixView<T> rows = Rows(n);
      MultiplyDense<T>(rows, Features(xbardot + at, &features_).Transposed(), false, received, messages_);
      const MatrixView<T> bar = Features(xbar + at, &features_);
      MultiplyDense<T>(RowChanges(n), bar.Transposed(), true, received, messages_);
      AddToMessages(sites, received, ubardot);
      if (vectors_ == 0) continue;
      AddToVectors(sites, received, nullptr, ubardot);
      T* const at_rest = at_rest_.Take(n * messages_);
      MultiplyDense<T>(rows, bar.Transposed(), false, at_rest, messages_);
      AddToVectors(sites, at_rest, turns_.data(), ubardot);
    }
  }

 private:
  static const MomentView<T>& Neighbors(const MessageSites<T>& sites) {
    const auto* const own = dynamic_cast<const MomentNeighbors<T>*>(sites.state);
    CHECK(own != nullptr) << "the state is not one of MakeMomentDerivatives";
    CHECK_EQ(own->num_atoms, sites.atoms);
    CHECK_LE(sites.centers, own->num_centers) << "the neighbors of a center are unknown";
    return own->all;
  }

  void Clear(const MessageSites<T>& sites, T* u) const {
    for (int64_t i = 0; i < sites.atoms; ++i) std::fill_n(u + sites.row[i] * sent_width_, sent_width_, T(0));
  }

  // Makes edges_ those of atom i and returns their number.
  int64_t TakeEdges(const MomentView<T>& all, int64_t i, bool slopes) {
    FindMessageEdges(tables_, all, i, slopes, &edges_);
    return edges_.count;
  }

  // Functions of the neighbors [n, width].
  MatrixView<T> Rows(int64_t n) {
    T* const rows = rows_.Take(n * width_);
    MessageRows(tables_, edges_, rows);
    return {rows, n, width_, width_};
  }
  // Computes how the vectors r_ij of atom i change, in changes_, and with vectors how their unit vectors do, in turns_.
  void FindChanges(int64_t i, int64_t n, const T* direction, const double* strain) {
    T* const change = changes_.Take(3 * n);
    T* const turn = vectors_ > 0 ? turns_.Take(3 * n) : nullptr;
    for (int64_t e = 0; e < n; ++e) {
      const T length = edges_.r[e];
      const T r[3] = {length * edges_.x[e], length * edges_.y[e], length * edges_.z[e]};
      for (int a = 0; a < 3; ++a) {
        T sum = direction[3 * int64_t{edges_.j[e]} + a] - direction[3 * i + a];
        for (int b = 0; strain != nullptr && b < 3; ++b) sum += static_cast<T>(strain[3 * a + b]) * r[b];
        change[3 * e + a] = sum;
      }
      if (turn == nullptr) continue;
      const T unit[3] = {edges_.x[e], edges_.y[e], edges_.z[e]};
      T along = 0;
      for (int a = 0; a < 3; ++a) along += unit[a] * change[3 * e + a];
      for (int a = 0; a < 3; ++a) turn[3 * e + a] = (change[3 * e + a] - along * unit[a]) / length;
    }
  }
  MatrixView<T> RowChanges(int64_t n) {
    T* const rows = row_changes_.Take(n * width_);
    MessageRowChanges(tables_, edges_, changes_.data(), rows);
    return {rows, n, width_, width_};
  }

  const T* Sent(const MessageSites<T>& sites, const T* u, int64_t e) const {
    return u + sites.row[edges_.j[e]] * sent_width_;
  }
  T* Sent(const MessageSites<T>& sites, T* u, int64_t e) const { return u + sites.row[edges_.j[e]] * sent_width_; }

  // Gathers what reaches atom i of what the neighbors send: [n, messages].
  MatrixView<T> Messages(const MessageSites<T>& sites, const T* u, AlignedBuffer<T>* buffer) const {
    T* const sent = buffer->Take(edges_.count * messages_);
    for (int64_t e = 0; e < edges_.count; ++e) std::copy_n(Sent(sites, u, e), messages_, sent + e * messages_);
    for (int64_t e = 0; vectors_ > 0 && e < edges_.count; ++e) {
      const T unit[3] = {edges_.x[e], edges_.y[e], edges_.z[e]};
      AddAlong(Sent(sites, u, e) + messages_, unit, sent + e * messages_);
    }
    return {sent, edges_.count, messages_, messages_};
  }
  // out [vectors] += the products of vectors w [3, vectors] with a direction.
  void AddAlong(const T* w, const T* direction, T* out) const {
    const T *const y = w + vectors_, *const z = y + vectors_;
    for (int64_t k = 0; k < vectors_; ++k) out[k] += w[k] * direction[0] + y[k] * direction[1] + z[k] * direction[2];
  }
  // Adds to sent [n, messages] how it changes as neighbors' vectors stay and unit vectors turn.
  void AddTurns(const MessageSites<T>& sites, const T* u, T* sent) const {
    for (int64_t e = 0; vectors_ > 0 && e < edges_.count; ++e) {
      AddAlong(Sent(sites, u, e) + messages_, turns_.data() + 3 * e, sent + e * messages_);
    }
  }
  // Adds to f [n, 3] the derivatives by r_ij of received . (the vectors' part of what reaches atom i), at constant
  // received [n, messages]: that of w . u_ij is (w - (w . u_ij) u_ij) / r.
  void AddTurningForces(const MessageSites<T>& sites, const T* u, const T* received, T* f) const {
    for (int64_t e = 0; vectors_ > 0 && e < edges_.count; ++e) {
      const T unit[3] = {edges_.x[e], edges_.y[e], edges_.z[e]};
      const T *const w = Sent(sites, u, e) + messages_, *const q = received + e * messages_;
      T sum[3], along = 0;
      for (int a = 0; a < 3; ++a) {
        sum[a] = 0;
        for (int64_t k = 0; k < vectors_; ++k) sum[a] += q[k] * w[a * vectors_ + k];
        along += sum[a] * unit[a];
      }
      for (int a = 0; a < 3; ++a) f[3 * e + a] += (sum[a] - along * unit[a]) / edges_.r[e];
    }
  }
  // Adds received [n, messages] to the rows of the neighbors that sent them, and received times the unit vectors, or
  // times `turns` [n, 3], to those of their vectors.
  void AddToMessages(const MessageSites<T>& sites, const T* received, T* u) const {
    for (int64_t e = 0; e < edges_.count; ++e, received += messages_) {
      T* const to = Sent(sites, u, e);
      for (int64_t k = 0; k < messages_; ++k) to[k] += received[k];
    }
  }
  void AddToVectors(const MessageSites<T>& sites, const T* received, const T* turns, T* u) const {
    for (int64_t e = 0; vectors_ > 0 && e < edges_.count; ++e, received += messages_) {
      const T unit[3] = {edges_.x[e], edges_.y[e], edges_.z[e]};
      const T* const factor = turns == nullptr ? unit : turns + 3 * e;
      T* const to = Sent(sites, u, e) + messages_;
      for (int a = 0; a < 3; ++a) {
        for (int64_t k = 0; k < vectors_; ++k) to[a * vectors_ + k] += factor[a] * received[k];
      }
    }
  }

  // Between features [messages, functions] and sums over rows [messages, width].
  void PutFeatures(const T* sums, T* x) const {
    for (int64_t k = 0; k < messages_; ++k, sums += width_, x += functions_) {
      for (int64_t f = 0; f < functions_; ++f) x[f] = scale_[f] * sums[f];
    }
  }
  MatrixView<T> Features(const T* x, AlignedBuffer<T>* buffer) const {
    T* const padded = buffer->Take(messages_ * width_);
    for (int64_t k = 0; k < messages_; ++k, x += functions_) {
      T* const to = padded + k * width_;
      for (int64_t f = 0; f < functions_; ++f) to[f] = scale_[f] * x[f];
      std::fill(to + functions_, to + width_, T(0));
    }
    return {padded, messages_, width_, width_};
  }

  const MomentTables<T> tables_;
  const int64_t messages_, vectors_, sent_width_, functions_, width_;
  const std::vector<T> scale_;
  MessageEdges<T> edges_;  // of the current atom
  AlignedBuffer<T> rows_, row_changes_, weights_, sums_, features_, sent_, received_, at_rest_, pair_forces_;
  AlignedBuffer<T> changes_, turns_;  // [n, 3] of r_ij and of its unit vector
};

template <typename T>
MessageMoments<T>::MessageMoments(const MomentOptions& options, int num_messages, int num_vectors,
                                  absl::Span<const double> scale)
    : impl_(std::make_unique<Impl>(options, num_messages, num_vectors, scale)) {}

template <typename T>
MessageMoments<T>::~MessageMoments() = default;

template <typename T>
int MessageMoments<T>::num_features() const {
  return impl_->num_features();
}

template <typename T>
void MessageMoments<T>::Sums(const MessageSites<T>& sites, const T* u, T* x) {
  impl_->Sums(sites, u, x);
}

template <typename T>
void MessageMoments<T>::Slopes(const MessageSites<T>& sites, const T* u, const T* xbar, T* ubar, T* force,
                               double* strain_gradient, double* atom_strain) {
  impl_->Slopes(sites, u, xbar, ubar, force, strain_gradient, atom_strain);
}

template <typename T>
void MessageMoments<T>::Tangents(const MessageSites<T>& sites, const T* u, const T* udot, const T* direction,
                                 const double* strain, T* xdot) {
  impl_->Tangents(sites, u, udot, direction, strain, xdot);
}

template <typename T>
void MessageMoments<T>::TangentSlopes(const MessageSites<T>& sites, const T* xbar, const T* xbardot, const T* direction,
                                      const double* strain, T* ubardot) {
  impl_->TangentSlopes(sites, xbar, xbardot, direction, strain, ubardot);
}

template class MessageMoments<float>;
template class MessageMoments<double>;

}  // namespace rutile
