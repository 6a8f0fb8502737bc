#include "lib/descriptor/moment_descriptor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/moment_basis.h"
#include "lib/descriptor/moment_harmonics.h"

namespace rutile {
namespace {

class MomentDescriptor : public Descriptor {
 public:
  explicit MomentDescriptor(const MomentOptions& options) : options_(options) {
    CHECK(options.Validate().ok()) << options.Validate();
  }

  int num_features() const override { return options_.num_features(); }
  double cutoff() const override { return options_.cutoff; }
  std::unique_ptr<Workspace> MakeWorkspace() const override { return std::make_unique<Workspace>(); }

  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* /*workspace*/,
               absl::Span<double> features) const override {
    ComputeRows(species, neighbors, features);
  }
  void Compute(absl::Span<const uint8_t> species, const NeighborList& neighbors, Workspace* /*workspace*/,
               absl::Span<float> features) const override {
    ComputeRows(species, neighbors, features);
  }

 private:
  template <typename T>
  void ComputeRows(absl::Span<const uint8_t> species, const NeighborList& neighbors, absl::Span<T> features) const {
    const int64_t num_atoms = species.size();
    CHECK_EQ(neighbors.offset.size(), num_atoms + 1);
    CHECK_EQ(features.size(), num_atoms * num_features());
    const int radial = options_.num_radial, harmonics = options_.num_harmonics();
    std::vector<double> phi(radial), phi_slope(radial), y(harmonics), y_slope(3 * harmonics), row(num_features());
    for (int64_t i = 0; i < num_atoms; ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (int64_t p = neighbors.offset[i]; p < neighbors.offset[i + 1]; ++p) {
        const double v[3] = {neighbors.dx[p], neighbors.dy[p], neighbors.dz[p]};
        const double r = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (r <= options_.min_cutoff || r > options_.cutoff) continue;
        RadialFunctions(options_, r, absl::MakeSpan(phi), absl::MakeSpan(phi_slope));
        RealHarmonics(options_.max_l, {v[0] / r, v[1] / r, v[2] / r}, absl::MakeSpan(y), absl::MakeSpan(y_slope));
        double* const to = row.data() + species[neighbors.j[p]] * radial * harmonics;
        for (int n = 0; n < radial; ++n) {
          for (int k = 0; k < harmonics; ++k) to[n * harmonics + k] += phi[n] * y[k];
        }
      }
      std::copy(row.begin(), row.end(), features.begin() + i * num_features());
    }
  }

  const MomentOptions options_;
};

}  // namespace

std::unique_ptr<const Descriptor> MakeMomentDescriptor(const MomentOptions& options) {
  return std::make_unique<MomentDescriptor>(options);
}

}  // namespace rutile
