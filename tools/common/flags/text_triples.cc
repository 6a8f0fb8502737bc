#include "tools/common/flags/text_triples.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/graph/text/formats/kg_format.h"

namespace rutile {

absl::Status RefuseTextTriples(const std::string& path) {
  ASSIGN_OR_RETURN(const KgFormat format, DetectKgFormatOfFile(path));
  if (format == KgFormat::kOther) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": is a knowledge graph as text, expected the file that featurize makes of it: featurize "
                   "--output=triples.safetensors TRAIN VALID TEST"));
}

}  // namespace rutile
