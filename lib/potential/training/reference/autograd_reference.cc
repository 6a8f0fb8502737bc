#include "lib/potential/training/reference/autograd_reference.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

constexpr double kPi = 3.14159265358979323846;

at::Tensor Index(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

at::Tensor CutoffFunction(const at::Tensor& r, double cutoff) {
  return at::where(r < cutoff, 0.5 * (at::cos(kPi * r / cutoff) + 1), at::zeros_like(r));
}

// Returns Chebyshev polynomials [n, order + 1] of x [n].
at::Tensor Chebyshev(const at::Tensor& x, int order) {
  std::vector<at::Tensor> t = {at::ones_like(x), x};
  while (static_cast<int>(t.size()) <= order) t.push_back(2 * x * t[t.size() - 1] - t[t.size() - 2]);
  t.resize(order + 1);
  return at::stack(t, 1);
}

// The pairs within the cutoffs: [n] atom numbers, [n, 3] lattice shifts.
struct Pairs {
  std::vector<int64_t> i, j;
  at::Tensor shift;
};

Pairs AllPairs(const NamedTensors& batch, int64_t num_atoms) {
  const absl::Span<const int64_t> offset = batch.At("pair_offset").values<int64_t>();
  const absl::Span<const int32_t> j = batch.At("pair_j").values<int32_t>();
  Pairs pairs;
  for (int64_t a = 0; a < num_atoms; ++a) {
    for (int64_t p = offset[a]; p < offset[a + 1]; ++p) {
      pairs.i.push_back(a);
      pairs.j.push_back(j[p]);
    }
  }
  const auto n = static_cast<int64_t>(pairs.i.size());
  CHECK_EQ(offset[0], 0);
  pairs.shift = ToTorch(batch.At("pair_shift")).narrow(0, 0, n).to(at::kDouble);
  return pairs;
}

// Returns features [A, F] of atoms with geometry, and 0 for the others.
at::Tensor Features(const ChebyshevOptions& options, const NamedTensors& batch, const at::Tensor& position,
                    const at::Tensor& strain) {
  const int64_t num_atoms = position.size(0);
  const Pairs pairs = AllPairs(batch, num_atoms);
  const at::Tensor i = Index(pairs.i), j = Index(pairs.j);
  const at::Tensor structure = StructureOfAtoms(batch).index_select(0, i);
  const at::Tensor cell = ToTorch(batch.At("cell")).index_select(0, structure);
  at::Tensor vector =
      position.index_select(0, j) - position.index_select(0, i) + at::matmul(pairs.shift.unsqueeze(1), cell).squeeze(1);
  vector = vector + at::matmul(strain.index_select(0, structure), vector.unsqueeze(2)).squeeze(2);
  const at::Tensor r = vector.square().sum(1).sqrt();
  const at::Tensor unit = vector / r.unsqueeze(1);
  const std::vector<double> spins = options.TypeSpins();
  const at::Tensor species = ToTorch(batch.At("species")).narrow(0, 0, num_atoms).to(at::kLong);
  const at::Tensor spin = at::tensor(spins, at::kDouble).index_select(0, species.index_select(0, j));

  const auto add_up = [&](const at::Tensor& terms, const at::Tensor& atoms) {
    return at::zeros({num_atoms, terms.size(1)}, at::kDouble).index_add(0, atoms, terms);
  };
  const at::Tensor distance = r.detach();
  const at::Tensor radial = at::nonzero((distance > options.min_cutoff) & (distance <= options.rad_cutoff)).view({-1});
  const at::Tensor r_radial = r.index_select(0, radial);
  const at::Tensor radial_terms = Chebyshev(2 * r_radial / options.rad_cutoff - 1, options.rad_order) *
                                  CutoffFunction(r_radial, options.rad_cutoff).unsqueeze(1);
  const at::Tensor radial_atoms = i.index_select(0, radial);

  // Returns angular sums with w = 1 and, with several species, those with typespins.
  const auto angular_blocks = [&](const AngularSet& set) {
    // Lists pairs p < q of the same atom, both within the cutoff.
    const at::Tensor angular = at::nonzero((distance > options.min_cutoff) & (distance <= set.cutoff)).view({-1});
    const auto* const near = angular.data_ptr<int64_t>();
    std::vector<int64_t> first, second;
    for (int64_t a = 0; a < angular.numel(); ++a) {
      for (int64_t b = a + 1; b < angular.numel() && pairs.i[near[b]] == pairs.i[near[a]]; ++b) {
        first.push_back(near[a]);
        second.push_back(near[b]);
      }
    }
    const at::Tensor p = Index(first), q = Index(second);
    const at::Tensor cosine = (unit.index_select(0, p) * unit.index_select(0, q)).sum(1);
    const at::Tensor weight =
        CutoffFunction(r.index_select(0, p), set.cutoff) * CutoffFunction(r.index_select(0, q), set.cutoff);
    const at::Tensor terms = Chebyshev(cosine, set.order) * weight.unsqueeze(1);
    const at::Tensor atoms = i.index_select(0, p);
    std::vector<at::Tensor> blocks = {add_up(terms, atoms)};
    if (spins.size() > 1) {
      const at::Tensor pair_spin = spin.index_select(0, p) * spin.index_select(0, q);
      blocks.push_back(add_up(terms * pair_spin.unsqueeze(1), atoms));
    }
    return blocks;
  };

  const std::vector<at::Tensor> outermost = angular_blocks({options.ang_order, options.ang_cutoff});
  std::vector<at::Tensor> blocks = {add_up(radial_terms, radial_atoms), outermost[0]};
  if (spins.size() > 1) {
    blocks.push_back(add_up(radial_terms * spin.index_select(0, radial).unsqueeze(1), radial_atoms));
    blocks.push_back(outermost[1]);
  }
  for (const AngularSet& set : options.nearer) {
    for (const at::Tensor& block : angular_blocks(set)) blocks.push_back(block);
  }
  return at::cat(blocks, 1);
}

// Returns [A] true if the atom's structure has geometry.
at::Tensor AtomsWithGeometry(const NamedTensors& batch) {
  return ToTorch(batch.At("has_geometry")).index_select(0, StructureOfAtoms(batch));
}

}  // namespace

ReferencePrediction PredictByAutograd(const DescriptorOptions& options, const NetworkShape& shape,
                                      const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                      const at::Tensor& parameters, const NamedTensors& batch, bool forces) {
  const c10::AutoGradMode enabled(true);
  const int64_t num_structures = batch.At("target").num_elements();
  const int64_t num_atoms = batch.At("atom_offset").values<int64_t>()[num_structures];
  const at::Tensor position = ToTorch(batch.At("position")).narrow(0, 0, num_atoms).clone().requires_grad_(forces);
  const at::Tensor strain = at::zeros({num_structures, 3, 3}, at::kDouble).requires_grad_(forces);
  at::Tensor features = Features(options.chebyshev(), batch, position, strain);
  if (batch.Has("feature")) {
    const at::Tensor given = ToTorch(batch.At("feature")).narrow(0, 0, num_atoms).to(at::kDouble);
    features = at::where(AtomsWithGeometry(batch).unsqueeze(1), features, given);
  }
  ReferencePrediction out;
  out.energy_per_atom = ReferenceEnergiesPerAtom(shape, feature_scaling, energy_scaling, parameters, batch, features);
  if (forces) {
    const at::Tensor atoms = at::bincount(StructureOfAtoms(batch), {}, num_structures).to(at::kDouble);
    const at::Tensor energy = (out.energy_per_atom * atoms).sum();
    const std::vector<at::Tensor> slopes =
        torch::autograd::grad({energy}, {position, strain}, /*grad_outputs=*/{}, /*retain_graph=*/true,
                              /*create_graph=*/true);
    out.force = -slopes[0];
    out.stress = ReferenceStress(slopes[1], batch);
  }
  return parameters.requires_grad() ? out : WithoutGraph(out);
}

}  // namespace rutile
