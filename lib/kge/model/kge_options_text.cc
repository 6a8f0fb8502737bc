#include "lib/kge/model/kge_options_text.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/setting_record.h"
#include "lib/base/settings.h"
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

std::vector<std::pair<std::string, std::string>> KgeSettingsOf(const std::map<std::string, std::string>& text) {
  std::vector<std::pair<std::string, std::string>> settings;
  KgeOptions options;
  const bool is_model = text.count(KgeSettings().front().name) > 0;
  for (const Setting<KgeOptions>& row : KgeSettings()) {
    const auto found = text.find(row.name);
    if (found != text.end()) {
      if (row.Set(found->second, &options).ok()) settings.emplace_back(row.name, found->second);
    } else if (is_model && row.HasEffect(options) && !row.IsRecorded(options)) {
      settings.emplace_back(row.name, RecordText(row.Get(options)));
    }
  }
  return settings;
}

}  // namespace rutile
