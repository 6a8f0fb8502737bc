// Makes gnuplot's SVG fit to stand beside others in one page.

#ifndef RUTILE_LIB_PLOT_SVG_H_
#define RUTILE_LIB_PLOT_SVG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// `svg` as gnuplot writes it with `set terminal svg name "NAME"`. Ids get NAME as a prefix, so that two pictures in one
// page do not share any; the titles of curves, which browsers show as tooltips, go; the picture's own becomes `title`.
// INVALID_ARGUMENT when there is no SVG in it or `name` is not made of letters, digits and underscores.
absl::StatusOr<std::string> TidySvg(absl::string_view svg, absl::string_view name, absl::string_view title);

// The <svg> element alone, without what stands before it in a file of its own.
// INVALID_ARGUMENT when there is none, and for scripts and references to other files.
absl::StatusOr<std::string> InlineSvg(absl::string_view svg);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_SVG_H_
