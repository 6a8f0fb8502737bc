// What resuming demands of the options that a task records, where it is more than the same value.

#ifndef RUTILE_LIB_TASK_RESUME_RULE_H_
#define RUTILE_LIB_TASK_RESUME_RULE_H_

namespace rutile {

// The rule of one option of Task::ResumeConfig, or of those that the caller adds to it. An option without a rule must
// have the value that it had, unless the user overrides it by name: then sums and judgments of the loss begin anew,
// since the option may decide what the task learns from.
//
//   static constexpr ResumeRule kRules[] = {{"kernels", ResumeRule::kComputesOnly}, {"rad_order",
//   ResumeRule::kDecidesLoss, "species"}};
struct ResumeRule {
  enum Meaning {
    kDecidesLoss,
    // The option decides how the task computes and not what it learns: its sums go on, and what the task remembers
    // (Task::State) begins anew.
    kComputesOnly,
  };

  const char* name = nullptr;
  Meaning meaning = kDecidesLoss;
  // Versions that did not record this option did not record that one either: it is not compared with a run whose record
  // lacks that one. Null: all versions recorded the option.
  const char* since = nullptr;
  // Why no override helps, for a message: what differs, and what to do. Null: an override helps.
  const char* refusal = nullptr;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_RESUME_RULE_H_
