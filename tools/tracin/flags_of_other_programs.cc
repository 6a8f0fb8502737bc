#include "tools/tracin/flags_of_other_programs.h"

namespace rutile {
namespace {

constexpr char kOneWay[] =
    "there is one way to compute scores here, exact and in blocks: nothing to switch; leave it out";
constexpr char kNoGraph[] = "no backward graph is kept, so there is nothing to compute anew; leave it out";
constexpr char kInCheckpoint[] = "sizes of the model are read from the checkpoint; leave it out";
constexpr char kNames[] =
    "names have their ids in the model and in triples.safetensors (featurize --entity_to_id); leave it out";
constexpr char kNoFilter[] =
    "all training triples are gone through, fast; --hops=N restricts a test to its neighborhood";
constexpr char kProcessor[] =
    "products are computed on the processor; --num_processes=N, or --shard=i/n and --merge, spread them over processes";

constexpr ForeignFlag kForeign[] = {
    {"model_path", "checkpoints are arguments; --model=FILE names the model file of their run where it is not found"},
    {"model_dir", "checkpoints are arguments; --model=FILE names the model file of their run where it is not found"},
    {"o", "--output=FILE, which has all of it, or --json_output=FILE, TiePin's JSON"},
    {"entity_to_id", kNames},
    {"relation_to_id", kNames},
    {"entity_labels", "--node_name_dict=FILE, which has names for people"},
    {"relation_labels", "--edge_map=FILE, which has names for people"},
    {"embedding_dim", kInCheckpoint},
    {"output_channels", kInCheckpoint},
    {"batch_size",
     "how many training examples are gone through at once follows from the model, and scores do not depend on it; "
     "leave "
     "it out"},
    {"use_vectorized_gradients", kOneWay},
    {"disable_vectorized_gradients", kOneWay},
    {"use_optimized_tracin", kOneWay},
    {"use_torch_compile", "the kernels are compiled already; leave it out"},
    {"cache_test_gradients",
     "what products need of the tests is always held, as many tests as --max_bytes allows in one pass; leave it out"},
    {"disable_test_gradient_caching",
     "what products need of the tests is held once for a whole pass over the training data: without, every pair would "
     "cost a pass; --max_bytes bounds it"},
    {"no_cache_test_gradients",
     "what products need of the tests is held once for a whole pass over the training data: without, every pair would "
     "cost a pass; --max_bytes bounds it"},
    {"use_gradient_checkpointing", kNoGraph},
    {"gradient_checkpointing", kNoGraph},
    {"disable_memory_cleanup", "memory is taken once and used again: there is no cleanup; leave it out"},
    {"memory_cleanup", "memory is taken once and used again: there is nothing to clean up; leave it out"},
    {"enable_multi_gpu", kProcessor},
    {"no_gpu", "products are computed on the processor in any case; leave it out"},
    {"num_threads", "--threads=N"},
    {"num_workers", "--threads=N"},
    {"use_projection", "--projection_dim=N, which projects gradients or their long factors, or leave it out"},
    {"filter_method", kNoFilter},
    {"n_hops", "--hops=N"},
    {"min_degree", kNoFilter},
    {"cache", kNoFilter},
    {"no_preserve_test_edges", kNoFilter},
    {"strict_hop_constraint", kNoFilter},
    {"path_filtering", kNoFilter},
    {"max_total_path_length", kNoFilter},
    {"strict_path_filtering", kNoFilter},
    {"skip_filtering", kNoFilter},
    {"skip_tracin", "cache-neighbors --hops=N --entities=FILE cuts the graph around entities; leave it out"},
    {"start_index", "--mode=single --test_indices=I,J,..., which chooses tests by number"},
    {"max_triples", "--max_tests=N"},
    {"test_triples", "--test=FILE"},
    {"test_triple", "--test=FILE, with a triple a line"},
    {"output_dir", "--output, --csv_output and --json_output, which name the files"},
};

}  // namespace

absl::Span<const ForeignFlag> TracinForeignFlags() { return kForeign; }

}  // namespace rutile
