// Prints docs/formats.md from the schemas that readers check files against.

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/evaluation/predictions_file.h"
#include "lib/graph/known_file.h"
#include "lib/graph/triples_file.h"
#include "lib/influence/files/influence_file.h"
#include "lib/influence/files/subsets_file.h"
#include "lib/kge/model/embedding_export.h"
#include "lib/kge/model/kge_file.h"
#include "lib/mace/mace_file.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/potential/influence/curvature/curvature_file.h"
#include "lib/potential/model/potential_file.h"
#include "lib/ranking/ranks_file.h"
#include "lib/structure/extxyz/extxyz_keys.h"
#include "lib/tensorfile/schema.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/failed_batch.h"

namespace {

constexpr char kIntroduction[] = R"(# File formats

<!-- Printed by `bazel run //tools/docs:print_formats`; a test compares. Change the schemas in lib/, not this page. -->

Everything that tools pass to each other is a [safetensors](https://github.com/huggingface/safetensors) file: 8 bytes of
little-endian header length, a JSON header, raw data. Python reads them with `safetensors.numpy.load_file`, or with the
standard library alone:

```python
import json, struct
with open("features.safetensors", "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
print(header["__metadata__"]["kind"], {k: v["shape"] for k, v in header.items() if k != "__metadata__"})
```

- Data starts at a multiple of 64 bytes; tensors are ordered from the widest type to the narrowest, without holes.
- All metadata are strings. Every file has `kind` (name/version), `tool`, `version`, `command` (as it can be pasted) and
  `inputs` (JSON: file to SHA-256). `crc32c.NAME` is the checksum of a tensor, 8 hex digits, in files but not in streams.
- No dates: the same command on the same input gives the same bytes.
- Outputs are written under a temporary name in the same directory, flushed, and renamed: they exist whole or not at all.
- `name-00003-of-00016.safetensors` is a shard: a whole file with a part of the structures. Tools read a set of shards
  whole, or say which one is missing.
- A file is checked against the tables below when it is read, and its tensors against their checksums; one that is cut
  off, damaged or of another kind is refused with the tensor and the rule that it breaks. Who changes a tensor leaves its
  `crc32c.NAME` out. Tensors that no table names are allowed and ignored.
- `bazel run //lib/tensorfile:info -- FILE` prints what a file holds.

In the tables, letters in shapes are sizes that agree within a file.

)";

// A row of the table of names that extended XYZ files are searched for.
std::string KeyRow(absl::string_view what, absl::Span<const absl::string_view> keys) {
  return absl::StrCat("| ", what, " | `", absl::StrJoin(keys, "`, `"), "` |\n");
}

std::string ExtendedXyzKeys() {
  return absl::StrCat(
      "\n## Extended XYZ\n\n",
      "Not ours, but what `featurize`, `cache-neighbors` and `evaluate` look for in it where no flag names a key. The "
      "first that a frame has counts; the others stay information of the frame. Where another has a different value, a "
      "warning for the file says so, with the flag that chooses it (a free energy beside an energy may differ); so it "
      "does where a stress, which counts before a virial, is not what the virial makes.\n\n| what | names, in this "
      "order "
      "|\n|---|---|\n",
      KeyRow("energy, eV", rutile::kEnergyKeys), KeyRow("forces, eV/Å, a column of three numbers", rutile::kForceKeys),
      KeyRow("stress, eV/Å³, positive in tension", rutile::kStressKeys),
      KeyRow("virial, eV; stress = −virial / volume", rutile::kVirialKeys));
}

}  // namespace

int main() {
  std::cout << kIntroduction;
  for (const rutile::Schema* schema :
       {&rutile::FeatureSchema(), &rutile::NeighborSchema(), &rutile::PotentialSchema(), &rutile::MaceSchema(),
        &rutile::CheckpointSchema(), &rutile::FailedBatchSchema(), &rutile::PredictionsSchema(),
        &rutile::TriplesSchema(), &rutile::KnownSchema(), &rutile::KgeSchema(), &rutile::RanksSchema(),
        &rutile::EmbeddingsSchema(), &rutile::InfluenceSchema(), &rutile::PartialInfluenceSchema(),
        &rutile::SubsetsSchema(), &rutile::CurvatureSchema(), &rutile::CurvatureRowsSchema()}) {
    std::cout << rutile::SchemaToMarkdown(*schema);
  }
  std::cout << ExtendedXyzKeys();
}
