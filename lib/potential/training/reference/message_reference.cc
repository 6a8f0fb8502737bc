#include "lib/potential/training/reference/message_reference.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/descriptor/moment_harmonics.h"
#include "lib/many_body/layered_reference.h"
#include "lib/potential/model/structure_messages.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Returns phi_n(r) [P, N] for r [P] up to the cutoff.
at::Tensor Radial(const MomentOptions& options, const at::Tensor& r) {
  const double p = options.envelope;
  const at::Tensor x = r / options.cutoff;
  const at::Tensor envelope =
      1 - (p + 1) * (p + 2) / 2 * x.pow(p) + p * (p + 2) * x.pow(p + 1) - p * (p + 1) / 2 * x.pow(p + 2);
  std::vector<at::Tensor> basis;
  if (options.basis == RadialBasis::kBessel) {
    for (int n = 1; n <= options.num_radial; ++n) {
      basis.push_back(std::sqrt(2 / options.cutoff) * at::sin(n * kPi * x) / r);
    }
  } else {
    basis = {at::ones_like(x), 2 * x - 1};
    while (static_cast<int>(basis.size()) < options.num_radial) {
      basis.push_back(2 * basis[1] * basis.back() - basis[basis.size() - 2]);
    }
    basis.resize(options.num_radial);
  }
  return at::stack(basis, 1) * envelope.unsqueeze(1);
}

// Returns P_l^(m)(y), the m-th derivative of a Legendre polynomial.
at::Tensor LegendreDerivative(int l, int m, const at::Tensor& y) {
  double odd = 1;
  for (int k = 2 * m - 1; k > 1; k -= 2) odd *= k;
  at::Tensor before = at::zeros_like(y), value = at::full_like(y, odd);
  for (int k = m + 1; k <= l; ++k) {
    const at::Tensor next = ((2 * k - 1) * y * value - (k + m - 1) * before) / (k - m);
    before = value;
    value = next;
  }
  return value;
}

// Returns Y_lm [P, (L + 1)^2] of unit vectors [P, 3].
at::Tensor Harmonics(int max_l, const at::Tensor& unit) {
  const at::Tensor x = unit.select(1, 0), y = unit.select(1, 1), z = unit.select(1, 2);
  std::vector<at::Tensor> re = {at::ones_like(x)}, im = {at::zeros_like(x)};  // of (z + ix)^m
  for (int m = 1; m <= max_l; ++m) {
    const at::Tensor a = re.back(), b = im.back();
    re.push_back(z * a - x * b);
    im.push_back(z * b + x * a);
  }
  std::vector<at::Tensor> values;
  for (int l = 0; l <= max_l; ++l) {
    for (int m = -l; m <= l; ++m) {
      const at::Tensor& turn = m < 0 ? im[-m] : re[m];
      values.push_back(HarmonicNorm(l, m) * LegendreDerivative(l, std::abs(m), y) * turn);
    }
  }
  return at::stack(values, 1);
}

// The pairs within the cutoff: atoms i and j [P], and vectors [P, 3] that depend on positions and strain.
struct Edges {
  at::Tensor i, j, vector;
};

Edges FindEdges(const MomentOptions& options, const NamedTensors& batch, const at::Tensor& position,
                const at::Tensor& strain) {
  const int64_t num_atoms = position.size(0);
  const absl::Span<const int64_t> offset = batch.At("pair_offset").values<int64_t>();
  CHECK_EQ(offset[0], 0);
  std::vector<int64_t> of_pair;
  for (int64_t a = 0; a < num_atoms; ++a) of_pair.resize(offset[a + 1], a);
  const auto count = static_cast<int64_t>(of_pair.size());
  Edges all;
  all.i = at::tensor(of_pair, at::kLong);
  all.j = ToTorch(batch.At("pair_j")).narrow(0, 0, count).to(at::kLong);
  const at::Tensor structure = StructureOfAtoms(batch).index_select(0, all.i);
  const at::Tensor shift = ToTorch(batch.At("pair_shift")).narrow(0, 0, count).to(at::kDouble);
  const at::Tensor cell = ToTorch(batch.At("cell")).index_select(0, structure);
  all.vector = position.index_select(0, all.j) - position.index_select(0, all.i) +
               at::matmul(shift.unsqueeze(1), cell).squeeze(1);
  all.vector = all.vector + at::matmul(strain.index_select(0, structure), all.vector.unsqueeze(2)).squeeze(2);
  const at::Tensor r = all.vector.detach().square().sum(1).sqrt();
  const at::Tensor near = ((r > options.min_cutoff) & (r <= options.cutoff)).nonzero().squeeze(1);
  return {all.i.index_select(0, near), all.j.index_select(0, near), all.vector.index_select(0, near)};
}

// Returns [A, n] the pairs of each atom, whose number is n at most, followed by the number of all pairs. i: [P] rising.
at::Tensor PairsByAtom(const at::Tensor& i, int64_t num_atoms) {
  const int64_t count = i.size(0);
  const at::Tensor of_atom = at::bincount(i, /*weights=*/{}, /*minlength=*/num_atoms).narrow(0, 0, num_atoms);
  const at::Tensor first = of_atom.cumsum(0) - of_atom;
  const int64_t most = num_atoms == 0 ? 0 : of_atom.max().item<int64_t>();
  const at::Tensor offset = at::arange(most, at::kLong);
  return at::where(offset.unsqueeze(0) < of_atom.unsqueeze(1), first.unsqueeze(1) + offset,
                   at::full({1, 1}, count, at::kLong));
}

}  // namespace

ReferencePrediction PredictWithMessages(const MomentOptions& options, const NetworkShape& shape,
                                        const FeatureScaling& feature_scaling, const EnergyScaling& energy_scaling,
                                        const at::Tensor& parameters, const NamedTensors& batch, bool forces,
                                        const EagerOptions& eager) {
  const int64_t num_structures = batch.At("target").num_elements();
  const at::Tensor counts = ToTorch(batch.At("atom_offset")).narrow(0, 0, num_structures + 1).diff().to(at::kDouble);
  const int64_t num_atoms = batch.At("atom_offset").values<int64_t>()[num_structures];
  for (const bool there : batch.At("has_geometry").values<bool>().subspan(0, num_structures)) CHECK(there);
  const absl::Span<const uint8_t> species = batch.At("species").values<uint8_t>().subspan(0, num_atoms);
  const at::Tensor of_atom = at::tensor(std::vector<int64_t>(species.begin(), species.end()), at::kLong);
  const at::Tensor position = ToTorch(batch.At("position"))
                                  .view({-1})
                                  .narrow(0, 0, 3 * num_atoms)
                                  .view({num_atoms, 3})
                                  .clone()
                                  .requires_grad_(forces);
  const at::Tensor strain = at::zeros({num_structures, 3, 3}, at::kDouble).requires_grad_(forces);
  const Edges edges = FindEdges(options, batch, position, strain);
  const at::Tensor r = edges.vector.square().sum(1).sqrt();
  const at::Tensor unit = edges.vector / r.unsqueeze(1);
  const at::Tensor phi = Radial(options, r), y = Harmonics(options.max_l, unit);
  const int64_t radial = options.num_radial, harmonics = options.num_harmonics(), f = shape.num_features;
  const at::Tensor functions = phi.unsqueeze(2) * y.unsqueeze(1);  // [P, N, H]

  // The first layer: a density for each species.
  const at::Tensor at_density = edges.i * shape.num_species + of_atom.index_select(0, edges.j);
  const at::Tensor moments = at::zeros({num_atoms * shape.num_species, radial, harmonics}, at::kDouble)
                                 .index_add(0, at_density, functions)
                                 .view({num_atoms, f});
  const auto by_species = [&](const std::vector<double>& values) {
    return at::tensor(values, at::kDouble).view({shape.num_species, f}).index_select(0, of_atom);
  };
  const at::Tensor x = (moments - by_species(feature_scaling.mean)) * by_species(feature_scaling.scale);

  // The second: a density for each message.
  const at::Tensor scale =
      at::tensor(MessageScale(options, shape, feature_scaling), at::kDouble).view({1, radial, harmonics});
  // Pairs are listed atom by atom, so that the sum of each is a product of matrices, which needs less memory than the
  // terms.
  const at::Tensor places = PairsByAtom(edges.i, num_atoms);  // [A, n], P where there is none
  const auto by_atom = [&](const at::Tensor& of_pairs) {
    const at::Tensor with_none = at::cat({of_pairs, at::zeros({1, of_pairs.size(1)}, at::kDouble)});
    return with_none.index_select(0, places.view({-1})).view({num_atoms, places.size(1), of_pairs.size(1)});
  };
  const at::Tensor weights = by_atom((scale * functions).view({-1, radial * harmonics}));  // [A, n, N H]
  const int64_t messages = shape.moments.messages, vectors = shape.moments.vector_messages;
  const auto sums = [&](const at::Tensor& sent) {
    const at::Tensor of_pairs = sent.cpu().to(at::kDouble).index_select(0, edges.j);
    at::Tensor received = of_pairs.narrow(1, 0, messages);
    if (vectors > 0) {
      const at::Tensor w = of_pairs.narrow(1, messages, 3 * vectors).view({-1, 3, vectors});
      const at::Tensor along = (w * unit.unsqueeze(2)).sum(1);
      received = received + at::constant_pad_nd(along, {0, messages - vectors});
    }
    return at::bmm(by_atom(received).transpose(1, 2), weights)  // of [A, n, messages]
        .view({num_atoms, messages * radial * harmonics})
        .to(parameters.device())
        .to(parameters.scalar_type());
  };
  const at::Tensor outputs = ReferenceEnergiesOfLayers(
      shape, parameters, x.to(parameters.device()).to(parameters.scalar_type()), species, sums, eager);

  ReferencePrediction out;
  const at::Tensor energies =
      at::zeros({num_structures}, at::kDouble).index_add(0, StructureOfAtoms(batch), outputs.cpu().to(at::kDouble));
  out.energy_per_atom = (energies / (energy_scaling.scale * counts) + energy_scaling.shift).to(parameters.device());
  if (forces) {
    const std::vector<at::Tensor> slopes =
        torch::autograd::grad({(energies / energy_scaling.scale).sum()}, {position, strain}, /*grad_outputs=*/{},
                              /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
    const auto defined = [](const at::Tensor& slope, const at::Tensor& like) {
      return slope.defined() ? slope : at::zeros_like(like);
    };
    out.force = -defined(slopes[0], position).to(parameters.device());
    out.stress = ReferenceStress(defined(slopes[1], strain), batch).to(parameters.device());
  }
  return out;
}

}  // namespace rutile
