"""The settings of train that combine_settings.py draws, and the flags that it does not draw, each with the reason.

Which flags there are says the program itself: `train --help=all`, which is printed from the settings' tables. A switch
is drawn as its opposite, a setting with named choices as any of them; the rest has values here. A flag that is in no
table is an error: a new setting is drawn or excused on the day it comes.

A value is a text of one or several flags: what a setting needs to have an effect comes with it (--optimizer=sgd with
--momentum). {NAME} stands for a file of the draw.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "docs"))
import reference  # noqa: E402  (tools/docs/reference.py reads a tool's help)

SGD = "--optimizer=sgd --learning_rate=0.01 "
CONVE = "--kge_model=conve --embedding_dim=16 --embedding_height=4 --embedding_width=4 --output_channels=2 "
FORCES = "--force_weight=0.2 "
MANY_BODY = "--potential=many-body --channels=4 --cutoff=3 "

# A setting that is drawn: the domains (p: potentials, g: graphs) and its values. None: what the help says.
DRAWN = {
    # Structures
    "config_key": ("p", ["--config_key=phase --validation_key=phase:colum*"]),
    "energy_key": ("p", ["--energy_key=other_energy"]),
    "force_key": ("p", [FORCES + "--force_key=other_forces"]),
    "stress_key": ("p", ["--stress_weight=1 --stress_key=other_stress"]),
    "virial_key": ("p", ["--stress_weight=1 --virial_key=other_virial"]),
    "max_energy": ("p", ["--max_energy={ENERGY_LIMIT}"]),
    "max_forces": ("p", ["--max_forces={FORCE_LIMIT}", FORCES + "--max_forces={FORCE_LIMIT}"]),
    "weight_key": ("p", ["--weight_key=w"]),
    # Data
    "cache_dir": ("p", [FORCES + "--cache_dir=cache"]),
    "cache_geometry": ("p", [FORCES + "--nocache_geometry"]),
    "cache_max_bytes": ("p", ["--cache_max_bytes=1"]),
    "cache_neighbors": ("p", [FORCES + "--nocache_neighbors"]),
    "cache_triplets": ("p", [FORCES + "--angular=triplets --cache_triplets"]),
    "cached_features": ("p", ["--nocached_features"]),
    "config_weights": ("p", ["--config_weights=rutile=2", "--config_weights=anatase=0,*=0.5"]),
    "split_seed": ("p", ["--validation_fraction=0.2 --split_seed=3"]),
    "test_fraction": ("p", ["--validation_fraction=0.2 --test_fraction=0.2"]),
    "test_frames": ("p", ["--test_frames=test-list.txt"]),
    "test_key": ("p", ["--test_key=config_type:colum*"]),
    "validation_fraction": ("p", ["--validation_fraction=0.3"]),
    "validation_key": ("p", ["--validation_key=config_type:rut*"]),
    "validation_frames": ("p", ["--validation_frames=validation-list.txt"]),
    # Descriptor
    "ang_cutoff": ("p", ["--ang_cutoff=3.5", "--ang_cutoff=3.5,2.5 --ang_order=2,1"]),
    "ang_order": ("p", ["--ang_order=4"]),
    "angular": ("p", None),
    "cutoff": ("p", ["--potential=many-body --channels=4 --cutoff=3.5"]),
    "messages": ("p", [MANY_BODY + "--messages=2"]),
    "vector_messages": ("p", [MANY_BODY + "--messages=2 --vector_messages=1"]),
    "max_l": ("p", [MANY_BODY + "--max_l=1"]),
    "min_cutoff": ("p", ["--min_cutoff=1"]),
    "potential": ("p", [MANY_BODY.strip()]),
    "radial_basis": ("p", [MANY_BODY + "--radial_basis=chebyshev"]),
    "radial_functions": ("p", [MANY_BODY + "--radial_functions=4"]),
    "rad_cutoff": ("p", ["--rad_cutoff=3.5"]),
    "rad_order": ("p", ["--rad_order=6"]),
    "species": ("p", ["--species=O,Ti"]),
    # Potential
    "activation": ("p", None),
    "channels": ("p", ["--potential=many-body --channels=3 --cutoff=3"]),
    "atomic_energies": ("p", ["--atomic_energies=Ti=-5,O=-10"]),
    "energy_scaling": ("p", None),
    "feature_scaling": ("p", None),
    "hidden": ("p", ["--hidden=4,3", "--hidden="]),
    "zbl": ("p", ["--zbl=1,2.5", MANY_BODY + "--zbl=auto"]),
    # Embeddings
    "candidate_dropout": ("g", ["--candidate_dropout=0.3"]),
    "conve_variant": ("g", [CONVE + "--conve_variant=" + variant for variant in ("dettmers", "tiepin", "libkge")]),
    "embedding_dim": ("g", ["--embedding_dim=6"]),
    "embedding_height": ("g", [CONVE + "--embedding_height=2 --embedding_width=8"]),
    "embedding_width": ("g", [CONVE + "--embedding_height=8 --embedding_width=2 --kernel_width=1"]),
    "entity_dropout": ("g", ["--entity_dropout=0.3 --input_dropout=0"]),
    "feature_map_dropout": ("g", [CONVE + "--feature_map_dropout=0"]),
    "group_queries": ("g", ["--kge_loss=1vsAll --group_queries"]),
    "init": ("g", ["--init=normal:0.1", "--init=uniform:0.5"]),
    "input_dropout": ("g", ["--input_dropout=0.3"]),
    "kernel_height": ("g", [CONVE + "--kernel_height=2"]),
    "kernel_width": ("g", [CONVE + "--kernel_width=2"]),
    "kge_loss": ("g", ["--kge_loss=1-N", "--kge_loss=1-of-N", "--kge_loss=1vsAll", "--kge_loss=KvsAll"]),
    "relation_embedding_dim": ("g", ["--kge_model=tucker --relation_embedding_dim=5"]),
    "distance_norm": ("g", ["--kge_model=transe --distance_norm=2", "--kge_model=rotate --distance_norm=2"]),
    "kge_model": ("g", ["--kge_model=" + model for model in ("distmult", "complex", "rescal", "cp", "simple", "tucker", "transe",
                                                             "rotate")] + [CONVE.strip()]),
    "label_smoothing": ("g", ["--label_smoothing=0.2", "--label_smoothing=0"]),
    "label_smoothing_form": ("g", ["--label_smoothing=0.2 --label_smoothing_form=" + form
                                   for form in ("dettmers", "standard", "pykeen")]),
    "negatives_per_batch": ("g", ["--kge_loss=1vsAll --label_smoothing=0 --negatives_per_batch=5",
                                  "--kge_loss=KvsAll --label_smoothing=0 --negatives_per_batch=5 "
                                  "--optimizer=rowwise-adagrad --learning_rate=0.1"]),
    "negatives_by": ("g", ["--kge_loss=1vsAll --label_smoothing=0 --negatives_per_batch=6 --negatives_by=frequency"]),
    "output_channels": ("g", [CONVE + "--output_channels=3"]),
    "output_dropout": ("g", [CONVE + "--output_dropout=0"]),
    "regularization": ("g", ["--regularizer=n3 --regularization=0.2"]),
    "regularizer": ("g", ["--regularizer=n3", "--regularizer=f2", "--regularizer=l3", "--regularizer=dura"]),
    "relation_dropout": ("g", ["--relation_dropout=0.3 --input_dropout=0"]),
    "relation_prediction": ("g", ["--relation_prediction=0.5"]),
    # Loss
    "energy_weight": ("p", ["--energy_weight=2", FORCES + "--energy_weight=3"]),
    "force_fraction": ("p", [FORCES + "--force_fraction=0.5"]),
    "force_min_structures_per_epoch": ("p", [FORCES + "--force_fraction=0.1 --force_min_structures_per_epoch=4"]),
    "force_resample_num_epochs": ("p", [FORCES + "--force_fraction=0.5 --force_resample_num_epochs=2"]),
    "force_sample_unit": ("p", [FORCES + "--force_fraction=0.5 --force_sample_unit=atom"]),
    "force_sampling": ("p", [FORCES + "--force_fraction=0.5 --force_sampling=fixed"]),
    "force_scale_unbiased": ("p", [FORCES + "--force_fraction=0.5 --force_scale_unbiased"]),
    "force_weight": ("p", ["--force_weight=0.3", "--force_weight=1"]),
    "huber_delta": ("p", ["--loss=huber --huber_delta=0.1"]),
    "huber_delta_force": ("p", [FORCES + "--loss=huber --huber_delta_force=0.5"]),
    "huber_delta_stress": ("p", ["--stress_weight=2 --loss=huber --huber_delta_stress=0.05"]),
    "loss": ("p", None),
    "stress_weight": ("p", ["--stress_weight=1"]),
    # Training
    "accumulate_grad_batches": ("pg", ["--accumulate_grad_batches=2"]),
    "barebones": ("pg", None),
    "batch_size": ("pg", ["--batch_size=5"]),
    "check_gradient": ("pg", None),
    "compile_mode": ("pg", None),
    "gradient_clip_algorithm": ("pg", ["--gradient_clip_val=0.01 --gradient_clip_algorithm=value"]),
    "gradient_clip_val": ("pg", ["--gradient_clip_val=0.05"]),
    "limit_train_batches": ("pg", ["--limit_train_batches=2", "--limit_train_batches=0.5"]),
    "num_workers": ("pg", ["--num_workers=2"]),
    "overfit_batches": ("pg", ["--overfit_batches=1"]),
    "persistent_workers": ("pg", ["--num_workers=2 --nopersistent_workers"]),
    "prefetch_factor": ("pg", ["--num_workers=2 --prefetch_factor=1"]),
    "sampling_policy": ("p", None),
    "seed": ("pg", ["--seed=7"]),
    "shuffle": ("pg", None),
    # Optimizer
    "alpha": ("pg", ["--optimizer=rmsprop --alpha=0.9"]),
    "alternate_groups": ("p", ["--parameter_groups=network.Ti.*:lr_scale=0.5 --alternate_groups=1"]),
    "amsgrad": ("pg", None),
    "beta1": ("pg", ["--beta1=0.5"]),
    "beta2": ("pg", ["--beta2=0.9"]),
    "centered": ("pg", ["--optimizer=rmsprop --centered"]),
    "epsilon": ("pg", ["--epsilon=0.001"]),
    "history_size": ("pg", ["--optimizer=lbfgs --history_size=3"]),
    "initial_accumulator": ("pg", ["--optimizer=adagrad --initial_accumulator=0.1"]),
    "lazy_rows": ("g", None),
    "learning_rate": ("pg", ["--learning_rate=0.01"]),
    "lr_decay": ("pg", ["--optimizer=adagrad --lr_decay=0.1"]),
    "momentum": ("pg", [SGD + "--momentum=0.9"]),
    "nesterov": ("pg", [SGD + "--momentum=0.9 --nesterov"]),
    "optimizer": ("pg", None),
    "parameter_groups": ("pg", ["--parameter_groups=*0*:lr_scale=0.1", "--parameter_groups=*:weight_decay=0.01"]),
    "weight_decay": ("pg", ["--weight_decay=0.1"]),
    "weight_decay_biases": ("pg", ["--weight_decay=0.1 --noweight_decay_biases"]),
    # Learning rate
    "lr_anneal": ("pg", ["--lr_scheduler=one_cycle --lr_anneal=linear"]),
    "lr_cooldown_epochs": ("pg", ["--lr_cooldown_epochs=2"]),
    "lr_cooldown_steps": ("pg", ["--lr_cooldown_steps=3"]),
    "lr_div_factor": ("pg", ["--lr_scheduler=one_cycle --lr_div_factor=5"]),
    "lr_end_factor": ("pg", ["--lr_scheduler=linear --lr_end_factor=0.2"]),
    "lr_factor": ("pg", ["--lr_scheduler=exponential --lr_factor=0.5"]),
    "lr_final_div_factor": ("pg", ["--lr_scheduler=one_cycle --lr_final_div_factor=10"]),
    "lr_interval": ("pg", ["--lr_scheduler=cosine --lr_interval=step"]),
    "lr_milestones": ("pg", ["--lr_scheduler=multistep --lr_milestones=1,2"]),
    "lr_patience": ("pg", ["--lr_scheduler=plateau --lr_patience=0"]),
    "lr_pct_start": ("pg", ["--lr_scheduler=one_cycle --lr_pct_start=0.5"]),
    "lr_period": ("pg", ["--lr_scheduler=step --lr_period=1", "--lr_scheduler=cosine --lr_period=3"]),
    "lr_period_mult": ("pg", ["--lr_scheduler=cosine_restarts --lr_period=1 --lr_period_mult=2"]),
    "lr_plateau_cooldown": ("pg", ["--lr_scheduler=plateau --lr_patience=0 --lr_plateau_cooldown=1"]),
    "lr_power": ("pg", ["--lr_scheduler=polynomial --lr_power=2"]),
    "lr_scheduler": ("pg", ["--lr_scheduler=" + name for name in ("linear", "cosine", "polynomial", "one_cycle",
                                                                 "exponential", "plateau")]),
    "lr_start_factor": ("pg", ["--lr_scheduler=linear --lr_start_factor=0.5"]),
    "lr_threshold": ("pg", ["--lr_scheduler=plateau --lr_patience=0 --lr_threshold=0.5"]),
    "min_learning_rate": ("pg", ["--lr_scheduler=cosine --min_learning_rate=0.0005"]),
    "warmup_epochs": ("pg", ["--warmup_epochs=2"]),
    "warmup_start": ("pg", ["--warmup_steps=2 --warmup_start=0.1"]),
    "warmup_steps": ("pg", ["--warmup_steps=3"]),
    # Averages
    "ema": ("pg", None),
    "ema_beta": ("pg", ["--ema --ema_decay_type=exp --ema_beta=5"]),
    "ema_decay": ("pg", ["--ema --ema_decay=0.5"]),
    "ema_decay_type": ("pg", ["--ema --ema_decay_type=constant", "--ema --ema_decay_type=exp"]),
    "ema_start_step": ("pg", ["--ema --ema_start_step=3"]),
    "ema_update_every_n_steps": ("pg", ["--ema --ema_update_every_n_steps=2"]),
    # Limits
    "divergence_threshold": ("pg", ["--divergence_threshold=1e9"]),
    "max_epochs": ("pg", ["--max_epochs=2"]),
    "max_steps": ("pg", ["--max_steps=5"]),
    "max_time": ("pg", ["--max_time=1h"]),
    "min_delta": ("pg", ["--patience=1 --min_delta=0.5"]),
    "min_epochs": ("pg", ["--patience=1 --min_delta=0.5 --min_epochs=3"]),
    "min_steps": ("pg", ["--patience=1 --min_delta=0.5 --min_steps=7"]),
    "patience": ("pg", ["--patience=1"]),
    "stopping_threshold": ("p", ["--stopping_threshold=1e-9"]),
    # Validation
    "check_val_every_n_epoch": ("pg", ["--check_val_every_n_epoch=3"]),
    "limit_val_batches": ("pg", ["--limit_val_batches=1", "--limit_val_batches=0.5"]),
    "monitor": ("pg", ["--monitor=val_loss", "--monitor=train_loss"]),
    "val_check_interval": ("pg", ["--val_check_interval=2", "--val_check_interval=0.5"]),
    # Batches
    "bucket_by_size": ("p", None),
    "bucket_window": ("p", ["--bucket_by_size --bucket_window=2"]),
    # Checkpoints
    "average_best": ("pg", ["--average_best=2"]),
    "init_from": ("pg", ["--init_from={MODEL}"]),
    "keep_every_epochs": ("pg", ["--keep_every_epochs=2"]),
    "keep_every_steps": ("pg", ["--keep_every_steps=3"]),
    "keep_every_time": ("pg", ["--keep_every_time=1h"]),
    "preset": ("pg", ["--preset=aenet"]),
    "save_interval": ("pg", ["--save_interval=0"]),
    "save_top_k": ("pg", ["--save_top_k=1"]),
    # Logs
    "log_every_n_steps": ("pg", ["--log_every_n_steps=1"]),
    "logger": ("pg", ["--logger=tsv", "--logger=jsonl"]),
    "save_energies": ("p", None),
    "save_forces": ("p", None),
    # Precision and speed
    "compile_preset": ("p", ["--compile_preset=reduce-overhead"]),
    "device": ("pg", ["--device=cpu"]),
    "float32_matmul_precision": ("pg", ["--float32_matmul_precision=high"]),
    "gradient_checkpointing": ("pg", None),
    "memory_cleanup": ("pg", None),
    "mixed_precision": ("pg", None),
    "precision": ("pg", ["--precision=fp32", "--precision=bf16-mixed"]),
    "strategy": ("pg", ["--strategy=single"]),
    "sync_batchnorm": ("g", [CONVE + "--num_processes=2 --dist_timeout=10m --strategy=ddp --sync_batchnorm"]),
    "threads": ("pg", ["--threads=2"]),
}

# Flags that are not drawn, and why.
NOT_DRAWN = {
    "validation_data": "names structures of other files than those of the draw; train_held_out_test.sh compares runs",
    "test_data": "names structures of other files than those of the draw; train_held_out_test.sh compares runs",
    "subset": "needs a plan that tracin draws for a run; train_subset_test.sh compares runs",
    "kge_recipe": "stands for other settings, which are drawn; train_kge_recipe_test.sh compares runs",
    "rank_sample": "names triples to rank, not what is learned",
    "negative_weight": "has no effect without known-false triples; train_kge_weights_test.sh compares runs",
    "isolated_atoms": "no structure of the base set is a single atom",
    "log_interval": "a time, and lines for people",
    "quiet": "no lines for people",
    "verbose": "lines for people",
    "runner_units": "units of a file format, which no draw has",
    "mapped_memory": "moves arrays of 32 MB and more, which no draw has; train_kge_sampled_test.sh compares",
    "preload": "has no effect on structures as text, and shm would leave files behind",
    "xsf_forces": "units of a file format, which no draw has",
    "fingerprints": "another way to write the descriptor's flags",
    "fast_dev_run": "writes nothing that could be compared",
    "committee": "several runs, each of which is one of those drawn",
    "num_processes": "the property `processes` gives it",
    "output_dir": "the harness gives it",
    "overwrite": "there is no run to replace",
    "resume": "the properties `resume` and `override` give it",
    "override": "the property `override` gives it",
    "plot": "pictures are not compared, and drawing them costs more than the run",
    "plot_every": "pictures are not compared",
    "compile_cache_dir": "serves --compile_preset=max-autotune, whose search takes seconds",
    "dist_interface": "needs a network",
    "dist_timeout": "a time",
    "operators": "a profile",
    "timing": "a profile",
    "progress": "needs a terminal",
    "flagfile": "the property `repeat` gives it",
    "help": "no run",
    "version": "no run",
}

# Only one of each set can be given: a drawn one takes the place of that of the base command.
EXCLUSIVE = [{"validation_key", "validation_fraction", "validation_frames"},
             {"precision", "mixed_precision"},
             # Each kind of potential has a descriptor of its own.
             {"potential", "rad_cutoff"}, {"potential", "rad_order"}, {"potential", "ang_cutoff"},
             {"potential", "ang_order"}]
CHOICES = re.compile(r": ((?:[\w.-]+, )*[\w.-]+ or [\w.-]+)(?=[.,;\s])")


class Setting:
    """A setting with the texts of flags that may be drawn."""

    def __init__(self, name, domains, values):
        self.name, self.domains, self.values = name, domains, values


def parse(text):
    """{name: flag} of a text of flags; --noNAME has the name NAME."""
    flags = {}
    for word in text.split():
        name = word[2:].split("=", 1)[0]
        if name.startswith("no") and "=" not in word and name[2:] in SWITCHES:
            name = name[2:]
        flags[name] = word
    return flags


SWITCHES = set()  # filled by read_settings


def read_settings(train):
    """The settings of the program `train`. Raises ValueError where it has a flag that the tables above lack."""
    settings = []
    for _, flags in reference.read_help(train)[0]:
        for name, default, kind, text in flags:
            if kind == "bool":
                SWITCHES.add(name)
            if name in NOT_DRAWN:
                continue
            if name not in DRAWN:
                raise ValueError("train has the flag --%s (%s), which benchmarks/settings/drawn_settings.py does not know: give "
                                 "it values in DRAWN, or a reason in NOT_DRAWN" % (name, text))
            domains, values = DRAWN[name]
            if values is None and kind in ("bool", None):
                values = ["--no" + name if default == "true" else "--" + name]
            elif values is None:
                found = CHOICES.search(re.sub(r" \([^)]*\)", "", text) + " ")
                if not found:
                    raise ValueError("the help of --%s names no choices: %s; give it values in DRAWN" % (name, text))
                values = ["--%s=%s" % (name, choice) for choice in re.split(", | or ", found.group(1).rstrip("."))
                          if choice != default.strip('"')]
            settings.append(Setting(name, domains, values))
    return settings


def with_settings(base, texts):
    """The flags of `base`, a dictionary by name, with those of `texts` in their place; None if texts contradict."""
    drawn = {}
    for text in texts:
        for name, flag in parse(text).items():
            if drawn.get(name, flag) != flag:
                return None
            drawn[name] = flag
    for names in EXCLUSIVE:
        if len(names & set(drawn)) > 1:
            return None
    flags = {name: flag for name, flag in base.items()
             if not any(name in names and names & set(drawn) for names in EXCLUSIVE)}
    flags.update(drawn)
    if "barebones" in drawn:
        flags.pop("plot", None)  # it draws nothing, and refuses to be told so
    return flags


def draw(random, settings, domain, allowed, base):
    """Two or three settings for the domain that `allowed` accepts: (names, flags)."""
    usable = [s for s in settings if domain in s.domains]
    for _ in range(10000):
        chosen = random.sample(usable, random.choice([2, 2, 3]))
        texts = [random.choice(s.values) for s in chosen]
        flags = with_settings(base, texts)
        if flags is None:
            continue
        changed = {name for text in texts for name in parse(text)}
        if allowed(changed, flags):
            return [s.name for s in chosen], flags
    raise ValueError("no draw is allowed here")
