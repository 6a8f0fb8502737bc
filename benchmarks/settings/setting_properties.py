"""What must hold for every combination of settings of a run of train, on structures and on a graph.

A property is a class: `domains` (p: potentials, g: graphs), `base` (flags that it needs in place of the base
command's), `never` (settings for which it does not hold, each with the reason), `only` (where few settings matter:
those) and `check`, which runs tools in the folder of a draw and raises Failed where the property does not hold. The
docstring says what must hold.
"""

import setting_runs as runs

# Settings that draw examples or cut an epoch by their place in an order, so that another order is another run.
BY_PLACE = dict.fromkeys([
    "limit_train_batches", "overfit_batches", "limit_val_batches", "force_fraction", "sampling_policy",
    "bucket_by_size", "validation_fraction", "test_fraction", "validation_frames", "test_frames", "batch_size",
    "accumulate_grad_batches"],
    "examples are chosen or grouped by their place")
# What makes an epoch of less than all examples, or of some of them more than once.
PART = {name: "an epoch does not learn from each example once" for name in (
    "limit_train_batches", "overfit_batches", "sampling_policy", "force_fraction")}
COARSE = {name: "16 or 17 bits" for name in ("mixed_precision", "float32_matmul_precision")}
NO_LOG = {"barebones": "writes no log"}


class Property:
    domains = "pg"
    base = {}
    never = {}
    only = None

    @property
    def name(self):
        return type(self).__name__.lower()

    def allowed(self, changed, flags):
        if self.only is not None and not changed <= self.only:
            return False
        return not any(name in self.never and self.concerns(name, flags.get(name, "")) for name in changed)

    def concerns(self, name, flag):
        del name, flag
        return True


def bound(flags, fine=1e-7, coarse=2e-3):
    """How far results that agree to rounding may differ, by the precision of the run."""
    return fine if flags.get("precision") == "--precision=fp64" else coarse


class Repeat(Property):
    """flags.txt of a run makes that run again: the same bits"""
    never = {**NO_LOG, "cache_dir": "the second run finds files"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        work.run("train", ["--flagfile=run/flags.txt", "--output_dir=again"])
        runs.same_bits(work.path("run/last.safetensors"), work.path("again/last.safetensors"), "flags.txt")


class Threads(Property):
    """the number of threads does not change a bit"""
    never = {"compile_mode": "LibTorch's sums depend on its threads"}

    def check(self, work, draw):
        for threads in (1, 2):
            work.train({**draw.flags, "threads": "--threads=%d" % threads}, draw.inputs, "run%d" % threads)
        runs.same_bits(work.path("run1/last.safetensors"), work.path("run2/last.safetensors"), "threads")


class Workers(Property):
    """loader threads do not change a bit"""
    never = {"barebones": "", "num_workers": "", "prefetch_factor": "", "persistent_workers": ""}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        work.train({**draw.flags, "num_workers": "--num_workers=2"}, draw.inputs, "workers")
        runs.same_bits(work.path("run/last.safetensors"), work.path("workers/last.safetensors"), "workers")


class Resume(Property):
    """a run that goes on from any checkpoint ends in the bits of the run that was never stopped"""
    never = {**NO_LOG, "keep_every_time": "numbered by a clock", "init_from": "refused with --resume"}

    def check(self, work, draw):
        work.train({**draw.flags, "keep_every_steps": "--keep_every_steps=1"}, draw.inputs, "run")
        kept = sorted(path.name for path in work.path("run/checkpoints").glob("step-*"))
        if not kept:
            raise runs.Failed("no checkpoint was kept")
        name = draw.random.choice(kept)
        flags = {**draw.flags, "keep_every_steps": "--keep_every_steps=1", "resume": "--resume=run/checkpoints/" + name}
        work.train(flags, draw.inputs, "rest")
        for file in ("last", "best"):
            runs.same_bits(work.path("run/%s.safetensors" % file), work.path("rest/%s.safetensors" % file),
                           "resumed from %s, %s.safetensors" % (name, file))
        runs.same_bits(work.path("run/checkpoints/last.safetensors"), work.path("rest/checkpoints/last.safetensors"),
                       "resumed from %s, the last checkpoint" % name, but=("log_rows", "kept_step"))


class Accumulate(Property):
    """two batches in a step are one large batch, to rounding"""
    never = {**BY_PLACE, **COARSE, "val_check_interval": "counts batches",
             "input_dropout": "a batch has its own numbers", "entity_dropout": "likewise",
             "relation_dropout": "likewise", "candidate_dropout": "a batch has its own mask",
             "negatives_per_batch": "a batch has its own negatives", "precision": "16 bits of precision", "conve_variant": "batch norms see batches", "optimizer": "",
             "kge_model": "", "embedding_height": "batch norms", "embedding_width": "batch norms"}
    del never["force_fraction"], never["sampling_policy"], never["limit_val_batches"]

    def concerns(self, name, flag):
        if name == "kge_model":
            return flag.endswith("conve")
        return flag.endswith("lbfgs") if name == "optimizer" else True

    def check(self, work, draw):
        size = {"p": 12, "g": 100}[draw.domain]
        large = {**draw.flags, "batch_size": "--batch_size=%d" % size}
        small = {**draw.flags, "batch_size": "--batch_size=%d" % (size // 2),
                 "accumulate_grad_batches": "--accumulate_grad_batches=2"}
        work.train(large, draw.inputs, "large")
        work.train(small, draw.inputs, "small")
        runs.close_files(work.path("large/last.safetensors"), work.path("small/last.safetensors"), bound(draw.flags),
                         "accumulated", but=("entity_names", "relation_names"))


class Processes(Property):
    """two processes train the model of one, to rounding"""
    never = {**COARSE, "precision": "16 bits of precision", "strategy": "alone by request", "threads": "",
             "conve_variant": "batch norms see batches", "kge_model": "", "embedding_height": "batch norms",
             "embedding_width": "batch norms", "sync_batchnorm": "for ConvE", "optimizer": "", "barebones": "",
             "input_dropout": "a process has its own numbers", "entity_dropout": "likewise",
             "relation_dropout": "likewise"}

    def concerns(self, name, flag):
        if name == "kge_model":
            return flag.endswith("conve")
        return flag.endswith("lbfgs") if name == "optimizer" else True

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "one")
        # A busy machine may take longer to start a process than processes wait for each other by default.
        more = {"num_processes": "--num_processes=2", "dist_timeout": "--dist_timeout=10m"}
        if draw.domain == "g":  # auto divides the model of a graph, and the batches of structures
            more["strategy"] = draw.random.choice(["--strategy=auto", "--strategy=ddp"])
        work.train({**draw.flags, **more}, draw.inputs, "two")
        runs.close_files(work.path("one/last.safetensors"), work.path("two/last.safetensors"), bound(draw.flags),
                         "two processes", but=("entity_names", "relation_names"))


class Override(Property):
    """a run that goes on with other settings at a rate of 1e-30 predicts what it predicted"""
    base = {"learning_rate": "--learning_rate=0.01"}
    never = {**NO_LOG, **COARSE, "learning_rate": "given", "precision": "refused", "init_from": "refused with --resume",
             "hidden": "another model", "optimizer": "rates of their own", "weight_decay": "a rate of its own",
             "ema": "an average goes on moving", "max_steps": "ends before", "limit_val_batches": "",
             "patience": "ends", "average_best": "", "max_epochs": "given", "stopping_threshold": "ends",
             "min_learning_rate": "above the rate",
             "embedding_dim": "another model", "kge_model": "another model", "conve_variant": "another model",
             "embedding_height": "another model", "embedding_width": "another model", "momentum": "the optimizer's"}

    def check(self, work, draw):
        before = dict(draw.base, learning_rate="--learning_rate=0.01")
        work.train(before, draw.inputs, "run")
        first = draw.predictions(work, "run/last.safetensors", "before")
        after = {**draw.flags, "learning_rate": "--learning_rate=1e-30", "max_epochs": "--max_epochs=6",
                 "resume": "--resume", "override": "--override=all"}
        work.train(after, draw.inputs, "run")
        runs.close(first, draw.predictions(work, "run/last.safetensors", "after"), bound(draw.flags, 1e-9),
                   "predictions before and after")


ALL = [Repeat, Threads, Workers, Resume, Accumulate, Processes, Override]
