// Writes the pictures of a report as files beside its page, and adds them to the page.

#ifndef RUTILE_LIB_PLOT_REPORT_PICTURES_H_
#define RUTILE_LIB_PLOT_REPORT_PICTURES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/plot/html_report.h"

namespace rutile {

// The tables of a report are worth more than its pictures: a picture that cannot be drawn becomes a sentence on the
// page, and a warning.
//
//   ReportPictures pictures(directory, &html);
//   RETURN_IF_ERROR(pictures.Add("learning_curve.svg", LearningCurve(curves), "Loss over the epochs."));
//   if (!pictures.warning().empty()) PrintWarning(pictures.warning());
class ReportPictures {
 public:
  // directory: exists. html: not owned.
  ReportPictures(absl::string_view directory, HtmlReport* html) : directory_(directory), html_(html) {}

  // Writes a picture to the file of this name in the directory and adds it to the page or, if it could not be drawn,
  // says why in its place. Errors: those of writing files, and of HtmlReport::AddFigure.
  absl::Status Add(absl::string_view file, const absl::StatusOr<std::string>& svg, absl::string_view caption);

  HtmlReport* html() { return html_; }
  // Returns a warning about the first picture that is missing; "" if none is.
  const std::string& warning() const { return warning_; }

 private:
  const std::string directory_;
  HtmlReport* const html_;
  std::string warning_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_REPORT_PICTURES_H_
