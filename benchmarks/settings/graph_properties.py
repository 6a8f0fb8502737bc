"""What must hold for every combination of settings of a run on a graph; see setting_properties.py for the form."""

import setting_runs as runs
from setting_properties import BY_PLACE, COARSE, NO_LOG, Property, bound

WHOLE = "--batch_size=100000"
NORMS = dict.fromkeys(["kge_model", "conve_variant", "embedding_height", "embedding_width"], "ConvE, which has dropout")


def names(numbers):
    text = bytes(numbers).decode()
    return text.split("\n" if "\n" in text else "\0")


class Ranks(Property):
    """the ranks of the log and of the table are those of ranks.tsv"""
    domains = "g"
    never = {**NO_LOG, "limit_val_batches": "a part of the set", "overfit_batches": "another set"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        last = runs.log_rows(work.path("run"))[-1]
        split = draw.random.choice(["valid", "test"])
        work.run("evaluate", ["--split=" + split, "--output_dir=e", "run/last.safetensors", "graph.safetensors"])
        ranks = [float(row[title]) for row in runs.table(work.path("e/ranks.tsv").read_text())
                 for title in ("tail_rank", "head_rank")]
        mine = {"mrr": sum(1 / r for r in ranks) / len(ranks), "mr": sum(ranks) / len(ranks)}
        mine.update({"hits@%d" % k: sum(r <= k for r in ranks) / len(ranks) for k in (1, 3, 10)})
        row = runs.table(work.path("e/metrics.tsv").read_text())[0]
        for name, number in mine.items():
            if abs(float(row[name]) - number) > 1e-3 * max(1e-3, abs(number)):
                raise runs.Failed("%s: %s in the table, %.7g by ranks.tsv" % (name, row[name], number))
            if split == "valid":
                runs.close_numbers(last["val_" + name], number, 1e-8, "val_%s of the log and of evaluate" % name)


class Renamed(Property):
    """entities and relations with other names, of the same order, give the same bits"""
    domains = "g"
    never = {"init_from": "goes by names", "parameter_groups": ""}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        for split, lines in draw.data.triples.items():
            work.path("new-%s.txt" % split).write_text("".join(
                "\t".join("new " + name for name in line.split("\t")) + "\n" for line in lines))
        work.run("featurize", ["--vocabulary_order=name", "--output=new.safetensors", "--train=new-train.txt",
                               "--valid=new-valid.txt", "--test=new-test.txt"])
        work.train(draw.flags, ["new.safetensors"], "new")
        runs.same_bits(work.path("run/last.safetensors"), work.path("new/last.safetensors"), "other names",
                       but=("entity_names", "relation_names"))


class Reordered(Property):
    """triples in another order give the same model, to rounding"""
    domains = "g"
    base = {"batch_size": WHOLE}
    never = {**BY_PLACE, **COARSE, **NORMS, "precision": "coarse", "input_dropout": "drawn by place",
             "entity_dropout": "drawn by place", "relation_dropout": "drawn by place"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        for split, lines in draw.data.triples.items():
            lines = list(lines)
            draw.random.shuffle(lines)
            work.path("mixed-%s.txt" % split).write_text("\n".join(lines) + "\n")
        work.run("featurize", ["--vocabulary_order=name", "--output=mixed.safetensors", "--train=mixed-train.txt",
                               "--valid=mixed-valid.txt", "--test=mixed-test.txt"])
        work.train(draw.flags, ["mixed.safetensors"], "mixed")
        runs.close_files(work.path("run/last.safetensors"), work.path("mixed/last.safetensors"),
                         bound(draw.flags, 1e-6), "another order")


class GraphRoutes(Property):
    """gzip, a stream and known tails of a file give the same bits"""
    domains = "g"
    never = {"preload": "of files alone"}

    def check(self, work, draw):
        work.train(draw.flags, draw.inputs, "run")
        draw.random.choice([self.packed, self.stream, self.known])(work, draw)
        runs.same_bits(work.path("run/last.safetensors"), work.path("route/last.safetensors"), "another route")

    def packed(self, work, draw):
        packed = [work.zip(split + ".txt") for split in draw.data.triples]
        work.run("featurize", ["--vocabulary_order=name", "--output=packed.safetensors"] + packed)
        work.train(draw.flags, ["packed.safetensors"], "route")

    def stream(self, work, draw):
        work.train(draw.flags, ["-"], "route", "graph.safetensors")

    def known(self, work, draw):
        work.run("cache-neighbors", ["--output=known.safetensors", "graph.safetensors"])
        work.train(draw.flags, ["graph.safetensors", "known.safetensors"], "route")


class GraphInfluence(Property):
    """tracin's scores sum to the finite difference of a step that the run took"""
    domains = "g"
    base = {"batch_size": WHOLE, "optimizer": "--optimizer=sgd", "max_epochs": "--max_epochs=1",
            "keep_every_epochs": "--keep_every_epochs=1", "learning_rate": ""}
    only = {"kge_loss", "label_smoothing", "label_smoothing_form", "embedding_dim", "seed",
            "init_from", "compile_mode", "weight_decay_biases", "shuffle"}
    RATE = 0.1

    def score(self, work, model, triple):
        """The score of a triple by ComplEx: the real part of <head, relation, conj(tail)>; halves are re and im."""
        found = runs.tensors(work.path(model))
        parts = []
        for kind, name in (("entity", triple[0]), ("relation", triple[1]), ("entity", triple[2])):
            table, rows = found[kind + ".weight"], names(found[kind + "_names"])
            width = len(found["entity.weight"]) // len([n for n in names(found["entity_names"]) if n])
            row = table[rows.index(name) * width:(rows.index(name) + 1) * width]
            parts.append([complex(a, b) for a, b in zip(row[:width // 2], row[width // 2:])])
        return sum((a * b * c.conjugate()).real for a, b, c in zip(*parts))

    def check(self, work, draw):
        for rate, output in ((1e-30, "none"), (self.RATE / 2, "half"), (self.RATE, "full")):
            work.train({**draw.flags, "learning_rate": "--learning_rate=%g" % rate}, draw.inputs, output)
        triple = draw.random.choice(draw.data.triples["test"]).split("\t")
        work.path("one.tsv").write_text("\t".join(triple) + "\n")
        rows = runs.table(work.run("tracin", [
            "--train=graph.safetensors", "--test=one.tsv", "--test_quantity=score", "--loss=trained", "--top_k=0",
            "--inverse_examples", "--learning_rate=%g" % self.RATE, "none/checkpoints/epoch-00001.safetensors"]))
        # Losses over all known tails are those of a query, which all its triples share.
        loss = draw.flags.get("kge_loss", "").split("=")[1]
        scores = {}
        for number, row in enumerate(rows):
            shared = loss in ("1-N", "KvsAll")
            scores[(row["train_head"], row["train_relation"]) if shared else number] = float(row["score"])
        by_scores = -sum(scores.values()) / len(scores)
        largest = max(abs(x) for x in scores.values()) / len(scores)
        none, half, full = (self.score(work, output + "/last.safetensors", triple)
                            for output in ("none", "half", "full"))
        step = 4 * (half - none) - (full - none)  # without the square of the rate
        if abs(by_scores - step) > 1e-3 * max(abs(step), largest):
            raise runs.Failed("the step changes the score by %.6g, tracin says %.6g" % (step, by_scores))


ALL = [Ranks, Renamed, Reordered, GraphRoutes, GraphInfluence]
