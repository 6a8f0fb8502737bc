#include "tools/train/flags/flags_of_other_programs.h"

namespace rutile {
namespace {

constexpr char kEpochs[] = "--max_epochs=N";
constexpr char kFeaturize[] = "is featurize's, whose output is train's input";
constexpr char kCutoff[] =
    "--cutoff of many-body potentials, or --rad_cutoff and --ang_cutoff of Chebyshev features, in Angstrom";
constexpr char kInput[] = "the files to train on are given without a flag, as in train --species=Ti,O data.extxyz";
constexpr char kDevice[] = "--device=cpu, cuda or cuda:N";
constexpr char kAllEntities[] = "every loss compares with all entities, none are sampled; leave it out";
constexpr char kLazy[] = "--lazy_rows, with any --optimizer but schedule-free-adamw";
constexpr char kCheckpoints[] =
    "checkpoints are in checkpoints/ of --output_dir; --keep_every_epochs=N keeps more than the last";
constexpr char kRate[] = "--lr_scheduler=plateau, with --lr_patience, --lr_factor and --min_learning_rate";
constexpr char kNothing[] = "there is nothing to choose here: memory is taken once and used again; leave it out";

constexpr ForeignFlag kForeign[] = {
    {"train_file", kInput},
    {"training_file", kInput},
    {"valid_file", "--validation_data=FILE"},
    {"validation_file", "--validation_data=FILE"},
    {"test_file", "--test_data=FILE"},
    {"E0s", "--atomic_energies=H=-13.6,O=-432.5; energies of isolated atoms in the data count by themselves"},
    {"e0s", "--atomic_energies=H=-13.6,O=-432.5; energies of isolated atoms in the data count by themselves"},
    {"isolated_atom_energies", "--atomic_energies=H=-13.6,O=-432.5"},
    {"atomic_numbers", "--species=H,O, symbols instead of numbers"},
    {"num_channels", "--channels=N"},
    {"max_L", "--vector_messages=N with --messages=N, for messages that are vectors"},
    {"max_ell", "--max_l=N"},
    {"num_radial_basis", "--radial_functions=N"},
    {"num_interactions", "--messages=N for a second layer, and without it for one"},
    {"max_num_epochs", kEpochs},
    {"swa", "--ema, an average over the steps"},
    {"stage_two", "--ema, an average over the steps"},
    {"default_dtype", "--precision=fp32 or fp64"},
    {"forces_key", "--force_key=NAME"},
    {"forces_weight", "--force_weight=X"},
    {"config_type_weights", "--config_weights=TYPE=X,..."},
    {"name", "--output_dir=DIRECTORY"},
    {"work_dir", "--output_dir=DIRECTORY"},
    {"restart_latest", "--resume=auto"},
    {"epochs", kEpochs},
    {"n_epochs", kEpochs},
    {"num_epochs", kEpochs},
    {"iterations", kEpochs},
    {"lr", "--learning_rate=X"},
    {"optim", "--optimizer=NAME"},
    {"wd", "--weight_decay=X"},
    {"random_seed", "--seed=N"},
    {"hidden_size", "--hidden=15,15, nodes of each layer"},
    {"hidden_layers", "--hidden=15,15, nodes of each layer"},
    {"r_cut", kCutoff},
    {"r_max", kCutoff},
    {"elements", "--species=Ti,O"},
    {"chemical_symbols", "--species=Ti,O"},
    {"forces", "--force_weight=X, above 0"},
    {"testpercent", "--validation_fraction=0.1 for 10"},
    {"validation_split", "--validation_fraction=X"},
    {"val_fraction", "--validation_fraction=X"},
    {"valid_fraction", "--validation_fraction=X"},
    {"test_size", "--test_fraction=X"},
    {"early_stopping", "--patience=N"},
    {"use_scheduler", kRate},
    {"scheduler_patience", kRate},
    {"scheduler_factor", kRate},
    {"scheduler_min_lr", kRate},
    {"scheduler", "--lr_scheduler=NAME"},
    {"train", kFeaturize},
    {"valid", kFeaturize},
    {"test", kFeaturize},
    {"entity_to_id", kFeaturize},
    {"relation_to_id", kFeaturize},
    {"node_name_dict", kFeaturize},
    {"edge_map", kFeaturize},
    {"inverse_relations", kFeaturize},
    {"create_inverse_triples", "--inverse_relations, which featurize adds unless told otherwise"},
    {"model",
     "--kge_model=conve, distmult, complex, rescal, cp, simple, transe, rotate or tucker of graphs; potentials like "
     "MACE's are --potential=many-body"},
    {"embedding_size", "--embedding_dim=N"},
    {"scoring_fct_norm", "--distance_norm=1 or 2"},
    {"l_norm", "--distance_norm=1 or 2"},
    {"dropout", "--input_dropout, --feature_map_dropout and --output_dropout"},
    {"negative_sampler", kAllEntities},
    {"lazy", kLazy},
    {"lazy_adam", kLazy},
    {"sparse", kLazy},
    {"sparse_adam", kLazy},
    {"sparse_grad", kLazy},
    {"num_negs_per_pos", kAllEntities},
    {"training_loop", "--kge_loss=1-N, 1-of-N, 1vsAll or KvsAll"},
    {"checkpoint_dir", kCheckpoints},
    {"checkpoint_frequency", kCheckpoints},
    {"checkpoint_interval", "--save_interval=SECONDS"},
    {"max_checkpoints", "--save_top_k=N, which keeps those of the best validations"},
    {"save_best", "best.safetensors is always written; leave it out"},
    {"resume_from_checkpoint", "--resume, or --resume=CHECKPOINT"},
    {"ckpt_path", "--resume=CHECKPOINT"},
    {"use_mixed_precision", "--mixed_precision"},
    {"amp", "--mixed_precision"},
    {"use_gradient_checkpointing", kNothing},
    {"disable_memory_cleanup", kNothing},
    {"memory_mode", kNothing},
    {"no_gpu", kDevice},
    {"gpu", kDevice},
    {"gpus", kDevice},
    {"accelerator", kDevice},
    {"devices", "--num_processes=N on processors; --device=cuda:N for one GPU"},
    {"workers", "--threads=N for computing, --num_workers=N for making batches"},
    {"show_progress", "--progress"},
};

}  // namespace

absl::Span<const ForeignFlag> TrainForeignFlags() { return kForeign; }

}  // namespace rutile
