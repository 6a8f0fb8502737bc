#include "lib/potential/model/zbl_options.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/structure/covalent_radii.h"

namespace rutile {
namespace {

constexpr char kAutoWord[] = "auto";
// The shortest bonds, N2 and C2H2, are 0.78 of the sum of covalent radii, so that the repulsion ends where data begin.
constexpr double kAutoShare = 0.8;

}  // namespace

std::string ZblText(const ZblOptions& options) {
  switch (options.kind) {
    case ZblOptions::Kind::kNone:
      return "";
    case ZblOptions::Kind::kAuto:
      return kAutoWord;
    case ZblOptions::Kind::kRadii:
      break;
  }
  return absl::StrCat(ExactDecimal(options.inner), ",", ExactDecimal(options.outer));
}

absl::StatusOr<ZblOptions> ParseZbl(absl::string_view text) {
  ZblOptions options;
  if (text.empty()) return options;
  if (text == kAutoWord) {
    options.kind = ZblOptions::Kind::kAuto;
    return options;
  }
  const std::pair<absl::string_view, absl::string_view> radii = absl::StrSplit(text, absl::MaxSplits(',', 1));
  options.kind = ZblOptions::Kind::kRadii;
  if (!absl::SimpleAtod(radii.first, &options.inner) || !absl::SimpleAtod(radii.second, &options.outer) ||
      !(0 < options.inner && options.inner < options.outer)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\", expected auto, or an inner and a larger outer radius in Angstrom as 0.7,1.4"));
  }
  return options;
}

absl::StatusOr<RepulsionRadii> RadiiOf(const ZblOptions& options, const DescriptorOptions& descriptor) {
  RepulsionRadii radii;
  if (!options.is_on()) return radii;
  for (const uint8_t i : descriptor.species()) {
    for (const uint8_t j : descriptor.species()) {
      const bool is_auto = options.kind == ZblOptions::Kind::kAuto;
      radii.outer.push_back(is_auto ? kAutoShare * (CovalentRadius(i) + CovalentRadius(j)) : options.outer);
      radii.inner.push_back(is_auto ? radii.outer.back() / 2 : options.inner);
    }
  }
  const absl::Status status = CheckRepulsion(radii, descriptor);
  if (status.ok()) return radii;
  return absl::InvalidArgumentError(absl::StrCat("--zbl=", ZblText(options), ": ", status.message()));
}

absl::StatusOr<ZblOptions> ZblOfRadii(const RepulsionRadii& radii, const DescriptorOptions& descriptor) {
  if (radii.empty()) return ZblOptions();
  // Radii of one species are equal either way, and those of other species would be another matter.
  for (const ZblOptions& options : {ZblOptions{ZblOptions::Kind::kAuto, 0, 0},
                                    ZblOptions{ZblOptions::Kind::kRadii, radii.inner[0], radii.outer[0]}}) {
    const absl::StatusOr<RepulsionRadii> expected = RadiiOf(options, descriptor);
    if (expected.ok() && *expected == radii) return options;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no value of --zbl stands for the radii of its repulsion, ", DescribeRepulsion(radii, descriptor)));
}

}  // namespace rutile
