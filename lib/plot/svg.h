// Adapts gnuplot's SVG so that several pictures can be in one page.

#ifndef RUTILE_LIB_PLOT_SVG_H_
#define RUTILE_LIB_PLOT_SVG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// Tidies `svg` as gnuplot writes it with `set terminal svg name "NAME"`. Ids get NAME as a prefix, so that two pictures
// in one page share none; the titles of curves, which browsers show as tooltips, are removed; the picture's own becomes
// `title`. INVALID_ARGUMENT if there is no SVG or `name` is not made of letters, digits and underscores.
absl::StatusOr<std::string> TidySvg(absl::string_view svg, absl::string_view name, absl::string_view title);

// Returns only the <svg> element, without the prolog of a file. INVALID_ARGUMENT if there is none, and for scripts and
// references to other files.
absl::StatusOr<std::string> InlineSvg(absl::string_view svg);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_SVG_H_
