#include "lib/potential/model/pair_repulsion.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/structure/element.h"

namespace rutile {
namespace {

std::string PairName(const DescriptorOptions& descriptor, size_t i, size_t j) {
  return absl::StrCat(ElementSymbol(descriptor.species()[i]), "-", ElementSymbol(descriptor.species()[j]));
}

bool AllEqual(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

}  // namespace

absl::Status CheckRepulsion(const RepulsionRadii& radii, const DescriptorOptions& descriptor) {
  if (radii.empty()) return absl::OkStatus();
  const size_t m = descriptor.species().size();
  if (radii.inner.size() != m * m || radii.outer.size() != m * m) {
    return absl::InvalidArgumentError(absl::StrCat("its repulsion has ", radii.inner.size(), " inner and ",
                                                   radii.outer.size(), " outer radii, expected ", m * m, " for ", m,
                                                   " species"));
  }
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < m; ++j) {
      const double inner = radii.inner[i * m + j], outer = radii.outer[i * m + j];
      if (!(0 < inner && inner < outer && outer <= descriptor.cutoff())) {
        return absl::InvalidArgumentError(
            absl::StrFormat("the repulsion of %s is switched off from %g to %g Angstrom, expected two radii above 0 "
                            "that rise, up to the descriptor's cutoff of %g",
                            PairName(descriptor, i, j), inner, outer, descriptor.cutoff()));
      }
      if (inner == radii.inner[j * m + i] && outer == radii.outer[j * m + i]) continue;
      return absl::InvalidArgumentError(absl::StrCat("the repulsion of ", PairName(descriptor, i, j),
                                                     " has other radii than that of ", PairName(descriptor, j, i)));
    }
  }
  return absl::OkStatus();
}

std::string DescribeRepulsion(const RepulsionRadii& radii, const DescriptorOptions& descriptor) {
  if (radii.empty()) return "";
  if (AllEqual(radii.inner) && AllEqual(radii.outer)) {
    return absl::StrFormat("%g to %g", radii.inner[0], radii.outer[0]);
  }
  std::string text;
  const size_t m = descriptor.species().size();
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = i; j < m; ++j) {
      absl::StrAppendFormat(&text, "%s%s %g to %g", text.empty() ? "" : ", ", PairName(descriptor, i, j),
                            radii.inner[i * m + j], radii.outer[i * m + j]);
    }
  }
  return text;
}

PairRepulsion::PairRepulsion(const RepulsionRadii& radii, const DescriptorOptions& descriptor) {
  if (radii.empty()) return;
  const std::vector<uint8_t>& species = descriptor.species();
  num_species_ = static_cast<int64_t>(species.size());
  CHECK_EQ(radii.inner.size(), species.size() * species.size());
  CHECK_EQ(radii.outer.size(), species.size() * species.size());
  for (size_t i = 0; i < species.size(); ++i) {
    for (size_t j = 0; j < species.size(); ++j) {
      const size_t k = i * species.size() + j;
      pairs_.emplace_back(species[i], species[j], radii.inner[k], radii.outer[k]);
    }
  }
  const double largest = *std::max_element(radii.outer.begin(), radii.outer.end());
  largest_outer_square_ = largest * largest;
}

void PairRepulsion::Compute(const StructureGeometry& geometry, int64_t num_centers, Result* result) const {
  result->energy = 0;
  result->atom_energy.assign(num_centers, 0.0);
  result->force.assign(geometry.position.size(), 0.0);
  result->virial = {};
  result->atom_virial.assign(3 * geometry.position.size(), 0.0);
  if (empty()) return;
  const PairView& pairs = geometry.pairs;
  const double* const position = geometry.position.data();
  for (int64_t i = 0; i < num_centers; ++i) {
    const ZblPair* const of_center = &pairs_[geometry.species[i] * num_species_];
    for (int64_t p = pairs.offset[i]; p < pairs.offset[i + 1]; ++p) {
      const int64_t j = pairs.j[p] - pairs.first_atom;
      double d[3];  // r_ij
      for (int a = 0; a < 3; ++a) {
        d[a] = position[3 * j + a] - position[3 * i + a];
        for (int k = 0; k < 3; ++k) d[a] += pairs.shift[3 * p + k] * geometry.cell[3 * k + a];
      }
      const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      if (square >= largest_outer_square_) continue;
      const double r = std::sqrt(square);
      const ZblPair::Value pair = of_center[geometry.species[j]].At(r);
      result->atom_energy[i] += 0.5 * pair.energy;
      const double slope = 0.5 * pair.slope / r;
      for (int a = 0; a < 3; ++a) {
        result->force[3 * i + a] += slope * d[a];
        result->force[3 * j + a] -= slope * d[a];
        for (int b = 0; b < 3; ++b) {
          const double share = slope * d[a] * d[b];
          result->virial[3 * a + b] += share;
          result->atom_virial[9 * i + 3 * a + b] += 0.5 * share;
          result->atom_virial[9 * j + 3 * a + b] += 0.5 * share;
        }
      }
    }
    result->energy += result->atom_energy[i];
  }
}

}  // namespace rutile
