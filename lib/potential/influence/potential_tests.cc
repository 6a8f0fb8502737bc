#include "lib/potential/influence/potential_tests.h"

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

struct Name {
  PotentialQuantity quantity;
  absl::string_view name;
};
constexpr Name kNames[] = {{PotentialQuantity::kLoss, "loss"},
                           {PotentialQuantity::kEnergy, "energy"},
                           {PotentialQuantity::kAtomForce, "atom-force"},
                           {PotentialQuantity::kForceComponent, "force-component"}};

bool OfAtoms(PotentialQuantity quantity) {
  return quantity == PotentialQuantity::kAtomForce || quantity == PotentialQuantity::kForceComponent;
}

}  // namespace

absl::string_view PotentialQuantityName(PotentialQuantity quantity) {
  for (const Name& each : kNames) {
    if (each.quantity == quantity) return each.name;
  }
  return "?";
}

absl::StatusOr<PotentialQuantity> ParsePotentialQuantity(absl::string_view name) {
  for (const Name& each : kNames) {
    if (each.name == name) return each.quantity;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" is no quantity of a potential; there are loss, energy, atom-force and force-component"));
}

absl::Status CheckPotentialTestOptions(const PotentialTestOptions& options) {
  if (options.atom < 0 && options.atom != kAllAtoms) {
    return absl::InvalidArgumentError(
        absl::StrCat("--test_atom=", options.atom, ": expected an atom's number, from 0, or ", kAllAtoms, " for all"));
  }
  if (options.component < 0 || options.component > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--test_component=", options.component, ": expected 0 (x), 1 (y) or 2 (z)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PotentialTest>> PotentialTests(const AtomicData& test, const PotentialTestOptions& options) {
  RETURN_IF_ERROR(CheckPotentialTestOptions(options));
  std::vector<PotentialTest> tests;
  for (int64_t s = 0; s < test.num_structures(); ++s) {
    if (!OfAtoms(options.quantity)) {
      tests.push_back({s, -1});
      continue;
    }
    if (options.quantity == PotentialQuantity::kAtomForce && test.force(s).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("test structure ", test.name(s), " has no forces, but --test_quantity=atom-force asks for the ",
                       "error of one; give structures with forces, or ask for loss, energy or force-component"));
    }
    const int64_t n = test.num_atoms(s);
    if (options.atom >= n) {
      return absl::InvalidArgumentError(absl::StrCat("--test_atom=", options.atom, ": test structure ", test.name(s),
                                                     " has ", n, " atoms, numbered from 0"));
    }
    const int64_t first = options.atom == kAllAtoms ? 0 : options.atom;
    const int64_t last = options.atom == kAllAtoms ? n - 1 : options.atom;
    for (int64_t i = first; i <= last; ++i) tests.push_back({s, i});
  }
  return tests;
}

}  // namespace rutile
