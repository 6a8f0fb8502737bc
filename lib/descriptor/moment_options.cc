#include "lib/descriptor/moment_options.h"

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/options_json.h"

namespace rutile {
namespace {

constexpr int kLargestRadial = 32, kLargestL = 4, kLargestEnvelope = 16;
constexpr absl::string_view kKeys[] = {"type",  "species",      "cutoff",   "radial_functions",
                                       "max_l", "radial_basis", "envelope", "min_cutoff"};

absl::StatusOr<RadialBasis> BasisAt(const OptionsJson& json, const char* key) {
  const OptionsJson& value = json.at(key);
  if (!value.is_string()) return OptionsJsonError(absl::StrCat("\"", key, "\" is not a name: ", value.dump()));
  const absl::StatusOr<RadialBasis> basis = kRadialBasisNames.Parse(value.get_ref<const std::string&>());
  if (!basis.ok()) return OptionsJsonError(absl::StrCat("\"", key, "\": ", basis.status().message()));
  return basis;
}

}  // namespace

absl::Status MomentOptions::Validate() const {
  RETURN_IF_ERROR(CheckSpecies(species));
  RETURN_IF_ERROR(CheckCutoff("cutoff", cutoff));
  RETURN_IF_ERROR(CheckInteger("radial_functions", num_radial, 1, kLargestRadial));
  RETURN_IF_ERROR(CheckInteger("max_l", max_l, 0, kLargestL));
  if (basis != RadialBasis::kBessel && basis != RadialBasis::kChebyshev) {
    return absl::InvalidArgumentError(
        absl::StrCat("--radial_basis: value ", static_cast<int>(basis), ", expected bessel or chebyshev"));
  }
  RETURN_IF_ERROR(CheckInteger("envelope", envelope, 1, kLargestEnvelope));
  if (!(min_cutoff >= 0 && min_cutoff < cutoff)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--min_cutoff=", min_cutoff, ": expected 0 or more and below --cutoff=", cutoff, " (Angstrom)"));
  }
  return absl::OkStatus();
}

std::string MomentOptions::ToJson() const {
  OptionsJson json;
  json["type"] = "moments";
  json["species"] = SpeciesToJson(species);
  json["cutoff"] = cutoff;  // dump() writes the shortest digits that read back as the same double
  json["radial_functions"] = num_radial;
  json["max_l"] = max_l;
  json["radial_basis"] = std::string(kRadialBasisNames.Name(basis));
  json["envelope"] = envelope;
  json["min_cutoff"] = min_cutoff + 0.0;  // -0.0 becomes 0.0
  return json.dump();
}

absl::StatusOr<MomentOptions> MomentOptions::FromJson(absl::string_view text) {
  ASSIGN_OR_RETURN(const OptionsJson json, ParseOptionsJson(text, "moments", kKeys));
  MomentOptions options;
  ASSIGN_OR_RETURN(options.species, SpeciesAt(json));
  ASSIGN_OR_RETURN(options.cutoff, NumberAt(json, "cutoff"));
  ASSIGN_OR_RETURN(options.num_radial, IntegerAt(json, "radial_functions"));
  ASSIGN_OR_RETURN(options.max_l, IntegerAt(json, "max_l"));
  ASSIGN_OR_RETURN(options.basis, BasisAt(json, "radial_basis"));
  ASSIGN_OR_RETURN(options.envelope, IntegerAt(json, "envelope"));
  ASSIGN_OR_RETURN(options.min_cutoff, NumberAt(json, "min_cutoff"));
  if (absl::Status status = options.Validate(); !status.ok()) return OptionsJsonError(status.message());
  return options;
}

bool operator==(const MomentOptions& a, const MomentOptions& b) {
  return std::tie(a.species, a.cutoff, a.num_radial, a.max_l, a.basis, a.envelope, a.min_cutoff) ==
         std::tie(b.species, b.cutoff, b.num_radial, b.max_l, b.basis, b.envelope, b.min_cutoff);
}

}  // namespace rutile
