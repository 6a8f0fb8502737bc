"""Headers that gcc compiles once and then reads in a tenth of the time."""

def precompiled_headers(name, deps):
    """Compiles the headers that NAME.cc includes.

    Sources include them first by -include; a compiler whose flags differ from those of NAME.cc reads them as text.

    Args:
      name: of the source without ".cc".
      deps: what has these headers.
    """
    native.cc_library(
        name = name + "_object",
        srcs = [name + ".cc"],
        copts = ["-x", "c++-header"],
        tags = ["manual"],
        visibility = ["//visibility:private"],
        deps = deps,
    )
    native.filegroup(
        name = name + "_file",
        srcs = [":%s_object" % name],
        output_group = "compilation_outputs",
        visibility = ["//visibility:private"],
    )
    native.genrule(
        name = name + "_headers",
        srcs = [name + ".cc", ":%s_file" % name],
        outs = [name + ".h", name + ".h.gch"],
        cmd = "cp $(location {0}.cc) $(location {0}.h) && cp $(location :{0}_file) $(location {0}.h.gch)".format(name),
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        hdrs = [name + ".h", name + ".h.gch"],
        visibility = ["//visibility:public"],
        deps = deps,
    )

def with_precompiled(name, copts):
    """Attributes with which a rule's sources include precompiled headers: for deps, and for copts.

    Nothing where a rule has copts of its own: gcc would take some, as -ffp-contract, from the precompiled header instead.

    Args:
      name: of the source in this package without ".cc".
      copts: those of the rule.

    Returns:
      What to add to deps, and to copts.
    """
    if copts:
        return [], []
    deps = select({
        "//third_party/precompiled:off": [],
        "//conditions:default": ["//third_party/precompiled:" + name],
    })
    copts = select({
        "//third_party/precompiled:off": [],
        "//conditions:default": ["-include", "$(GENDIR)/third_party/precompiled/%s.h" % name],
    })
    return deps, copts
