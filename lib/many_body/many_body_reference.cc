#include "lib/many_body/many_body_reference.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "lib/base/logging.h"
#include "lib/many_body/product_table.h"
#include "lib/network/network_reference.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

// What comes before the networks, of all species. Parameters are split once, because the gradient of one split is one
// copy, while that of each narrow() is an array of all parameters.
class Invariants {
 public:
  Invariants(const NetworkShape& shape, const at::Tensor& parameters) : shape_(shape) {
    CHECK(!shape.has_messages()) << "layered_reference.h has two layers";
    const int64_t channels = shape.moments.channels, products = shape.moments.num_products();
    std::vector<int64_t> sizes;
    for (int s = 0; s < shape.num_species; ++s) {
      sizes.push_back(shape.num_radial_coefficients());
      sizes.push_back(channels * products);
      sizes.push_back(channels);
      sizes.push_back(shape.Networks().parameters_per_species());
    }
    pieces_ = parameters.split_with_sizes(sizes);
    for (const CubicProduct& p : CubicProducts(shape.moments.max_l)) {
      const std::vector<double> w = CubicWeights(p);
      cubic_.push_back({p, at::tensor(w, at::kDouble)
                               .view({2 * p.l1 + 1, 2 * p.l2 + 1, 2 * p.l3 + 1})
                               .to(parameters.options().requires_grad(false))});
    }
  }

  // Returns M [n, K] of atoms of one species, from x [n, F]. vectors: unless null, set to A of l = 1 [n, 3, K].
  at::Tensor Of(int species, const at::Tensor& x, at::Tensor* vectors = nullptr) const {
    const int64_t n = x.size(0), channels = shape_.moments.channels, num_l = shape_.moments.max_l + 1;
    const int64_t rows = int64_t{shape_.num_sources()} * shape_.moments.num_radial;
    const at::Tensor c = Piece(species, 0).view({channels, num_l, rows});
    const at::Tensor features = x.view({n, rows, shape_.moments.num_components()});
    std::vector<at::Tensor> a;  // of each l: [n, 2 l + 1, K]
    for (int64_t l = 0; l < num_l; ++l) {
      const at::Tensor of_l = features.narrow(2, l * l, 2 * l + 1).transpose(1, 2);  // [n, 2 l + 1, rows]
      a.push_back(at::matmul(of_l, c.select(1, l).t()) / std::sqrt(static_cast<double>(rows)));
    }
    if (vectors != nullptr) *vectors = a[1];
    std::vector<at::Tensor> products = {a[0].select(1, 0)};  // [n, K] each
    for (int64_t l = 0; l < num_l; ++l) products.push_back((a[l] * a[l]).sum(1) / std::sqrt(2.0 * l + 1));
    for (const Cubic& cubic : cubic_) {
      const CubicProduct& p = cubic.product;
      products.push_back(at::einsum("abc,nak,nbk,nck->nk", {cubic.weights, a[p.l1], a[p.l2], a[p.l3]}));
    }
    const at::Tensor w = Piece(species, 1).view({channels, shape_.moments.num_products()});
    return (at::stack(products, 2) * w).sum(2);
  }

  // Returns v M / sqrt(K) [n].
  at::Tensor Linear(int species, const at::Tensor& m) const {
    return at::matmul(m, Piece(species, 2)) / std::sqrt(static_cast<double>(shape_.moments.channels));
  }

  // Returns the parameters of the networks, those of shape.Networks().
  at::Tensor NetworkParameters() const {
    std::vector<at::Tensor> networks;
    for (int s = 0; s < shape_.num_species; ++s) networks.push_back(Piece(s, 3));
    return at::cat(networks);
  }

 private:
  struct Cubic {
    CubicProduct product;
    at::Tensor weights;  // [2 l1 + 1, 2 l2 + 1, 2 l3 + 1]
  };
  const at::Tensor& Piece(int species, int part) const { return pieces_[4 * species + part]; }

  const NetworkShape& shape_;
  std::vector<at::Tensor> pieces_;  // for each species C, w, v, network
  std::vector<Cubic> cubic_;
};

}  // namespace

at::Tensor ReferenceSumsOfAtoms(const NetworkShape& shape, const at::Tensor& parameters, const Tensor& x,
                                const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                                const EagerOptions& eager) {
  return ReferenceSumsOfAtoms(shape, parameters, ToTorch(x, parameters.device()).to(parameters.scalar_type()),
                              species_offset, structure, num_structures, eager);
}

at::Tensor ReferenceSumsOfAtoms(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                                const EagerOptions& eager) {
  if (!shape.has_moments()) {
    return ReferenceEnergySums(shape, parameters, x, species_offset, structure, num_structures, eager);
  }
  CHECK(!eager.script) << "many-body potentials have no script";
  CHECK_EQ(parameters.numel(), shape.num_parameters());
  const Invariants invariants(shape, parameters);
  const absl::Span<const int64_t> offset = species_offset.values<int64_t>();
  // An empty tensor first, so that there is something to join if there are no atoms.
  std::vector<at::Tensor> m = {at::zeros({0, shape.moments.channels}, x.options().requires_grad(false))};
  std::vector<at::Tensor> linear = {at::zeros({0}, x.options().requires_grad(false))};
  for (int s = 0; s < shape.num_species; ++s) {
    const int64_t begin = offset[s], count = offset[s + 1] - begin;
    if (count == 0) continue;
    m.push_back(invariants.Of(s, x.narrow(0, begin, count)));
    linear.push_back(invariants.Linear(s, m.back()));
  }
  const at::Tensor sums = ReferenceEnergySums(shape.Networks(), invariants.NetworkParameters(), at::cat(m),
                                              species_offset, structure, num_structures, eager);
  const at::Tensor index = ToTorch(structure, parameters.device()).to(at::kLong).narrow(0, 0, offset.back());
  return sums.index_add(0, index, at::cat(linear).to(at::kDouble));
}

at::Tensor ReferenceEnergiesOfAtoms(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                    absl::Span<const uint8_t> species, const EagerOptions& eager,
                                    at::Tensor* invariants_of_atoms, at::Tensor* vectors_of_atoms) {
  if (!shape.has_moments()) return ReferenceAtomEnergies(shape, parameters, x, species, eager);
  CHECK(!eager.script) << "many-body potentials have no script";
  CHECK_EQ(parameters.numel(), shape.num_parameters());
  CHECK_EQ(x.size(0), static_cast<int64_t>(species.size()));
  const Invariants invariants(shape, parameters);
  std::vector<std::vector<int64_t>> atoms(shape.num_species);
  for (size_t a = 0; a < species.size(); ++a) {
    CHECK_LT(int{species[a]}, shape.num_species);
    atoms[species[a]].push_back(static_cast<int64_t>(a));
  }
  at::Tensor m = at::zeros({x.size(0), shape.moments.channels}, x.options().requires_grad(false));
  at::Tensor linear = at::zeros({x.size(0)}, x.options().requires_grad(false));
  at::Tensor vectors;
  if (vectors_of_atoms != nullptr) vectors = at::zeros({x.size(0), 3, shape.moments.channels}, m.options());
  for (int s = 0; s < shape.num_species; ++s) {
    if (atoms[s].empty()) continue;
    const at::Tensor index = at::tensor(atoms[s], at::kLong).to(x.device(), /*non_blocking=*/true);
    at::Tensor vectors_of_species;
    const at::Tensor of_species =
        invariants.Of(s, x.index_select(0, index), vectors_of_atoms == nullptr ? nullptr : &vectors_of_species);
    if (vectors_of_atoms != nullptr) vectors = vectors.index_add(0, index, vectors_of_species);
    m = m.index_add(0, index, of_species);
    linear = linear.index_add(0, index, invariants.Linear(s, of_species));
  }
  if (invariants_of_atoms != nullptr) *invariants_of_atoms = m;
  if (vectors_of_atoms != nullptr) *vectors_of_atoms = vectors;
  return linear + ReferenceAtomEnergies(shape.Networks(), invariants.NetworkParameters(), m, species, eager);
}

}  // namespace rutile
