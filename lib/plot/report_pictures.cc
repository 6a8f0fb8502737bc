#include "lib/plot/report_pictures.h"

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"

namespace rutile {

absl::Status ReportPictures::Add(absl::string_view file, const absl::StatusOr<std::string>& svg,
                                 absl::string_view caption) {
  if (!svg.ok()) {
    html_->AddParagraph(absl::StrCat(file, " was not drawn: ", svg.status().message()));
    if (warning_.empty()) {
      warning_ = absl::StrCat("the report is without ", file,
                              absl::IsNotFound(svg.status()) ? " and other pictures: " : ": ", svg.status().message());
    }
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory_, "/", file), *svg));
  return html_->AddFigure(*svg, caption);
}

}  // namespace rutile
