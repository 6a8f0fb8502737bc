// Command-line flags made of a table of settings (lib/base/settings.h): their names, types, defaults and help, the way
// of their values into the options struct, and the refusal of one that has no effect.
//
//   const SettingFlags<EmaOptions>& Flags() {
//     static const auto* flags = new SettingFlags<EmaOptions>(EmaSettings(), __FILE__);
//     return *flags;
//   }
//   const bool registered = Flags().Register();  // before main, as DEFINE_double would
//
//   EmaOptions options;
//   RETURN_IF_ERROR(Flags().CopyTo(&options));
//   RETURN_IF_ERROR(Flags().RefuseUnused(options));

#ifndef RUTILE_TOOLS_COMMON_FLAGS_SETTING_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_SETTING_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/settings.h"
#include "tools/common/run/given_flags.h"

namespace rutile {

// Tells gflags of a flag with the name and help of the row. `filename`: the source that --help counts it to; it and the
// row must live until the program ends.
void RegisterSettingFlag(const SettingInfo& info, const SettingValue& default_value, const char* filename);

// The value of the flag as text. CHECK-fails where there is none of that name.
std::string SettingFlagText(const SettingInfo& info);

// INVALID_ARGUMENT: "--lr_scheduler=cyclic: WHAT".
absl::Status BadSettingFlag(const SettingInfo& info, absl::string_view text, absl::string_view what);

// INVALID_ARGUMENT if the flag was given, as `need` is not met: "--lr_power has no effect with --lr_scheduler=cosine:
// leave it out". CHECK-fails if a setting that decides by its value is no flag.
absl::Status RefuseSettingFlag(const SettingInfo& info, const Need& need);

template <typename Options>
class SettingFlags {
 public:
  // The table must live until the program ends.
  SettingFlags(absl::Span<const Setting<Options>> table, const char* filename) : table_(table), filename_(filename) {}

  // Makes a flag of each setting that is not derived, with the value that `defaults` has for it. Returns true, to be
  // called by the initialization of a constant.
  bool Register(const Options& defaults = Options()) const {
    for (const Setting<Options>& row : table_) {
      if (row.derived != nullptr) continue;
      SettingValue value = row.Get(defaults);
      if (row.automatic != nullptr) value = ParseSettingValue(row, row.automatic, value).value();
      RegisterSettingFlag(row, value, filename_);
    }
    return true;
  }

  // Returns the names of the flags, in the order of the table.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Setting<Options>& row : table_) {
      if (row.derived == nullptr) names.push_back(row.name);
    }
    return names;
  }

  // The value of one flag. INVALID_ARGUMENT for text that is none of the choices.
  absl::Status CopyTo(absl::string_view name, Options* options) const { return Copy(Row(name), options); }

  // The values of all flags, but of those whose value says that another setting decides. Ranges are not checked: the
  // library does that for all who fill in its options.
  absl::Status CopyTo(Options* options) const {
    for (const Setting<Options>& row : table_) {
      if (row.derived != nullptr) continue;
      const absl::Status status = Copy(row, options);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // INVALID_ARGUMENT for the first flag that was given and has no effect with these options.
  absl::Status RefuseUnused(const Options& options) const {
    for (const Setting<Options>& row : table_) {
      const Need* unmet = row.Unmet(options);
      if (row.derived != nullptr || unmet == nullptr) continue;
      const absl::Status status = RefuseSettingFlag(row, *unmet);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // INVALID_ARGUMENT for the first flag that was given, whatever the others are. `why`: "without --ema".
  absl::Status RefuseAll(absl::string_view why) const {
    for (const std::string& name : names()) {
      const absl::Status status = RefuseFlags(why, {name.c_str()});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  const Setting<Options>& Row(absl::string_view name) const {
    const Setting<Options>* row = FindSetting(table_, name);
    CHECK(row != nullptr) << "no setting " << name;
    return *row;
  }

  static absl::Status Copy(const Setting<Options>& row, Options* options) {
    const std::string text = SettingFlagText(row);
    if (row.automatic != nullptr && text == row.automatic) return absl::OkStatus();
    const absl::Status status = row.Set(text, options);
    return status.ok() ? status : BadSettingFlag(row, text, status.message());
  }

  absl::Span<const Setting<Options>> table_;
  const char* filename_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_SETTING_FLAGS_H_
