// The flags of tracin's outputs in TiePin's forms, which are of triples.

#ifndef RUTILE_TOOLS_TRACIN_OUTPUTS_TIEPIN_OUTPUT_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_OUTPUTS_TIEPIN_OUTPUT_FLAGS_H_

#include <gflags/gflags.h>

DECLARE_string(csv_output);
DECLARE_string(json_output);
DECLARE_bool(output_per_triple);

#endif  // RUTILE_TOOLS_TRACIN_OUTPUTS_TIEPIN_OUTPUT_FLAGS_H_
