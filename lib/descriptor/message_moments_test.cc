#include "lib/descriptor/message_moments.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/descriptor/derivative_testing.h"
#include "lib/descriptor/moment_basis.h"
#include "lib/descriptor/moment_derivatives.h"
#include "lib/descriptor/moment_harmonics.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

MomentOptions Options(int num_species, int num_radial, int max_l, RadialBasis basis = RadialBasis::kBessel) {
  MomentOptions options;
  for (int s = 0; s < num_species; ++s) options.species.push_back(s + 1);
  options.cutoff = 4;
  options.num_radial = num_radial;
  options.max_l = max_l;
  options.basis = basis;
  return options;
}

// What a test passes to the methods, in the order of atoms.
struct Inputs {
  std::vector<double> u, udot, xbar, xbardot, direction, strain;

  Inputs(int64_t atoms, int64_t width, int64_t features)
      : u(RandomVector(atoms * width, 1)),
        udot(RandomVector(atoms * width, 2)),
        xbar(RandomVector(atoms * features, 3)),
        xbardot(RandomVector(atoms * features, 4)),
        direction(RandomVector(3 * atoms, 5)),
        strain(RandomVector(9, 6)) {}
};

struct Results {
  std::vector<double> x, ubar, force, strain_gradient, xdot, ubardot;
};

// The definition: sums over pairs and functions in plain loops.
Results Define(const MomentOptions& options, int messages, int vectors, const std::vector<double>& scale,
               const StructureGeometry& geometry, const Inputs& in) {
  const int64_t atoms = geometry.species.size(), harmonics = options.num_harmonics();
  const int64_t functions = options.num_radial * harmonics, features = messages * functions;
  const int64_t width = messages + 3 * vectors;
  Results out;
  out.x.resize(atoms * features);
  out.xdot.resize(atoms * features);
  out.ubar.resize(atoms * width);
  out.ubardot.resize(atoms * width);
  out.force.resize(3 * atoms);
  out.strain_gradient.resize(9);
  for (int64_t i = 0; i < atoms; ++i) {
    for (int64_t p = geometry.pairs.offset[i]; p < geometry.pairs.offset[i + 1]; ++p) {
      const int64_t j = geometry.pairs.j[p] - geometry.pairs.first_atom;
      double v[3], change[3], square = 0;
      for (int a = 0; a < 3; ++a) {
        v[a] = geometry.position[3 * j + a] - geometry.position[3 * i + a];
        for (int c = 0; c < 3; ++c) v[a] += geometry.pairs.shift[3 * p + c] * geometry.cell[3 * c + a];
        square += v[a] * v[a];
      }
      const double r = std::sqrt(square);
      if (r <= options.min_cutoff || r > options.cutoff) continue;
      for (int a = 0; a < 3; ++a) {
        change[a] = in.direction[3 * j + a] - in.direction[3 * i + a];
        for (int b = 0; b < 3; ++b) change[a] += in.strain[3 * a + b] * v[b];
      }
      std::vector<double> phi(options.num_radial), phi_slope(options.num_radial), y(harmonics), dy(3 * harmonics);
      RadialFunctions(options, r, absl::MakeSpan(phi), absl::MakeSpan(phi_slope));
      RealHarmonics(options.max_l, {v[0] / r, v[1] / r, v[2] / r}, absl::MakeSpan(y), absl::MakeSpan(dy));
      double turn[3], radial_change = 0;  // how the unit vector changes
      for (int a = 0; a < 3; ++a) radial_change += v[a] * change[a] / r;
      for (int a = 0; a < 3; ++a) turn[a] = (change[a] - radial_change * v[a] / r) / r;
      for (int64_t f = 0; f < functions; ++f) {
        const int64_t n = f / harmonics, h = f % harmonics;
        const double value = scale[f] * phi[n] * y[h];
        double slope[3], along = 0;
        for (int a = 0; a < 3; ++a) {
          slope[a] = scale[f] * (phi_slope[n] * y[h] * v[a] + phi[n] * dy[3 * h + a]) / r;
          along += slope[a] * change[a];
        }
        for (int64_t k = 0; k < messages; ++k) {
          const int64_t at = i * features + k * functions + f, from = j * width + k;
          const double q = in.xbar[at] * value, qdot = in.xbardot[at] * value + in.xbar[at] * along;
          double sent = in.u[from], sent_dot = in.udot[from], w[3] = {}, w_along = 0;
          for (int a = 0; a < 3 && k < vectors; ++a) {
            const int64_t of_vector = j * width + messages + a * vectors + k;
            w[a] = in.u[of_vector];
            w_along += w[a] * v[a] / r;
            sent_dot += in.udot[of_vector] * v[a] / r + w[a] * turn[a];
            out.ubar[of_vector] += q * v[a] / r;
            out.ubardot[of_vector] += qdot * v[a] / r + q * turn[a];
          }
          sent += w_along;
          out.x[at] += sent * value;
          out.xdot[at] += sent_dot * value + sent * along;
          out.ubar[from] += q;
          out.ubardot[from] += qdot;
          for (int a = 0; a < 3; ++a) {
            const double d = in.xbar[at] * sent * slope[a] + q * (w[a] - w_along * v[a] / r) / r;
            out.force[3 * i + a] += d;
            out.force[3 * j + a] -= d;
            for (int b = 0; b < 3; ++b) out.strain_gradient[3 * a + b] += d * v[b];
          }
        }
      }
    }
  }
  return out;
}

// Moves rows of `width` numbers to where `row` says, or back.
template <typename T>
std::vector<T> Rows(const std::vector<double>& values, const std::vector<int32_t>& row, int64_t width) {
  std::vector<T> out(values.size());
  for (size_t i = 0; i < row.size(); ++i) {
    for (int64_t k = 0; k < width; ++k) out[row[i] * width + k] = static_cast<T>(values[i * width + k]);
  }
  return out;
}
template <typename T>
std::vector<double> Back(const std::vector<T>& values, const std::vector<int32_t>& row, int64_t width) {
  std::vector<double> out(values.size());
  for (size_t i = 0; i < row.size(); ++i) {
    for (int64_t k = 0; k < width; ++k) out[i * width + k] = values[row[i] * width + k];
  }
  return out;
}

template <typename T>
Results Compute(const MomentOptions& options, int messages, int vectors, const std::vector<double>& scale,
                const StructureGeometry& geometry, const Inputs& in) {
  const int64_t atoms = geometry.species.size();
  const auto derivatives = MakeMomentDerivatives<T>(options);
  const auto state = derivatives->MakeState();
  std::vector<T> plain(atoms * derivatives->num_features());
  derivatives->Features(geometry, state.get(), absl::MakeSpan(plain));
  std::vector<int32_t> row(atoms);
  std::iota(row.begin(), row.end(), 0);
  std::reverse(row.begin(), row.end());
  const MessageSites<T> sites = {state.get(), row.data(), atoms, atoms};
  MessageMoments<T> moments(options, messages, vectors, scale);
  const int64_t features = moments.num_features(), width = messages + 3 * vectors;
  const auto rows = [&](const std::vector<double>& values, int64_t width) { return Rows<T>(values, row, width); };
  const std::vector<T> u = rows(in.u, width), udot = rows(in.udot, width), xbar = rows(in.xbar, features),
                       xbardot = rows(in.xbardot, features), direction(in.direction.begin(), in.direction.end());
  std::vector<T> x(atoms * features), xdot(atoms * features), ubar(atoms * width, T(7)), ubardot(atoms * width, T(7)),
      force(3 * atoms);
  Results out;
  out.strain_gradient.resize(9);
  moments.Sums(sites, u.data(), x.data());
  std::vector<double> atom_strain(9 * atoms);
  moments.Slopes(sites, u.data(), xbar.data(), ubar.data(), force.data(), out.strain_gradient.data(),
                 atom_strain.data());
  for (int c = 0; c < 9; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < atoms; ++i) sum += atom_strain[9 * i + c];
    EXPECT_NEAR(sum, out.strain_gradient[c], 1e-10 * (1 + std::abs(sum)));
  }
  std::vector<T> same(ubar.size());
  moments.Slopes(sites, u.data(), xbar.data(), same.data(), nullptr, nullptr, nullptr);
  EXPECT_EQ(same, ubar);
  moments.Tangents(sites, u.data(), udot.data(), direction.data(), in.strain.data(), xdot.data());
  moments.TangentSlopes(sites, xbar.data(), xbardot.data(), direction.data(), in.strain.data(), ubardot.data());
  out.x = Back(x, row, features);
  out.xdot = Back(xdot, row, features);
  out.ubar = Back(ubar, row, width);
  out.ubardot = Back(ubardot, row, width);
  out.force.assign(force.begin(), force.end());
  return out;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 1;
  for (const double e : expected) largest = std::max(largest, std::abs(e));
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance * largest) << i;
}

void ExpectNear(const Results& found, const Results& expected, double tolerance) {
  ExpectNear(found.x, expected.x, tolerance);
  ExpectNear(found.ubar, expected.ubar, tolerance);
  ExpectNear(found.force, expected.force, tolerance);
  ExpectNear(found.strain_gradient, expected.strain_gradient, tolerance);
  ExpectNear(found.xdot, expected.xdot, tolerance);
  ExpectNear(found.ubardot, expected.ubardot, tolerance);
}

void ExpectEqualDefinition(const MomentOptions& options, int messages, int vectors, const Structure& structure) {
  std::vector<uint8_t> species;
  for (int64_t i = 0; i < structure.size(); ++i) species.push_back(i % options.species.size());
  const SampleGeometry sample(structure, species, options.cutoff + 0.2);
  const int64_t functions = options.num_radial * options.num_harmonics();
  const std::vector<double> scale = RandomVector(functions, 9);
  const Inputs in(structure.size(), messages + 3 * vectors, messages * functions);
  const Results expected = Define(options, messages, vectors, scale, sample.Get(), in);
  ForEachTarget([&] {
    ExpectNear(Compute<double>(options, messages, vectors, scale, sample.Get(), in), expected, 1e-12);
    ExpectNear(Compute<float>(options, messages, vectors, scale, sample.Get(), in), expected, 2e-5);
  });
}

TEST(MessageMomentsTest, EqualDefinitionForEveryDegree) {
  const Structure structure = RandomStructure(9, 4.4, 7);
  for (int max_l = 0; max_l <= 4; ++max_l) {
    for (const int num_radial : {1, 5, 8}) {
      const int messages = 1 + (5 * max_l + num_radial) % 17;
      SCOPED_TRACE(absl::StrCat("N ", num_radial, ", L ", max_l, ", ", messages, " messages"));
      const RadialBasis basis = num_radial == 5 ? RadialBasis::kChebyshev : RadialBasis::kBessel;
      for (const int vectors : {0, 1, messages}) {
        ExpectEqualDefinition(Options(2, num_radial, max_l, basis), messages, vectors, structure);
      }
    }
  }
}

TEST(MessageMomentsTest, EqualDefinitionInAwkwardStructures) {
  for (const int atoms : {0, 1, 2, 3}) {
    for (const double edge : {0.0, 2.1, 30.0}) {
      SCOPED_TRACE(absl::StrCat(atoms, " atoms, edge ", edge));
      if (atoms > 1 && edge == 2.1) continue;  // they do not fit
      ExpectEqualDefinition(Options(3, 4, 2), 5, 4, RandomStructure(atoms, edge, atoms + 1));
    }
  }
  ExpectEqualDefinition(Options(1, 8, 3), 16, 0, RandomStructure(60, 0, 3));
  ExpectEqualDefinition(Options(1, 8, 3), 16, 16, RandomStructure(60, 0, 3));
}

// Without sums of the others, those of centers are the same, and messages have what goes back from centers alone.
TEST(MessageMomentsTest, AtomsThatOnlySendHaveNoSums) {
  const MomentOptions options = Options(2, 4, 2);
  const Structure structure = RandomStructure(9, 4.4, 7);
  const int64_t atoms = structure.size(), centers = 4, messages = 3, vectors = 2, width = messages + 3 * vectors;
  const SampleGeometry sample(structure, {0, 1, 0, 1, 0, 1, 0, 1, 0}, options.cutoff + 0.2);
  const auto derivatives = MakeMomentDerivatives<double>(options);
  const auto state = derivatives->MakeState();
  std::vector<double> plain(atoms * derivatives->num_features());
  derivatives->Features(sample.Get(), state.get(), absl::MakeSpan(plain));
  std::vector<int32_t> row(atoms);
  std::iota(row.begin(), row.end(), 0);
  MessageMoments<double> moments(options, messages, vectors,
                                 RandomVector(options.num_radial * options.num_harmonics(), 9));
  const int64_t features = moments.num_features();
  Inputs in(atoms, width, features);
  std::fill(in.xbar.begin() + centers * features, in.xbar.end(), 0.0);
  const MessageSites<double> all = {state.get(), row.data(), atoms, atoms},
                             some = {state.get(), row.data(), atoms, centers};
  std::vector<double> x(atoms * features), few(centers * features), ubar(atoms * width), few_ubar = ubar;
  std::vector<double> force(3 * atoms), few_force = force, strain(9), few_strain(9);
  moments.Sums(all, in.u.data(), x.data());
  moments.Sums(some, in.u.data(), few.data());
  x.resize(few.size());
  EXPECT_EQ(few, x);
  moments.Slopes(all, in.u.data(), in.xbar.data(), ubar.data(), force.data(), strain.data(), nullptr);
  in.xbar.resize(few.size());
  moments.Slopes(some, in.u.data(), in.xbar.data(), few_ubar.data(), few_force.data(), few_strain.data(), nullptr);
  EXPECT_EQ(few_ubar, ubar);
  EXPECT_EQ(few_force, force);
  EXPECT_EQ(few_strain, strain);
}

}  // namespace
}  // namespace rutile
