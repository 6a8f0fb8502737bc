#include "lib/kge/model/kge_options_text.h"

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "lib/base/setting_record.h"
#include "lib/base/status_macros.h"

namespace rutile {

std::map<std::string, std::string> DescribeKgeOptions(const KgeOptions& options) {
  std::map<std::string, std::string> text;
  RecordSettings(KgeSettings(), options, &text);
  return text;
}

absl::StatusOr<KgeOptions> ParseKgeOptions(const std::map<std::string, std::string>& text) {
  KgeOptions options;
  RETURN_IF_ERROR(ReadRecord(KgeSettings(), text, &options));
  RETURN_IF_ERROR(CheckKgeOptions(options));
  return options;
}

}  // namespace rutile
