// The table of a program's settings: what an option is called, what it is for, which values it takes, where it counts
// and what it means for a run that goes on. One row beside the options struct is the only place that says so; command
// lines, checks of ranges, config.json and the rules of resuming all read the rows. This library knows no flags: it
// describes settings, and tools/common/flags/setting_flags.h makes flags of the description.
//
//   struct SpringOptions { double stiffness = 1; bool damped = false; double friction = 0.1; };
//
//   absl::Span<const Setting<SpringOptions>> SpringSettings() {
//     using O = SpringOptions;
//     static constexpr Setting<O> kSettings[] = {
//         Setting<O>("stiffness", &O::stiffness, "Force by distance.").In(Above(0)),
//         Setting<O>("damped", &O::damped, "Lose energy to friction."),
//         Setting<O>("friction", &O::friction, "Force by velocity.")
//             .In(AtLeast(0))
//             .NeedsOneOf("damped", [](const O& options) { return options.damped; }),
//     };
//     return kSettings;
//   }

#ifndef RUTILE_LIB_BASE_SETTINGS_H_
#define RUTILE_LIB_BASE_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"

namespace rutile {

// The numbers that a setting takes. Only a range of everything, the default, holds numbers that are not finite.
class Range {
 public:
  constexpr Range() = default;

  constexpr Range Below(double high) const { return Range(low_, low_is_in_, high, false); }
  constexpr Range AtMost(double high) const { return Range(low_, low_is_in_, high, true); }
  // One more number, and what it stands for: AtLeast(1).Or(-1, "no limit").
  constexpr Range Or(double value, const char* meaning) const {
    Range range = *this;
    range.other_ = value;
    range.meaning_ = meaning;
    return range;
  }

  bool Contains(double value) const;
  // "0 or more", "a number above 0", "0 to 1", "0 <= momentum < 1", "1 or more, or -1 for no limit".
  std::string Words(absl::string_view name) const;

 private:
  friend constexpr Range AtLeast(double low);
  friend constexpr Range Above(double low);
  constexpr Range(double low, bool low_is_in, double high, bool high_is_in)
      : is_everything_(false), low_is_in_(low_is_in), high_is_in_(high_is_in), low_(low), high_(high) {}

  std::string IntervalWords(absl::string_view name) const;

  double other_ = 0;
  const char* meaning_ = nullptr;  // null: there is no other number
  bool is_everything_ = true;
  bool low_is_in_ = true;
  bool high_is_in_ = true;
  double low_ = -std::numeric_limits<double>::infinity();
  double high_ = std::numeric_limits<double>::infinity();
};
constexpr Range AtLeast(double low) { return Range(low, true, std::numeric_limits<double>::infinity(), true); }
constexpr Range Above(double low) { return Range(low, false, std::numeric_limits<double>::infinity(), true); }

// Parts of what a run remembers. A changed setting can make one of them meaningless, so that it begins anew.
enum class RunPart : unsigned {
  kEpoch = 1,         // the order of examples, and how far the epoch is
  kOptimizer = 2,     // the optimizer's moments
  kSchedule = 4,      // what a schedule remembers of validations
  kBestModel = 8,     // the best value, with all that was judged by it
  kEma = 16,          // the moving average of parameters
  kAverageBest = 32,  // the mean of the best models
  kTask = 64          // what the task remembers of examples
};

enum class OnResume {
  kMustMatch,  // another value is refused, unless the user asks for it by name
  kMayChange,  // another value counts from here on
  // Another value is taken without a word, as the setting does not decide the course of a run: limits, logs, files,
  // threads. Checkpoints do not record it; config.json does.
  kNotCompared,
};

using SettingValue = std::variant<double, int64_t, uint64_t, bool, std::string>;

// "0.98", "100", "true", or the text itself.
std::string SettingText(const SettingValue& value);

// A name that a setting had in older checkpoints, and what its values were called there.
struct OldName {
  struct Value {
    const char* then;  // as JSON: "true"
    const char* now;   // text
  };
  const char* name = nullptr;           // null: there is none
  absl::Span<const Value> values = {};  // empty: they are the same
  // Another setting that the old name stood for, too, with its value. Null: none.
  const char* also = nullptr;
  const char* also_value = nullptr;
};

// What another setting must be for this one to have an effect.
struct Need {
  // The names of the settings that decide, comma-separated: one of them must be set. With by_value, it is one name,
  // and its value decides.
  const char* names = nullptr;
  bool by_value = false;
};

// All of a row but where its value lies.
struct SettingInfo {
  const char* name = nullptr;  // of the flag, of config.json's key and of --override
  const char* help = nullptr;  // one or two sentences
  Range range;
  static constexpr size_t kMaxNeeds = 4;
  Need needs[kMaxNeeds];  // all of them must be met
  size_t num_needs = 0;   // 0: there is always an effect
  // What a user writes for a value that depends on others ("0", "auto"), which is then the flag's default. The option
  // is left as the code that fills in the options found it.
  const char* automatic = nullptr;
  // Null for what a user can set by a flag of this name. Else where the value comes from: "it follows from max_epochs".
  const char* derived = nullptr;
  OldName old_names[2];
  OnResume on_resume = OnResume::kMustMatch;
  unsigned resets = 0;                      // of RunPart
  bool resets_if_it_comes_or_goes = false;  // that is, not if both runs have the setting and only its value differs

  bool Resets(RunPart part) const { return (resets & static_cast<unsigned>(part)) != 0; }
};

// INVALID_ARGUMENT: "momentum is 2, expected 0 <= momentum < 1".
absl::Status CheckRange(const SettingInfo& info, const SettingValue& value);
// INVALID_ARGUMENT for a number that is not in `range`, whatever the row's own range is; the message is CheckRange's.
absl::Status CheckInRange(const SettingInfo& info, const SettingValue& value, const Range& range);
// Reads text as a value of the same type as `like`. INVALID_ARGUMENT: "momentum=much is no number".
absl::StatusOr<SettingValue> ParseSettingValue(const SettingInfo& info, absl::string_view text,
                                               const SettingValue& like);

// One row of a table. Rows are constants, made by one of the first three members below and refined by the others.
template <typename Options>
class Setting : public SettingInfo {
 public:
  using Predicate = bool (*)(const Options&);
  using GetValue = SettingValue (*)(const Options&);
  // INVALID_ARGUMENT for text that means nothing; the options are then as they were.
  using SetText = absl::Status (*)(absl::string_view text, Options* options);

  // A number, switch or text: Member is double, int, int64_t, uint64_t, bool or std::string.
  template <typename Member>
  constexpr Setting(const char* name, Member Options::*member, const char* help) : member_(member) {
    this->name = name;
    this->help = help;
  }
  // One of the names of an enum: Choice<&O::anneal, &kAnnealNames>("lr_anneal", "...").
  template <auto kMember, auto kNames>
  static constexpr Setting Choice(const char* name, const char* help) {
    Setting row = Text(
        name, [](const Options& options) { return SettingValue(std::string(kNames->Name(options.*kMember))); },
        [](absl::string_view text, Options* options) -> absl::Status {
          const auto parsed = kNames->Parse(text);
          if (parsed.ok()) options->*kMember = *parsed;
          return parsed.status();
        },
        help);
    row.get_choices_ = [] { return kNames->names(); };
    return row;
  }
  // Whatever has a form in text. `get` returns the value as its flag shows it, always of the same type.
  static constexpr Setting Text(const char* name, GetValue get, SetText set, const char* help) {
    return Setting(name, TextMember{get, set}, help);
  }

  constexpr Setting In(Range range) const {
    Setting row = *this;
    row.range = range;
    return row;
  }
  // The setting counts only where `is_met`, which the value of the setting `name` decides. A row may need several.
  constexpr Setting Needs(const char* name, Predicate is_met) const { return With({name, true}, is_met); }
  // The setting counts only where `is_met`, because one of the settings `names` (comma-separated) is set.
  constexpr Setting NeedsOneOf(const char* names, Predicate is_met) const { return With({names, false}, is_met); }
  // The run's record holds the setting where `recorded`, not where it has an effect: older versions wrote it so, or
  // only what is not the default.
  constexpr Setting RecordedIf(Predicate recorded) const {
    Setting row = *this;
    row.recorded_ = recorded;
    return row;
  }
  // The run's record shows this value in place of the flag's, such as 0.5 for the text "0.5".
  constexpr Setting RecordedAs(GetValue record) const {
    Setting row = *this;
    row.record_ = record;
    return row;
  }
  constexpr Setting Automatic(const char* text) const {
    Setting row = *this;
    row.automatic = text;
    return row;
  }
  constexpr Setting Derived(const char* origin) const {
    Setting row = *this;
    row.derived = origin;
    return row;
  }
  constexpr Setting Once(const char* old_name, absl::Span<const OldName::Value> values = {}) const {
    return Once(OldName{old_name, values});
  }
  // The setting had the old name where the setting `also` was what is now called `also_value`.
  constexpr Setting OnceWith(const char* old_name, const char* also, const char* also_value) const {
    return Once(OldName{old_name, {}, also, also_value});
  }
  constexpr Setting MayChange() const {
    Setting row = *this;
    row.on_resume = OnResume::kMayChange;
    return row;
  }
  constexpr Setting NotCompared() const {
    Setting row = *this;
    row.on_resume = OnResume::kNotCompared;
    return row;
  }
  constexpr Setting Resetting(RunPart part) const {
    Setting row = *this;
    row.resets = resets | static_cast<unsigned>(part);
    return row;
  }
  constexpr Setting ResettingIfItComesOrGoes(RunPart part) const {
    Setting row = Resetting(part);
    row.resets_if_it_comes_or_goes = true;
    return row;
  }

  // The first need that the options do not meet, or nullptr.
  const Need* Unmet(const Options& options) const {
    for (size_t i = 0; i < num_needs; ++i) {
      if (!is_met_[i](options)) return &needs[i];
    }
    return nullptr;
  }
  bool HasEffect(const Options& options) const { return Unmet(options) == nullptr; }
  bool IsRecorded(const Options& options) const {
    return recorded_ != nullptr ? recorded_(options) : HasEffect(options);
  }
  // The names of an enum's values; empty for other settings.
  absl::Span<const absl::string_view> Choices() const {
    return get_choices_ == nullptr ? absl::Span<const absl::string_view>() : get_choices_();
  }

  SettingValue Get(const Options& options) const {
    return std::visit([&](const auto& member) { return GetMember(options, member); }, member_);
  }
  // The value as the run's record shows it.
  SettingValue Record(const Options& options) const { return record_ != nullptr ? record_(options) : Get(options); }
  // INVALID_ARGUMENT for text of another type. Ranges are CheckRanges' matter.
  absl::Status Set(absl::string_view text, Options* options) const {
    if (const auto* member = std::get_if<TextMember>(&member_)) return member->set(text, options);
    const absl::StatusOr<SettingValue> value = ParseSettingValue(*this, text, Get(*options));
    if (!value.ok()) return value.status();
    if (std::holds_alternative<int Options::*>(member_)) {
      constexpr Range kOfInt = AtLeast(std::numeric_limits<int>::min()).AtMost(std::numeric_limits<int>::max());
      const absl::Status status = CheckInRange(*this, *value, kOfInt);
      if (!status.ok()) return status;
    }
    std::visit([&](const auto& member) { SetMember(*value, member, options); }, member_);
    return absl::OkStatus();
  }

 private:
  struct TextMember {
    GetValue get;
    SetText set;
  };
  using Member = std::variant<double Options::*, int Options::*, int64_t Options::*, uint64_t Options::*,
                              bool Options::*, std::string Options::*, TextMember>;

  constexpr Setting(const char* name, TextMember member, const char* help) : member_(member) {
    this->name = name;
    this->help = help;
  }

  constexpr Setting With(Need need, Predicate is_met) const {
    Setting row = *this;
    row.needs[num_needs] = need;
    row.is_met_[num_needs] = is_met;
    ++row.num_needs;
    return row;
  }
  constexpr Setting Once(OldName old_name) const {
    Setting row = *this;
    row.old_names[old_names[0].name == nullptr ? 0 : 1] = old_name;
    return row;
  }

  template <typename T>
  static SettingValue GetMember(const Options& options, T Options::*member) {
    return options.*member;
  }
  static SettingValue GetMember(const Options& options, int Options::*member) { return int64_t{options.*member}; }
  static SettingValue GetMember(const Options& options, const TextMember& member) { return member.get(options); }
  template <typename T>
  static void SetMember(const SettingValue& value, T Options::*member, Options* options) {
    options->*member = std::get<T>(value);
  }
  static void SetMember(const SettingValue& value, int Options::*member, Options* options) {
    options->*member = static_cast<int>(std::get<int64_t>(value));
  }
  static void SetMember(const SettingValue&, const TextMember&, Options*) {}

  Member member_;
  Predicate is_met_[kMaxNeeds] = {};
  Predicate recorded_ = nullptr;
  GetValue record_ = nullptr;
  absl::Span<const absl::string_view> (*get_choices_)() = nullptr;
};

// The row of that name, or nullptr.
template <typename Options>
const Setting<Options>* FindSetting(absl::Span<const Setting<Options>> table, absl::string_view name) {
  for (const Setting<Options>& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// INVALID_ARGUMENT for the first number of the table that is out of its range.
template <typename Options>
absl::Status CheckRanges(absl::Span<const Setting<Options>> table, const Options& options) {
  for (const Setting<Options>& row : table) {
    const absl::Status status = CheckRange(row, row.Get(options));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Whether all settings of the table have the same values.
template <typename Options>
bool SameSettings(absl::Span<const Setting<Options>> table, const Options& a, const Options& b) {
  for (const Setting<Options>& row : table) {
    if (row.Get(a) != row.Get(b)) return false;
  }
  return true;
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_SETTINGS_H_
