// The flags of evaluate that mean the same for both kinds of models.

#ifndef RUTILE_TOOLS_EVALUATE_COMMON_FLAGS_H_
#define RUTILE_TOOLS_EVALUATE_COMMON_FLAGS_H_

#include <gflags/gflags.h>

DECLARE_string(output_dir);  // "": no files are written
DECLARE_bool(progress);

#endif  // RUTILE_TOOLS_EVALUATE_COMMON_FLAGS_H_
