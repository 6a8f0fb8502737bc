#include "lib/descriptor/derivative_testing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"

namespace rutile {
namespace {

constexpr int kFirstAtom = 7, kFirstPair = 3;

double Distance(const NeighborList& list, int64_t p) { return std::hypot(list.dx[p], list.dy[p], list.dz[p]); }

ChebyshevOptions Options(int num_species, int rad_order, double rad_cutoff, int ang_order, double ang_cutoff) {
  ChebyshevOptions options;
  for (int s = 0; s < num_species; ++s) options.species.push_back(s + 1);
  options.rad_order = rad_order;
  options.rad_cutoff = rad_cutoff;
  options.ang_order = ang_order;
  options.ang_cutoff = ang_cutoff;
  return options;
}

template <typename T>
void ExpectClose(const char* what, const std::vector<T>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 1;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * largest) << what << ' ' << i;
  }
}

}  // namespace

SampleGeometry::SampleGeometry(const Structure& structure, std::vector<uint8_t> species, double cutoff)
    : structure_(structure), species_(std::move(species)) {
  const absl::Status status = BruteForceNeighborList(structure_, cutoff, &neighbors_);
  CHECK(status.ok()) << status;
  for (const int64_t p : neighbors_.offset) offset_.push_back(p + kFirstPair);
  j_.assign(kFirstPair, -1);
  shift_.assign(3 * kFirstPair, 99);
  for (const int32_t j : neighbors_.j) j_.push_back(j + kFirstAtom);
  shift_.insert(shift_.end(), neighbors_.shift.begin(), neighbors_.shift.end());
}

StructureGeometry SampleGeometry::Get() const {
  StructureGeometry geometry;
  geometry.species = species_;
  geometry.position = structure_.position;
  geometry.cell = structure_.cell;
  geometry.pairs.offset = offset_;
  geometry.pairs.j = j_.data();
  geometry.pairs.shift = shift_.data();
  geometry.pairs.first_atom = kFirstAtom;
  return geometry;
}

StructureGeometry SampleGeometry::GetWithTriplets(double ang_cutoff, double min_cutoff) {
  triplet_offset_ = {0};
  triplet_a_.clear();
  triplet_b_.clear();
  for (int64_t i = 0; i < size(); ++i) {
    const int64_t begin = neighbors_.offset[i], end = neighbors_.offset[i + 1];
    const auto counts = [&](int64_t p) {
      return Distance(neighbors_, p) <= ang_cutoff && Distance(neighbors_, p) > min_cutoff;
    };
    for (int64_t a = begin; a < end; ++a) {
      for (int64_t b = a + 1; b < end; ++b) {
        if (!counts(a) || !counts(b)) continue;
        triplet_a_.push_back(a - begin);
        triplet_b_.push_back(b - begin);
      }
    }
    triplet_offset_.push_back(triplet_a_.size());
  }
  StructureGeometry geometry = Get();
  geometry.triplets.offset = triplet_offset_;
  geometry.triplets.a = triplet_a_.data();
  geometry.triplets.b = triplet_b_.data();
  return geometry;
}

Structure RandomStructure(int num_atoms, double edge, uint64_t seed) {
  RandomStream stream(seed, "derivative_testing");
  Structure structure;
  const bool periodic = edge > 0;
  structure.pbc = {periodic, periodic, periodic};
  if (periodic) {
    structure.cell = {edge,        0.1 * edge,  -0.05 * edge, 0.07 * edge, 1.1 * edge,
                      0.02 * edge, -0.1 * edge, 0.03 * edge,  0.95 * edge};
  }
  const double size = periodic ? 1 : 1.6 * std::cbrt(num_atoms);
  while (structure.size() < num_atoms) {
    const double u[3] = {stream.Uniform(), stream.Uniform(), stream.Uniform()};
    double r[3] = {size * u[0], size * u[1], size * u[2]};
    for (int axis = 0; periodic && axis < 3; ++axis) {
      r[axis] = 0;
      for (int k = 0; k < 3; ++k) r[axis] += (u[k] - 0.2) * structure.cell[3 * k + axis];
    }
    structure.element.push_back(1);
    structure.position.insert(structure.position.end(), r, r + 3);
    NeighborList near;
    if (!BruteForceNeighborList(structure, 1.0, &near).ok() || near.num_pairs() > 0) {
      structure.element.pop_back();
      structure.position.resize(3 * structure.size());
    }
  }
  return structure;
}

std::vector<DerivativeCase> DerivativeCases() {
  std::vector<DerivativeCase> cases;
  const auto add = [&](std::string name, Structure structure, ChebyshevOptions options) {
    std::vector<uint8_t> species;
    for (int i = 0; i < structure.size(); ++i) species.push_back((i * i + i / 3) % options.species.size());
    cases.push_back({std::move(name), std::move(structure), std::move(species), std::move(options)});
  };
  add("one atom alone", RandomStructure(1, 0, 1), Options(2, 5, 4, 3, 3));
  add("one atom and its images", RandomStructure(1, 2.1, 2), Options(1, 5, 4.5, 3, 4));
  add("no neighbors", RandomStructure(3, 30, 3), Options(2, 5, 1.0, 3, 0.9));
  Structure line;
  for (int i = 0; i < 5; ++i) {
    line.element.push_back(1);
    line.position.insert(line.position.end(), {0.3 * i, -0.2 * i, 1.1 * i});
  }
  add("collinear", line, Options(2, 7, 4, 6, 3.5));
  for (int i = 0; i < 5; ++i) line.position[3 * i] = line.position[3 * i + 1] = 0;
  add("along z", line, Options(2, 7, 4, 6, 3.5));
  add("thin cell", RandomStructure(3, 2.6, 4), Options(2, 8, 5, 4, 4));
  add("a large molecule", RandomStructure(40, 0, 5), Options(3, 10, 5, 3, 3.5));
  for (int num_species = 1; num_species <= 5; ++num_species) {
    add(absl::StrCat(num_species, " species"), RandomStructure(13, 5, 10 + num_species),
        Options(num_species, 5, 4, 3, 3));
  }
  for (int order = 0; order <= 8; ++order) {
    add(absl::StrCat("order ", order), RandomStructure(9, 4.2, 20 + order), Options(2, 2 * order, 4.5, order, 3.5));
  }
  add("equal cutoffs", RandomStructure(10, 4.5, 40), Options(2, 1, 4, 5, 4));
  add("angular cutoff above radial", RandomStructure(12, 4.5, 42), Options(2, 6, 3, 4, 4.2));
  add("no radial neighbors", RandomStructure(12, 4.5, 43), Options(3, 3, 0.7, 3, 3.5));
  add("high orders", RandomStructure(5, 3.5, 41), Options(2, 32, 5, 20, 4));
  return cases;
}

std::vector<double> RandomVector(int64_t count, uint64_t seed) {
  RandomStream stream(seed, "vector");
  std::vector<double> v(count);
  for (double& x : v) x = stream.Uniform(-1, 1);
  return v;
}

template <typename T>
Products<T> ComputeProducts(const DescriptorDerivatives<T>& derivatives, const StructureGeometry& geometry,
                            const std::vector<double>& slopes, const std::vector<double>& direction,
                            const std::vector<double>& strain, const std::vector<uint8_t>& sampled) {
  constexpr T kUnset = std::numeric_limits<T>::quiet_NaN();
  Products<T> out;
  const size_t num_atoms = geometry.species.size();
  const auto state = derivatives.MakeState();
  out.features.assign(geometry.pairs.num_atoms() * derivatives.num_features(), kUnset);
  derivatives.Features(geometry, state.get(), absl::MakeSpan(out.features));
  out.force.assign(3 * num_atoms, kUnset);
  if (!strain.empty()) out.strain_gradient.assign(9, kUnset);
  derivatives.Vjp(state.get(), std::vector<T>(slopes.begin(), slopes.end()), sampled, absl::MakeSpan(out.force),
                  strain.empty() ? nullptr : out.strain_gradient.data());
  if (!strain.empty() && geometry.triplets.offset.empty()) {
    Products<T> again = {{}, std::vector<T>(3 * num_atoms, kUnset), {}, std::vector<double>(9, kUnset), {}};
    out.atom_strain_gradient.assign(9 * num_atoms, kUnset);
    derivatives.VjpByAtom(state.get(), std::vector<T>(slopes.begin(), slopes.end()), absl::MakeSpan(again.force),
                          again.strain_gradient.data(), absl::MakeSpan(out.atom_strain_gradient));
    EXPECT_EQ(again.force, out.force);
    EXPECT_EQ(again.strain_gradient, out.strain_gradient);
  }
  out.tangents.assign(out.features.size(), kUnset);
  derivatives.Jvp(state.get(), std::vector<T>(direction.begin(), direction.end()), sampled,
                  strain.empty() ? nullptr : strain.data(), absl::MakeSpan(out.tangents));
  return out;
}

template Products<float> ComputeProducts(const DescriptorDerivatives<float>&, const StructureGeometry&,
                                         const std::vector<double>&, const std::vector<double>&,
                                         const std::vector<double>&, const std::vector<uint8_t>&);
template Products<double> ComputeProducts(const DescriptorDerivatives<double>&, const StructureGeometry&,
                                          const std::vector<double>&, const std::vector<double>&,
                                          const std::vector<double>&, const std::vector<uint8_t>&);

template <typename T>
void ExpectSameOfCenters(const DescriptorDerivatives<T>& derivatives, const StructureGeometry& geometry) {
  const int64_t num_atoms = geometry.species.size(), f = derivatives.num_features();
  const std::vector<double> direction = RandomVector(3 * num_atoms, 2), strain = RandomVector(9, 3);
  for (const int64_t centers : {num_atoms / 2, num_atoms - 1, int64_t{0}}) {
    if (centers < 0) continue;
    std::vector<double> slopes = RandomVector(num_atoms * f, 1);
    std::fill(slopes.begin() + centers * f, slopes.end(), 0.0);
    const Products<T> all = ComputeProducts(derivatives, geometry, slopes, direction, strain);
    StructureGeometry part = geometry;
    part.pairs.offset = geometry.pairs.offset.first(centers + 1);
    slopes.resize(centers * f);
    const Products<T> found = ComputeProducts(derivatives, part, slopes, direction, strain);
    const auto widened = [](const std::vector<T>& v, size_t count) {
      return std::vector<double>(v.begin(), v.begin() + count);
    };
    // Sums run over other groups of atoms, which rounds otherwise.
    ExpectEqual(found,
                {widened(all.features, centers * f), widened(all.force, all.force.size()),
                 widened(all.tangents, centers * f), all.strain_gradient, all.atom_strain_gradient},
                sizeof(T) == 4 ? 2e-5 : 1e-12);
  }
}

template void ExpectSameOfCenters(const DescriptorDerivatives<float>&, const StructureGeometry&);
template void ExpectSameOfCenters(const DescriptorDerivatives<double>&, const StructureGeometry&);

template <typename T>
void ExpectEqual(const Products<T>& found, const Products<double>& expected, double tolerance) {
  ExpectClose("feature", found.features, expected.features, tolerance);
  ExpectClose("force", found.force, expected.force, tolerance);
  ExpectClose("strain gradient", found.strain_gradient, expected.strain_gradient, tolerance);
  if (!found.atom_strain_gradient.empty()) {
    ExpectClose("strain gradient of atoms", found.atom_strain_gradient, expected.atom_strain_gradient, tolerance);
  }
  ExpectClose("tangent", found.tangents, expected.tangents, tolerance);
}

template void ExpectEqual(const Products<float>&, const Products<double>&, double);
template void ExpectEqual(const Products<double>&, const Products<double>&, double);

}  // namespace rutile
