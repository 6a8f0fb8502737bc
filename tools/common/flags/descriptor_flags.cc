#include "tools/common/flags/descriptor_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/descriptor/files/stp_reader.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/element.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(species, "",
              "Elements, separated by commas, as in Ti,O. Their order fixes the typespins (..., -1, 1, ...) and so the "
              "features: always use the same order.");
DEFINE_int32(rad_order, 10,
             "Highest order of the radial Chebyshev polynomials. The radial part has rad_order + 1 features.");
DEFINE_double(rad_cutoff, 6.0, "Radial cutoff in Angstrom. The number of pairs, time and memory grow with its cube.");
DEFINE_string(ang_order, "4,4",
              "Highest order of the angular Chebyshev polynomials, one for each cutoff of --ang_cutoff. Each angular "
              "part has ang_order + 1 features. With a single --ang_cutoff alone, it is 3.");
DEFINE_string(ang_cutoff, "5,3",
              "Angular cutoffs in Angstrom, largest first. They may exceed rad_cutoff. Each makes an angular part of "
              "its own, so that near neighbors are told from far ones; aenet has one part, as --ang_cutoff=4. With a "
              "single --ang_order alone, it is 4.");
DEFINE_string(potential, "auto",
              "auto, chebyshev or many-body. Networks see Chebyshev features of the neighborhood, as in aenet, or "
              "learned products of its moments, as in MACE: slower and more accurate (docs/which-potential.md). With "
              "auto it is many-body where train learns forces of structures of at most 10 elements, on the CPU, and no "
              "flag speaks of features, networks or energies alone; else, and in other tools, chebyshev. A run that is "
              "resumed keeps its own.");
DEFINE_validator(potential,
                 [](const char*, const std::string& value) { return rutile::kPotentialNames.Parse(value).ok(); });
DEFINE_double(
    cutoff, 0,
    "Cutoff in Angstrom, at most 20, of --potential=many-body; 0: 5. For cache-neighbors without --potential: "
    "neighbors up to here, of which any descriptor with shorter cutoffs can be made.");
DEFINE_validator(cutoff, [](const char*, double value) { return value >= 0 && value <= rutile::kLongestCutoff; });
DEFINE_int32(radial_functions, 8, "Radial functions of which each channel learns its own. With --potential=many-body.");
DEFINE_int32(max_l, 3, "Largest order of spherical harmonics, 0 to 4. With --potential=many-body.");
DEFINE_string(radial_basis, "bessel", "Radial functions: bessel or chebyshev. With --potential=many-body.");
DEFINE_double(min_cutoff, 0.55, "Smallest distance at which neighbors count, in Angstrom.");
DEFINE_string(fingerprints, "",
              "aenet .stp files, one for each species, separated by commas. They replace the other descriptor flags, "
              "and must agree in everything but their own species.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

constexpr const char* kFlags[] = {"species", "potential", "rad_order",        "rad_cutoff",   "ang_order", "ang_cutoff",
                                  "cutoff",  "max_l",     "radial_functions", "radial_basis", "min_cutoff"};
constexpr absl::string_view kChebyshevFlags[] = {"rad_order", "rad_cutoff", "ang_order", "ang_cutoff"};
constexpr absl::string_view kMomentFlags[] = {"cutoff", "max_l", "radial_functions", "radial_basis"};

absl::Status RefuseGiven(absl::Span<const absl::string_view> flags, absl::string_view potential,
                         absl::string_view instead) {
  for (const absl::string_view flag : flags) {
    if (!FlagGiven(std::string(flag).c_str())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is a flag of --potential=", potential, ": give that, too, or ", instead));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint8_t>> ParseSpecies() {
  std::vector<uint8_t> species;
  for (const absl::string_view symbol : absl::StrSplit(FLAGS_species, ',')) {
    const uint8_t element = AtomicNumber(symbol);
    if (element == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--species=", FLAGS_species, ": \"", symbol, "\" is no element; expected symbols as in Ti,O"));
    }
    species.push_back(element);
  }
  return species;
}

// The comma-separated numbers of a flag. parse: absl::SimpleAtoi or SimpleAtod; like: how one looks.
template <typename Value>
absl::StatusOr<std::vector<Value>> ParseList(absl::string_view flag, const std::string& text,
                                             bool (*parse)(absl::string_view, Value*), absl::string_view like) {
  std::vector<Value> values;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    if (parse(item, &values.emplace_back())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, "=", text, ": \"", item, "\" is no number; expected one, or a list as in ", like));
  }
  return values;
}

absl::StatusOr<std::vector<int>> ParseOrders() {
  return ParseList<int>("ang_order", FLAGS_ang_order, absl::SimpleAtoi<int>, "12,6");
}

absl::StatusOr<std::vector<double>> ParseCutoffs() {
  return ParseList<double>("ang_cutoff", FLAGS_ang_cutoff, absl::SimpleAtod, "5,3.5 (Angstrom)");
}

absl::Status NeedSpecies() {
  if (!FLAGS_species.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "needs --species: the elements in the order that fixes the descriptor's typespins, as in --species=Ti,O");
}

bool AnyGiven(absl::Span<const absl::string_view> flags) {
  return std::any_of(flags.begin(), flags.end(),
                     [](absl::string_view flag) { return FlagGiven(std::string(flag).c_str()); });
}
// The flag that is left out follows the one that is given: a single value means aenet's one part.
absl::Status SetAngular(DescriptorDefaults defaults, ChebyshevOptions* options) {
  const ChebyshevOptions aenet;
  ASSIGN_OR_RETURN(std::vector<int> orders, ParseOrders());
  ASSIGN_OR_RETURN(std::vector<double> cutoffs, ParseCutoffs());
  const bool has_orders = FlagGiven("ang_order"), has_cutoffs = FlagGiven("ang_cutoff");
  const bool is_aenet = defaults == DescriptorDefaults::kAenet && !has_orders && !has_cutoffs;
  if (is_aenet || (has_cutoffs && !has_orders && cutoffs.size() == 1)) orders = {aenet.ang_order};
  if (is_aenet || (has_orders && !has_cutoffs && orders.size() == 1)) cutoffs = {aenet.ang_cutoff};
  if (orders.size() != cutoffs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--ang_order=", FLAGS_ang_order,
                                                   " and --ang_cutoff=", FLAGS_ang_cutoff, ": ", orders.size(), " and ",
                                                   cutoffs.size(), " values; expected an order for each cutoff"));
  }
  options->ang_order = orders[0];
  options->ang_cutoff = cutoffs[0];
  options->nearer.clear();
  for (size_t k = 1; k < orders.size(); ++k) options->nearer.push_back({orders[k], cutoffs[k]});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DescriptorOptions> DescriptorOptionsFromFlags(DescriptorDefaults defaults) {
  if (!FLAGS_fingerprints.empty()) {
    for (const char* name : kFlags) {
      // Such files are of Chebyshev features, whether or not a flag says so.
      if (FlagGiven(name) &&
          !(absl::string_view(name) == "potential" && PotentialFromFlag() != PotentialKind::kManyBody)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--fingerprints and --", name, " both describe the descriptor: give one of them"));
      }
    }
    return ReadStpFiles(std::vector<std::string>(absl::StrSplit(FLAGS_fingerprints, ',')));
  }
  RETURN_IF_ERROR(NeedSpecies());
  if (PotentialFromFlag() == PotentialKind::kManyBody) return ManyBodyOptionsFromFlags();
  RETURN_IF_ERROR(RefuseGiven(kMomentFlags, "many-body", "--rad_cutoff and --ang_cutoff instead"));
  ChebyshevOptions options;
  ASSIGN_OR_RETURN(options.species, ParseSpecies());
  options.rad_order = FLAGS_rad_order;
  options.rad_cutoff = FLAGS_rad_cutoff;
  RETURN_IF_ERROR(SetAngular(defaults, &options));
  options.min_cutoff = FLAGS_min_cutoff;
  RETURN_IF_ERROR(options.Validate());
  return options;
}

absl::StatusOr<DescriptorOptions> ManyBodyOptionsFromFlags() {
  RETURN_IF_ERROR(NeedSpecies());
  RETURN_IF_ERROR(RefuseGiven(kChebyshevFlags, "chebyshev", "--cutoff instead"));
  MomentOptions options;
  ASSIGN_OR_RETURN(options.species, ParseSpecies());
  if (FLAGS_cutoff > 0) options.cutoff = FLAGS_cutoff;
  options.num_radial = FLAGS_radial_functions;
  options.max_l = FLAGS_max_l;
  ASSIGN_OR_RETURN(options.basis, kRadialBasisNames.Parse(FLAGS_radial_basis));
  options.min_cutoff = FLAGS_min_cutoff;
  RETURN_IF_ERROR(options.Validate());
  return options;
}

std::map<std::string, std::string> DescriptorFlagValues(const DescriptorOptions& descriptor) {
  if (!descriptor.is_chebyshev()) {
    const MomentOptions& moments = descriptor.moments();
    return {{"potential", "many-body"},
            {"cutoff", absl::StrCat(moments.cutoff)},
            {"radial_functions", absl::StrCat(moments.num_radial)},
            {"max_l", absl::StrCat(moments.max_l)},
            {"radial_basis", std::string(kRadialBasisNames.Name(moments.basis))}};
  }
  const ChebyshevOptions& chebyshev = descriptor.chebyshev();
  return {{"potential", "chebyshev"},
          {"rad_order", absl::StrCat(chebyshev.rad_order)},
          {"rad_cutoff", absl::StrCat(chebyshev.rad_cutoff)},
          {"ang_order", chebyshev.AngularOrders()},
          {"ang_cutoff", chebyshev.AngularCutoffs()}};
}

absl::StatusOr<double> AngularCutoffFromFlag() {
  ASSIGN_OR_RETURN(const std::vector<double> cutoffs, ParseCutoffs());
  if (cutoffs.size() == 1) return cutoffs[0];
  return absl::InvalidArgumentError(
      absl::StrCat("--ang_cutoff=", FLAGS_ang_cutoff, ": triplets are listed within one cutoff, the largest"));
}

PotentialKind PotentialFromFlag() { return kPotentialNames.Parse(FLAGS_potential).value(); }

bool ChebyshevFlagsGiven() { return FlagGiven("fingerprints") || AnyGiven(kChebyshevFlags); }

bool MomentFlagsGiven() { return AnyGiven(kMomentFlags); }

bool DescriptorFlagsGiven() {
  return FlagGiven("fingerprints") || std::any_of(std::begin(kFlags), std::end(kFlags), FlagGiven);
}

absl::StatusOr<DescriptorOptions> DescriptorOptionsFromFlags(const DescriptorOptions& recorded,
                                                             absl::string_view path) {
  const auto contradiction = [&](const std::string& flag, absl::string_view kept) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", path, " was made for ", kept,
                                                   "; leave the flag out, or run cache-neighbors with it, or with "
                                                   "--cutoff for any descriptor"));
  };
  if (!FLAGS_fingerprints.empty()) {
    ASSIGN_OR_RETURN(const DescriptorOptions given, DescriptorOptionsFromFlags());
    if (given != recorded) return contradiction("--fingerprints=" + FLAGS_fingerprints, recorded.ToJson());
    return recorded;
  }
  if (FlagGiven("species")) {
    ASSIGN_OR_RETURN(const std::vector<uint8_t> species, ParseSpecies());
    const std::string kept = absl::StrJoin(recorded.species(), ",", [](std::string* out, uint8_t element) {
      absl::StrAppend(out, ElementSymbol(element));
    });
    if (species != recorded.species()) return contradiction("--species=" + FLAGS_species, "--species=" + kept);
  }
  const auto check = [&](const char* name, double given, double kept) {
    if (!FlagGiven(name) || given == kept) return absl::OkStatus();
    return contradiction(absl::StrCat("--", name, "=", given), absl::StrCat("--", name, "=", kept));
  };
  const PotentialKind potential = PotentialFromFlag();
  if (potential != PotentialKind::kAuto && (potential == PotentialKind::kManyBody) == recorded.is_chebyshev()) {
    return contradiction("--potential=" + FLAGS_potential, recorded.ToJson());
  }
  if (!recorded.is_chebyshev()) {
    RETURN_IF_ERROR(
        RefuseGiven(kChebyshevFlags, "chebyshev", "leave it out, as the data are for many-body potentials"));
    const MomentOptions& moments = recorded.moments();
    RETURN_IF_ERROR(check("cutoff", FLAGS_cutoff, moments.cutoff));
    RETURN_IF_ERROR(check("radial_functions", FLAGS_radial_functions, moments.num_radial));
    RETURN_IF_ERROR(check("max_l", FLAGS_max_l, moments.max_l));
    RETURN_IF_ERROR(check("min_cutoff", FLAGS_min_cutoff, moments.min_cutoff));
    const std::string basis(kRadialBasisNames.Name(moments.basis));
    if (FlagGiven("radial_basis") && FLAGS_radial_basis != basis) {
      return contradiction("--radial_basis=" + FLAGS_radial_basis, "--radial_basis=" + basis);
    }
    return recorded;
  }
  RETURN_IF_ERROR(RefuseGiven(kMomentFlags, "many-body", "--rad_cutoff and --ang_cutoff instead"));
  const ChebyshevOptions& chebyshev = recorded.chebyshev();
  RETURN_IF_ERROR(check("rad_order", FLAGS_rad_order, chebyshev.rad_order));
  RETURN_IF_ERROR(check("rad_cutoff", FLAGS_rad_cutoff, chebyshev.rad_cutoff));
  const auto check_list = [&](const char* name, const auto& given, const std::string& kept) {
    if (!FlagGiven(name)) return absl::OkStatus();
    if (!given.ok()) return given.status();
    const std::string text = absl::StrJoin(*given, ",");
    if (text == kept) return absl::OkStatus();
    return contradiction(absl::StrCat("--", name, "=", text), absl::StrCat("--", name, "=", kept));
  };
  RETURN_IF_ERROR(check_list("ang_order", ParseOrders(), chebyshev.AngularOrders()));
  RETURN_IF_ERROR(check_list("ang_cutoff", ParseCutoffs(), chebyshev.AngularCutoffs()));
  RETURN_IF_ERROR(check("min_cutoff", FLAGS_min_cutoff, chebyshev.min_cutoff));
  return recorded;
}

}  // namespace rutile
