#!/usr/bin/env python3
"""reference.py man TOOL README [NAME] | text NAME README | flags TOOL | completion TOOL...: manual pages, lists of flags,
bash completion.

Everything comes from two places: `TOOL --help=all` has the flags, README.md of the tool the text.

  man         a manual page (man 1) of a tool, which is installed as NAME (tools/install.sh)
  text        a manual page of a program whose README.md says all of it
  flags       the page of all flags in Markdown
  completion  completion for bash, of all tools named
"""

import os
import re
import subprocess
import sys

FLAG = re.compile(r"^  --(\w+)(=(\S*|\".*\") \((\w+)\))?$")


def read_help(tool):
    """[(group, [(name, default or None, type, text)])] of `TOOL --help=all`, the summary and the usage lines."""
    summary, usage, *blocks = subprocess.check_output([tool, "--help=all"], text=True).strip().split("\n\n")
    groups = []
    for block in blocks:
        heading, *lines = block.split("\n")
        flags = []
        for line in lines:
            flag = FLAG.match(line)
            if flag:
                flags.append((flag.group(1), flag.group(3), flag.group(4), []))
            else:
                flags[-1][3].append(line.strip())
        groups.append((heading, [(name, default, kind, " ".join(text)) for name, default, kind, text in flags]))
    return groups, summary.split(" - ", 1)[1], [line[len("Usage: "):] for line in usage.split("\n")]


def form(name, default, kind):
    """How a flag is written: --name, or --name=default."""
    if default is None or (kind == "bool" and default == "false"):
        return "--" + name
    return "--%s=%s" % (name, default.strip('"'))


def roff(text):
    """A line of Markdown as roff."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("\\", r"\e")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    text = re.sub(r"\*\*([^*]*)\*\*", r"\\fB\1\\fR", text)
    text = text.replace("-", r"\-")
    text = re.sub(r"[^\x00-\x7f]", lambda character: r"\[u%04X]" % ord(character.group()), text)
    return r"\&" + text if text.startswith((".", "'")) else text


def man(tool, readme, name=None):
    groups, summary, usage = read_help(tool)
    return page(name or os.path.basename(tool), readme, summary, usage, groups)


def text(name, readme):
    with open(readme, encoding="utf-8") as file:
        heading = file.readline().strip()
    return page(name, readme, heading.split(" — ", 1)[1], [], [])


def page(name, readme, summary, usage, groups):
    out = ['.TH "%s" 1 "" "rutile" "rutile"' % name.upper(), ".SH NAME", r"%s \- %s" % (roff(name), roff(summary))]
    out += [".SH SYNOPSIS"] if usage else []
    for line in usage:
        out += [".B " + roff(line), ".br"]
    lines = open(readme, encoding="utf-8").read().split("\n")
    skip, code, fence, row = True, False, False, False
    for line in lines:
        if line.startswith("## "):
            skip = bool(groups) and line[3:] in ("SYNOPSIS", "FLAGS")
            if groups and line[3:] == "FLAGS":
                out += options(groups)
        if skip:
            continue
        is_fence = line.startswith("```")
        is_code = not is_fence and (fence or (line.startswith("    ") and (code or out[-1] in (".PP", ""))))
        is_row = line.startswith("|") and not fence
        preformatted = is_code or is_row
        if preformatted != (code or row):
            out.append(".nf" if preformatted else ".fi")
        code, row = is_code, is_row
        if is_fence:
            fence = not fence
        elif line.startswith("## "):
            out.append(".SH " + roff(line[3:]))
        elif line.startswith("### "):
            out.append(".SS " + roff(line[4:]))
        elif is_row:
            if not re.match(r"^[|\-: ]+$", line):
                out.append(roff("  ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])))
        elif is_code:
            out.append(roff(line))
        elif not line:
            out.append(".PP")
        elif line.startswith("- "):
            out += [r".IP \(bu 2", roff(line[2:])]
        elif not line.startswith("# "):
            out.append(roff(line.strip()))
    if code or row:
        out.append(".fi")
    if groups and ".SH OPTIONS" not in out:
        out += options(groups)
    return "\n".join(out) + "\n"


def options(groups):
    out = [".SH OPTIONS"]
    for group, flags in groups:
        out.append(".SS " + roff(group))
        for name, default, kind, text in flags:
            out += [".TP", r"\fB%s\fR" % roff(form(name, default, kind)), roff(text)]
    return out


def flags_page(tool):
    groups, _, _ = read_help(tool)
    name = os.path.basename(tool)
    out = ["# All flags of %s" % name, "",
           "<!-- Printed by `tools/docs/reference.py flags`; a test compares. Change the help of the flags, not this page. -->", "",
           "With their defaults. `--name` alone is a switch that is off; `--name=true` one that is on, and `--noname` turns it",
           "off. `%s --help=WORD` shows those about a word." % name]
    for group, flags in groups:
        out += ["", "## " + group, ""]
        for flag, default, kind, text in flags:
            out.append("- `%s` %s" % (form(flag, default, kind), text))
    return "\n".join(out) + "\n"


def completion(tools):
    out = ["# bash completion of rutile's tools: flags after --, files otherwise. Written by tools/docs/reference.py.",
           "_rutile() {",
           "  local word=${COMP_WORDS[COMP_CWORD]} tool=$1 flags",
           "  if [[ ${tool##*/} == rutile ]]; then",
           "    if ((COMP_CWORD == 1)); then",
           '      COMPREPLY=($(compgen -W "%s" -- "$word"))' % " ".join(os.path.basename(t) for t in tools),
           "      return",
           "    fi",
           "    tool=${COMP_WORDS[1]}",
           "  fi",
           "  case $tool in"]
    for tool in tools:
        names = [form(n, None, k) + ("" if d is None or k == "bool" else "=") for _, flags in read_help(tool)[0] for n, d, k, _ in flags]
        out.append("    *%s) flags='%s' ;;" % (os.path.basename(tool), " ".join(names)))
    out += ["    *) flags= ;;", "  esac",
            "  if [[ $word == -* ]]; then", '    COMPREPLY=($(compgen -W "$flags" -- "$word"))',
            '    [[ ${COMPREPLY-} != *= ]] || compopt -o nospace', "  fi", "}"]
    names = [os.path.basename(t) for t in tools]
    out.append("complete -o default -F _rutile " + " ".join(names + ["rutile-" + name for name in names] + ["rutile"]))
    return "\n".join(out) + "\n"


def main(arguments):
    commands = {"man": lambda a: man(*a), "text": lambda a: text(*a), "flags": lambda a: flags_page(*a), "completion": completion}
    if len(arguments) < 2 or arguments[0] not in commands:
        sys.exit(__doc__)
    sys.stdout.write(commands[arguments[0]](arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
