#include "tools/tracin/outputs/tiepin_output_flags.h"

#include <gflags/gflags.h>

#include "tools/common/run/flag_domain.h"

DEFINE_string(csv_output, "",
              "Triples: CSV file with the 14 columns of TiePin; of several tests one each, NAME_test_I.csv. - is "
              "standard output, of a single test.");
DEFINE_string(json_output, "", "Triples: JSON file in TiePin's forms. - is standard output.");
DEFINE_bool(output_per_triple, false,
            "One JSON file for each test, tracin_test_I.json in the folder of --json_output.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

}  // namespace
}  // namespace rutile
