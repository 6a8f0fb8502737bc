// Checks a profile by rules of thumb and advises what to change, with the figures of this run that support it.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_ADVICE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_ADVICE_H_

#include <string>
#include <vector>

#include "lib/profile/record.h"
#include "tools/profile/pages/stage_table.h"

namespace rutile {

// One piece of advice.
struct Advice {
  std::string name;  // stable, for scripts: "wait_for_data"
  std::string what;  // "--num_workers=2 makes batches ahead"
  std::string why;   // "training waits for data 31 % of the time"
};

// Returns the advice that applies to this process, the most important first. `table` is made from the record. There is
// none about stages that take too little to matter, nor about flags that the command sets already. Shares are those of
// the time after startup (the loading of libraries).
std::vector<Advice> Advise(const ProfileRecord& record, const StageTable& table);

// Says what the shares in advice refer to, if that is not the whole time of the process: "of the 1.2 s between startup
// and exit"; else "".
std::string AdviceBasis(const StageTable& table);

// Describes the largest stage except startup, including its waiting for helpers:
std::string BottleneckText(const ProfileRecord& record, const StageTable& table);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_ADVICE_H_
