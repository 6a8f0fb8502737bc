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
  Impl(const MomentOptions& options, int num_messages, absl::Span<const double> scale)
      : tables_(options),
        messages_(num_messages),
        functions_(int64_t{options.num_radial} * options.num_harmonics()),
        width_(MessageRowWidth(tables_)),
        scale_(scale.begin(), scale.end()) {
    CHECK_GE(num_messages, 1);
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
      AddToMessages(sites, ubar);
      if (force == nullptr) continue;
      T* const q = weights_.Take(n * width_);
      MultiplyDense<T>(Messages(sites, u, &sent_), bar, false, q, width_);
      T* const f = vectors_.Take(3 * n);
      MessageForces(tables_, edges_, q, f);
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
      MultiplyDense<T>(Messages(sites, udot, &sent_).Transposed(), Rows(n), false, sums, width_);
      const MatrixView<T> changes = RowChanges(i, n, direction, strain);
      MultiplyDense<T>(Messages(sites, u, &sent_).Transposed(), changes, true, sums, width_);
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
      MultiplyDense<T>(Rows(n), Features(xbardot + at, &features_).Transposed(), false, received, messages_);
      const MatrixView<T> changes = RowChanges(i, n, direction, strain);
      MultiplyDense<T>(changes, Features(xbar + at, &features_).Transposed(), true, received, messages_);
      AddToMessages(sites, ubardot);
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
    for (int64_t i = 0; i < sites.atoms; ++i) std::fill_n(u + sites.row[i] * messages_, messages_, T(0));
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
  MatrixView<T> RowChanges(int64_t i, int64_t n, const T* direction, const double* strain) {
    T* const change = vectors_.Take(3 * n);
    for (int64_t e = 0; e < n; ++e) {
      const T length = edges_.r[e];
      const T r[3] = {length * edges_.x[e], length * edges_.y[e], length * edges_.z[e]};
      for (int a = 0; a < 3; ++a) {
        T sum = direction[3 * int64_t{edges_.j[e]} + a] - direction[3 * i + a];
        for (int b = 0; strain != nullptr && b < 3; ++b) sum += static_cast<T>(strain[3 * a + b]) * r[b];
        change[3 * e + a] = sum;
      }
    }
    T* const rows = row_changes_.Take(n * width_);
    MessageRowChanges(tables_, edges_, change, rows);
    return {rows, n, width_, width_};
  }

  // Gathers what the neighbors send: [n, messages].
  MatrixView<T> Messages(const MessageSites<T>& sites, const T* u, AlignedBuffer<T>* buffer) const {
    T* const sent = buffer->Take(edges_.count * messages_);
    for (int64_t e = 0; e < edges_.count; ++e) {
      std::copy_n(u + sites.row[edges_.j[e]] * messages_, messages_, sent + e * messages_);
    }
    return {sent, edges_.count, messages_, messages_};
  }
  void AddToMessages(const MessageSites<T>& sites, T* u) const {
    const T* from = received_.data();
    for (int64_t e = 0; e < edges_.count; ++e, from += messages_) {
      T* const to = u + sites.row[edges_.j[e]] * messages_;
      for (int64_t k = 0; k < messages_; ++k) to[k] += from[k];
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
  const int64_t messages_, functions_, width_;
  const std::vector<T> scale_;
  MessageEdges<T> edges_;  // of the current atom
  AlignedBuffer<T> rows_, row_changes_, weights_, sums_, features_, sent_, received_, vectors_;
};

template <typename T>
MessageMoments<T>::MessageMoments(const MomentOptions& options, int num_messages, absl::Span<const double> scale)
    : impl_(std::make_unique<Impl>(options, num_messages, scale)) {}

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
