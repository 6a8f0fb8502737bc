"""What must hold for every combination of settings of a run on structures; see setting_properties.py for the form."""

import math

import setting_runs as runs
from setting_properties import BY_PLACE, COARSE, NO_LOG, PART, Property, bound

WHOLE = "--batch_size=1000"
OTHER_SETS = dict.fromkeys(["validation_fraction", "validation_frames", "validation_key", "test_fraction",
                            "test_frames", "test_key"], "other sets than the property's")
LABEL_KEYS = ("energy_key", "force_key", "stress_key", "virial_key")


def value(flags, name, default):
    return flags[name].split("=", 1)[1] if "=" in flags.get(name, "") else default


class Labels:
    """What the flags make of a frame: energy, forces, stress, weight, and whether it is read at all."""

    def __init__(self, flags):
        self.flags = flags
        self.atomic = dict(pair.split("=") for pair in value(flags, "atomic_energies", "").split(",") if pair)

    def energy(self, frame):
        return frame.values[value(self.flags, "energy_key", "energy")]

    def forces(self, frame):
        column = 3 if "force_key" in self.flags else 2
        return [x for atom in frame.atoms for x in atom[column]]

    def stress(self, frame):
        if "virial_key" in self.flags:
            return [-x / frame.volume() for x in frame.values["other_virial"]]
        return frame.values["other_stress" if "stress_key" in self.flags else "stress"]

    def weight(self, frame):
        weight = frame.values["w"] if "weight_key" in self.flags else 1
        group = frame.values["phase" if "config_key" in self.flags else "config_type"]
        for pair in value(self.flags, "config_weights", "").split(","):
            glob, _, factor = pair.partition("=")
            if glob and (glob == group or glob == "*"):
                return weight * float(factor)
        return weight

    def is_read(self, frame):
        reference = sum(float(self.atomic.get(atom[0], 0)) for atom in frame.atoms)
        energy = (self.energy(frame) - reference) / len(frame.atoms)
        return energy <= float(value(self.flags, "max_energy", "inf")) and max(
            abs(x) for x in self.forces(frame)) <= float(value(self.flags, "max_forces", "inf"))


def filled(flags, data):
    """The flags with the numbers of the data in place of their names."""
    out = {}
    for name, flag in flags.items():
        for key, text in data.fill.items():
            flag = flag.replace("{%s}" % key, text)
        out[name] = flag
    return out


def loss_of(errors, flags):
    """The loss of {term: [(error, weight)]}, as docs/methods.md has it."""
    force_weight = float(value(flags, "force_weight", "0"))
    energy_weight = float(value(flags, "energy_weight", "-1"))
    weights = {"energy": 1 - force_weight if energy_weight == -1 else energy_weight, "force": force_weight,
               "stress": float(value(flags, "stress_weight", "0"))}
    deltas = {"energy": float(value(flags, "huber_delta", "0.01")),
              "force": float(value(flags, "huber_delta_force", "0.1")),
              "stress": float(value(flags, "huber_delta_stress", "0.001"))}
    kind, total = value(flags, "loss", "rmse"), 0
    for term, pairs in errors.items():
        if weights[term] == 0:
            continue
        delta = deltas[term]
        each = [w * (e * e if kind != "huber" else e * e / 2 if abs(e) <= delta else delta * (abs(e) - delta / 2))
                for e, w in pairs]
        mean = sum(each) / sum(w for _, w in pairs)
        total += weights[term] * (math.sqrt(mean) if kind == "rmse" else mean)
    return total


def errors_of(predicted, frames, labels, selected):
    """{term: [(error, weight)]} of the selected frames, from tensors of predictions.safetensors."""
    errors, atom = {"energy": [], "force": [], "stress": []}, 0
    for number, frame in enumerate(frames):
        atoms = len(frame.atoms)
        if selected(frame):
            w = labels.weight(frame)
            errors["energy"].append(((predicted["predicted_energy"][number] - labels.energy(frame)) / atoms, w))
            forces = predicted["predicted_force"][3 * atom:3 * (atom + atoms)]
            errors["force"] += [(x - y, w) for x, y in zip(forces, labels.forces(frame))]
            stress = predicted["predicted_stress"][9 * number:9 * number + 9]
            errors["stress"] += [(x - y, w) for x, y in zip(stress, labels.stress(frame))]
        atom += atoms
    return errors


def rmse(pairs):
    return math.sqrt(sum(e * e for e, _ in pairs) / len(pairs))


class Loss(Property):
    """the losses of the log are those of predictions, labels and weights"""
    domains = "p"
    never = {**NO_LOG, **OTHER_SETS, "limit_val_batches": "a part of the set", "overfit_batches": "another set",
             "init_from": "its own base"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        flags = filled(draw.flags, draw.data)
        labels, last = Labels(flags), runs.log_rows(work.path("run"))[-1]
        predicted = work.evaluate("run/last.safetensors", "all.extxyz", "e")
        errors = errors_of(predicted, draw.data.frames, labels, lambda frame: (
            labels.is_read(frame) and frame.values["config_type"] == "valid"))
        limit = bound(flags, 1e-7, 1e-3)
        runs.close_numbers(last["val_loss"], loss_of(errors, flags), limit, "val_loss of log and predictions")
        # evaluate was not told by which names the run read its labels.
        runs.close({"reference_energy": [labels.energy(frame) for frame in draw.data.frames]}, predicted, 1e-12,
                   "labels that evaluate and train read")
        runs.close_numbers(last["val_energy_rmse"], 1000 * rmse(errors["energy"]), limit, "val_energy_rmse")
        if "val_force_rmse" in last:
            runs.close_numbers(last["val_force_rmse"], rmse(errors["force"]), limit, "val_force_rmse")


class TrainLoss(Property):
    """the training loss of an epoch in which nothing moves is that of predictions, labels and weights"""
    domains = "p"
    base = {"learning_rate": "--learning_rate=1e-30", "max_epochs": "--max_epochs=1", "optimizer": "--optimizer=sgd"}
    never = {**NO_LOG, **OTHER_SETS, **PART, "learning_rate": "given", "optimizer": "given", "max_epochs": "given",
             "weight_decay": "given", "init_from": "its own base", "precision": "16 bits", "mixed_precision": "16 bits",
             "min_learning_rate": "above the rate", "max_steps": "a part of the epoch",
             "patience": "may end the run within the epoch, at a validation there"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        flags = filled(draw.flags, draw.data)
        labels = Labels(flags)
        # The validation at the end of a run that has not validated then has a row of its own, without a training loss.
        last = [row for row in runs.log_rows(work.path("run")) if not math.isnan(row["train_loss"])][-1]
        predicted = work.evaluate("run/last.safetensors", "all.extxyz", "e")
        errors = errors_of(predicted, draw.data.frames, labels, lambda frame: (
            labels.is_read(frame) and frame.values["config_type"] != "valid" and labels.weight(frame) > 0))
        runs.close_numbers(last["train_loss"], loss_of(errors, flags), bound(flags, 1e-7, 1e-3), "train_loss")


class Lists(Property):
    """evaluate with a run's list of structures gives the errors of the run's log"""
    domains = "p"
    never = {**NO_LOG, "limit_val_batches": "a part of the set", "overfit_batches": "another set"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        last = runs.log_rows(work.path("run"))[-1]
        keys = [flag for name, flag in draw.flags.items() if name in LABEL_KEYS]
        out = work.run("evaluate", ["--frames=run/validation_frames.txt", *keys, "run/last.safetensors", "all.extxyz"])
        rows = {row["quantity"]: row for row in runs.table(out) if row["grouping"] == "all"}
        runs.close_numbers(last["val_energy_rmse"], float(rows["energy"]["rmse"]), max(bound(draw.flags, 1e-6), 1e-6),
                           "energy RMSE of the log and of evaluate --frames")


class Tables(Property):
    """tables are those of the predictions, in one part and in two"""
    domains = "p"
    never = dict(NO_LOG)

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        draw.random.choice([self.groups, self.parts])(work, draw)

    def groups(self, work, draw):
        group = draw.random.choice(["*", "rutile", "valid"])
        found = work.evaluate("run/best.safetensors", "all.extxyz", "e", "--config_type=" + group)
        atoms = found["num_atoms"]
        errors = [1000 * (x - y) / n for x, y, n in zip(found["predicted_energy"], found["reference_energy"], atoms)]
        forces = [x - y for x, y in zip(found["predicted_force"], found["reference_force"])]
        rows = {row["quantity"]: row for row in runs.table(work.path("e/metrics.tsv").read_text())
                if row["grouping"] == "all"}
        for quantity, values in (("energy", errors), ("force", forces)):
            row = rows[quantity]
            if int(row["count"]) != len(values):
                raise runs.Failed("%s: %s values in the table, %d in predictions" % (
                    quantity, row["count"], len(values)))
            for title, number in (("rmse", math.sqrt(sum(x * x for x in values) / len(values))),
                                  ("mae", sum(abs(x) for x in values) / len(values)),
                                  ("max", max(abs(x) for x in values))):
                if abs(float(row[title]) - number) > 1e-4 * max(1, abs(number)):  # 4 to 6 decimals are printed
                    raise runs.Failed("%s %s: %s in the table, %.7g by predictions" % (
                        quantity, title, row[title], number))

    def parts(self, work, draw):
        del draw
        for part in (1, 2):
            work.run("evaluate", ["--shard=%d/2" % part, "--output_dir=parts", "run/best.safetensors", "all.extxyz"])
        names = sorted(path.name for path in work.path("parts").glob("predictions-*"))
        parts = work.run("evaluate", ["run/best.safetensors"] + ["parts/" + name for name in names])
        if parts != work.run("evaluate", ["run/best.safetensors", "all.extxyz"]):
            raise runs.Failed("two parts have another table than one")


class Routes(Property):
    """text, gzip, a stream, two files, features and neighbors give the same model, to rounding"""
    domains = "p"
    never = {"validation_frames": "", "cached_features": "of some routes", "cache_neighbors": "of some routes",
             "cache_dir": "of some routes", "cache_max_bytes": "of some routes", "cache_triplets": "of some routes",
             "preload": "of files alone", "mixed_precision": "16 bits", "precision": "of the features",
             "test_frames": ""}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "text")
        route = draw.random.choice([self.packed, self.stream, self.files, self.features, self.neighbors, self.both])
        route(work, draw)
        runs.close(draw.predictions(work, "text/last.safetensors", "e1"), draw.predictions(
            work, "route/last.safetensors", "e2"), bound(draw.flags, 1e-7),
            "predictions of %s and text" % route.__name__)

    def packed(self, work, draw):
        work.train(draw.flags, [work.zip("all.extxyz")], "route")

    def stream(self, work, draw):
        work.train(draw.flags, ["-"], "route", "all.extxyz")

    def files(self, work, draw):
        half = len(draw.data.frames) // 2
        for name, frames in (("one.extxyz", draw.data.frames[:half]), ("two.extxyz", draw.data.frames[half:])):
            work.path(name).write_text("".join(frame.text() for frame in frames))
        work.train(draw.flags, ["one.extxyz", "two.extxyz"], "route")

    def prepare(self, work, draw, tools):
        rest, outputs = dict(draw.flags), []
        for tool in tools:
            given = {name: flag for name, flag in draw.flags.items() if name in draw.data.flags_of(tool)
                     and name not in ("threads", "split", "seed", "precision")}
            for name in given:
                rest.pop(name, None)
            if tool == "featurize":
                given["precision"] = "--precision=fp64"
            work.run(tool, list(given.values()) + ["--output=%s.safetensors" % tool, "all.extxyz"])
            outputs.append(tool + ".safetensors")
        work.train(rest, outputs, "route")

    def features(self, work, draw):
        self.prepare(work, draw, ["featurize"])

    def neighbors(self, work, draw):
        self.prepare(work, draw, ["cache-neighbors"])

    def both(self, work, draw):
        self.prepare(work, draw, ["featurize", "cache-neighbors"])


class Caches(Property):
    """caches of neighbors and geometry do not change the model"""
    domains = "p"
    base = {"force_weight": "--force_weight=0.2"}
    never = dict.fromkeys(["cached_features", "cache_neighbors", "cache_dir", "cache_max_bytes", "cache_triplets",
                           "cache_geometry", "preload"], "the property gives it")

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        name, flag = draw.random.choice([
            ("cache_neighbors", "--nocache_neighbors"),
            ("cache_dir", "--cache_dir=cache"), ("cache_geometry", "--nocache_geometry"),
            ("cache_max_bytes", "--cache_max_bytes=1")])
        work.train({**draw.flags, name: flag}, draw.inputs, "other")
        runs.close_files(work.path("run/last.safetensors"), work.path("other/last.safetensors"),
                         bound(draw.flags, 1e-9), "with " + flag)


class Permuted(Property):
    """structures and atoms in another order, in a file of another name, give the same predictions, to rounding"""
    domains = "p"
    base = {"batch_size": WHOLE}
    never = {**BY_PLACE, **COARSE, "precision": "coarse", "max_steps": ""}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        frames = list(draw.data.frames)
        draw.random.shuffle(frames)
        texts = []
        for frame in frames:
            atoms = list(frame.atoms)
            draw.random.shuffle(atoms)
            texts.append(type(frame)(frame.cell, atoms, frame.values).text())
        work.path("mixed.extxyz").write_text("".join(texts))
        work.train(draw.flags, ["mixed.extxyz"], "mixed")
        runs.close(draw.predictions(work, "run/last.safetensors", "e1"), draw.predictions(
            work, "mixed/last.safetensors", "e2"), bound(draw.flags, 1e-6), "predictions in another order")


class Supercell(Property):
    """two cells side by side have twice the energy, the forces of each and the stress of one, whatever was learned"""
    domains = "p"

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        frames = []
        for frame in draw.data.frames:
            turns = draw.random.choice([-1, 0, 1])  # atoms need not lie within the cell
            shift = [turns * x for x in frame.cell[3:6]]
            second = [(atom[0], [x + y + z for x, y, z in zip(atom[1], frame.cell[6:9], shift)], *atom[2:])
                      for atom in frame.atoms]
            frames.append(type(frame)(frame.cell[:6] + [2 * x for x in frame.cell[6:9]], frame.atoms + second,
                                      frame.values))
        work.path("super.extxyz").write_text("".join(frame.text() for frame in frames))
        one = draw.predictions(work, "run/last.safetensors", "e1")
        two = {name: numbers for name, numbers in work.evaluate("run/last.safetensors", "super.extxyz", "e2").items()
               if name.startswith("predicted")}
        limit = bound(draw.flags, 1e-9, 1e-3)
        runs.close({"energy": [2 * x for x in one["predicted_energy"]], "stress": one["predicted_stress"]},
                   {"energy": two["predicted_energy"], "stress": two["predicted_stress"]}, limit, "two cells")
        forces, place = [], 0
        for frame in draw.data.frames:
            of_frame = list(one["predicted_force"][3 * place:3 * (place + len(frame.atoms))])
            forces += of_frame + of_frame
            place += len(frame.atoms)
        runs.close({"force": forces}, {"force": two["predicted_force"]}, limit, "forces in two cells")


class Doubled(Property):
    """a structure of weight 2 counts like the structure given twice, to rounding"""
    domains = "p"
    base = {"batch_size": WHOLE}
    never = {**BY_PLACE, **COARSE, "config_weights": "given", "config_key": "names the groups", "precision": "coarse",
             "validation_key": "", "test_key": ""}

    def check(self, work, draw):
        work.train({**draw.flags, "config_weights": "--config_weights=rutile=2"}, draw.inputs, "weighted")
        twice = [frame for frame in draw.data.frames if frame.values["config_type"] == "rutile"]
        work.path("twice.extxyz").write_text("".join(frame.text() for frame in draw.data.frames + twice))
        work.train(draw.flags, ["twice.extxyz"], "twice")
        runs.close(draw.predictions(work, "weighted/last.safetensors", "e1"), draw.predictions(
            work, "twice/last.safetensors", "e2"), bound(draw.flags, 1e-6), "predictions with weight 2 and twice")


class Dropped(Property):
    """structures dropped by a flag are structures that were not in the file: the same bits"""
    domains = "p"
    never = {**OTHER_SETS, "config_weights": "given", "config_key": "names the groups", "max_energy": "given",
             "max_forces": "given", "cache_dir": "of the run before"}

    def check(self, work, draw):
        name, flag = draw.random.choice([("max_energy", "--max_energy={ENERGY_LIMIT}"), ("max_forces",
                                        "--max_forces={FORCE_LIMIT}"), ("config_weights", "--config_weights=rutile=0")])
        flags = {**draw.flags, name: flag}
        work.train(flags, draw.inputs, "flag")
        labels = Labels(filled(flags, draw.data))
        work.path("rest.extxyz").write_text("".join(frame.text() for frame in draw.data.frames if labels.is_read(
            frame) and (name != "config_weights" or labels.weight(frame) > 0)))
        work.train(draw.flags, ["rest.extxyz"], "hand")
        runs.same_bits(work.path("flag/last.safetensors"), work.path("hand/last.safetensors"), "dropped by " + flag)


class Influence(Property):
    """tracin's scores sum to the finite difference of a step that the run took"""
    domains = "p"
    base = {"batch_size": WHOLE, "optimizer": "--optimizer=sgd", "max_epochs": "--max_epochs=1",
            "keep_every_epochs": "--keep_every_epochs=1", "learning_rate": ""}
    only = {"config_weights", "weight_key", "config_key", "energy_weight", "force_weight", "stress_weight", "loss",
            "activation", "hidden", "feature_scaling", "potential", "cutoff", "channels", "max_l", "radial_basis",
            "radial_functions",
            "energy_scaling", "atomic_energies", "zbl", "max_forces", "max_energy", "huber_delta",
            "huber_delta_force", "huber_delta_stress", "species", "min_cutoff", "ang_cutoff", "ang_order", "rad_order",
            "seed", "energy_key", "force_key", "stress_key", "virial_key", "validation_fraction", "test_fraction",
            "split_seed", "compile_mode", "init_from", "validation_key"}
    # Not force_fraction: the step has learned from a sample of the forces, scores count all of them. Not
    # parameter_groups: the difference needs tracin --learning_rate, which is one rate for all parameters.
    RATE = 1e-7  # of which the square does not count in a difference, and the digits of an energy in fp64 suffice

    def check(self, work, draw):
        for rate, output in ((1e-30, "before"), (self.RATE, "after")):
            work.train({**draw.flags, "learning_rate": "--learning_rate=%g" % rate}, draw.inputs, output)
        keys = [flag for name, flag in draw.flags.items() if name in LABEL_KEYS]
        test = draw.random.choice(draw.data.frames)
        work.path("test.extxyz").write_text(test.text())
        rows = runs.table(work.run("tracin", [
            "--train=all.extxyz", "--test=test.extxyz", "--test_quantity=energy", "--top_k=0", *keys,
            "--learning_rate=%g" % self.RATE, "before/checkpoints/epoch-00001.safetensors"]))
        energies = [work.evaluate(output + "/last.safetensors", "test.extxyz", "e-" + output)["predicted_energy"][0]
                    for output in ("before", "after")]
        score = -sum(float(row["score"]) for row in rows) / len(rows)
        largest = max(abs(float(row["score"])) for row in rows) / len(rows)
        if abs(score - (energies[1] - energies[0])) > 1e-3 * max(abs(score), largest) + 1e-12:
            raise runs.Failed("the step changes the energy by %.6g, the scores say %.6g" % (
                energies[1] - energies[0], score))


class Intervals(Property):
    """with the rates of the run, tracin's scores sum to what all of its steps changed"""
    domains = "p"
    base = {**Influence.base, "max_epochs": "--max_epochs=4", "keep_every_epochs": "--keep_every_epochs=2"}
    only = (Influence.only - {"force_sampling"}) | {
        "parameter_groups", "alternate_groups", "lr_scheduler", "lr_anneal", "lr_div_factor", "lr_end_factor",
        "lr_factor", "lr_final_div_factor", "lr_interval", "lr_milestones", "lr_pct_start", "lr_period",
        "lr_period_mult", "lr_power", "lr_start_factor", "lr_cooldown_epochs", "lr_cooldown_steps", "warmup_epochs",
        "warmup_start", "warmup_steps", "keep_every_epochs", "keep_every_steps", "shuffle"}
    RATE = Influence.RATE

    def check(self, work, draw):
        for rate, output in ((1e-30, "before"), (self.RATE, "after")):
            work.train({**draw.flags, "learning_rate": "--learning_rate=%g" % rate}, draw.inputs, output)
        keys = [flag for name, flag in draw.flags.items() if name in LABEL_KEYS]
        test = draw.random.choice(draw.data.frames)
        work.path("test.extxyz").write_text(test.text())
        checkpoints = sorted("after/checkpoints/" + path.name
                             for path in work.path("after/checkpoints").glob("epoch-*"))
        rows = runs.table(work.run("tracin", ["--train=all.extxyz", "--test=test.extxyz", "--test_quantity=energy",
                                              "--top_k=0", "--rates=interval", *keys, *checkpoints]))
        energies = [work.evaluate(output + "/last.safetensors", "test.extxyz", "e-" + output)["predicted_energy"][0]
                    for output in ("before", "after")]
        score = -sum(float(row["score"]) for row in rows) / len(rows)
        largest = max(abs(float(row["score"])) for row in rows) / len(rows)
        if abs(score - (energies[1] - energies[0])) > 1e-3 * max(abs(score), largest) + 1e-12:
            raise runs.Failed("the run changes the energy by %.6g, the scores say %.6g" % (
                energies[1] - energies[0], score))


class Subset(Property):
    """a run on a subset of a plan is the run on the structures of the subset alone, where no scale is of the data"""
    domains = "p"
    base = {"batch_size": WHOLE, "feature_scaling": "--feature_scaling=none", "energy_scaling": "--noenergy_scaling",
            "atomic_energies": "--atomic_energies=Ti=-5,O=-10", "validation_key": ""}
    never = {**BY_PLACE, **COARSE, **NO_LOG, **OTHER_SETS, "precision": "coarse", "feature_scaling": "given",
             "energy_scaling": "given", "atomic_energies": "given", "init_from": "has scales", "zbl": "given",
             "max_energy": "leaves out by the data", "max_forces": "leaves out by the data", "patience": "",
             "min_delta": "", "min_epochs": "", "min_steps": "", "stopping_threshold": "", "monitor": "",
             "val_check_interval": "", "check_val_every_n_epoch": ""}

    def check(self, work, draw):
        flags = {**draw.flags, "validation_fraction": "--validation_fraction=0",
                 "keep_every_epochs": draw.flags.get("keep_every_epochs", "--keep_every_epochs=1")}
        work.train(flags, draw.inputs, "run")
        work.run("tracin", ["--plan_subsets=2", "--kept=0.5", "--seed=%d" % draw.number, "--train=all.extxyz",
                            "--output=plan.safetensors", "run"])
        work.train({**flags, "subset": "--subset=plan.safetensors:1"}, draw.inputs, "part")
        listed = [int(line.split()[0]) for line in work.path("part/train_frames.txt").read_text().split("\n")
                  if line and line[0].isdigit()]
        work.path("part.extxyz").write_text("".join(draw.data.frames[number].text() for number in sorted(listed)))
        work.train(flags, ["part.extxyz"], "alone")
        runs.close(draw.predictions(work, "part/last.safetensors", "e1"), draw.predictions(
            work, "alone/last.safetensors", "e2"), bound(draw.flags, 1e-6), "a subset and its structures alone")


ALL = [Loss, TrainLoss, Lists, Tables, Routes, Caches, Permuted, Supercell, Doubled, Dropped, Influence, Intervals,
       Subset]
