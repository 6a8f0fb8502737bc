// Rules of thumb as checks: what a user can change, each with the figure of this run that supports it.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_ADVICE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_ADVICE_H_

#include <string>
#include <vector>

#include "lib/profile/record.h"
#include "tools/profile/pages/stage_table.h"

namespace rutile {

struct Advice {
  std::string name;  // stable, for scripts: "wait_for_data"
  std::string what;  // "--num_workers=2 makes batches ahead"
  std::string why;   // "training waits for data 31 % of the time"
};

// The checks that hold for this process, the most important first. `table` is the record's. Nothing is said where a
// stage takes too little to matter, nor of a flag that the command sets already. Shares are of the time after startup
// (the loading of libraries).
std::vector<Advice> Advise(const ProfileRecord& record, const StageTable& table);

// What the shares in advice are of, where that is not the whole time of the process: "of the 1.2 s between startup and
// exit"; else "".
std::string AdviceBasis(const StageTable& table);

// Of the largest stage but startup, with its waiting for helpers:
// "train spends 62 % of its time in step/network, 46 Gflop/s, 40 % of what fp32 on 2 processors could do".
std::string BottleneckText(const ProfileRecord& record, const StageTable& table);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_ADVICE_H_
