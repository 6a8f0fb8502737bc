#!/usr/bin/env python3
"""archive_libraries.py ROOT: gives an installation (tools/install.sh) all shared libraries that it needs, and glibc.

  libexec/rutile/NAME         becomes a start script (start.sh)
  lib/rutile/programs/NAME    the program, which the archive's own loader runs
  lib/rutile/runtime/         that loader, glibc, and what the programs need besides
  lib/rutile/*.so*            what librutile.so needs: it is loaded into programs of others, with their glibc
  share/doc/rutile/licenses/  the license of each Debian package that a library is of, and packages.txt, their versions

Prints the oldest glibc and libstdc++ that librutile.so and the Python package need. Needs patchelf.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../python"))

import make_wheel  # noqa: E402  pylint: disable=wrong-import-position

# Debian's LibTorch names OpenCV, FFmpeg and more, whose symbols it does not use; they bring 250 libraries with them.
NAMES_TOO_MUCH = re.compile(r"lib(torch|c10)")
# Headers of these are compiled into the programs.
COMPILED_IN = ["libabsl-dev", "libhwy-dev", "nlohmann-json3-dev"]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def resolved(path):
    """{name: path} of all shared libraries that the loader finds for a program."""
    found = {}
    for line in output_of("ldd", path).splitlines():
        line = line.strip().split(" (0x")[0]
        name, arrow, file = line.partition(" => ")
        if file == "not found":
            sys.exit("archive_libraries.py: %s needs %s, which this machine does not have" % (path, name))
        if arrow:
            found[name] = file
        elif line.startswith("/"):
            found[os.path.basename(line)] = line  # the loader
    return found


def unused(path):
    """Names of the libraries that one names and takes no symbol of."""
    result = subprocess.run(["ldd", "-u", path], check=False, capture_output=True, text=True)
    return [os.path.basename(line.strip()) for line in result.stdout.splitlines() if line.strip().startswith("/")]


def needed(path):
    return re.findall(r"NEEDED +(\S+)", output_of("objdump", "-p", path))


def closure(programs):
    """{name: path} of the libraries that are needed, and {name: [names]} of those that a library names without need."""
    found, superfluous = {}, {}
    for program in programs:
        paths = resolved(program)
        todo = needed(program)
        while todo:
            name = todo.pop()
            if name in found or name not in paths:
                continue
            found[name] = paths[name]
            if NAMES_TOO_MUCH.match(name):
                superfluous[name] = unused(paths[name])
            todo += [n for n in needed(paths[name]) if n not in superfluous.get(name, [])]
    return found, superfluous


def copy(path, target):
    shutil.copyfile(path, target)
    os.chmod(target, 0o755)


def newest(paths, prefix):
    """The newest version of glibc (GLIBC) or libstdc++ (GLIBCXX) that one of these files asks for."""
    versions = re.findall(prefix + r"_([0-9.]+)", "".join(output_of("objdump", "-p", path) for path in paths))
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])


def write_licenses(paths, folder):
    os.makedirs(folder)
    packages = {}
    for path in paths:
        package, text = make_wheel.license_of(path)
        packages[package] = text
    for package in COMPILED_IN:
        packages[package] = make_wheel.read("/usr/share/doc/%s/copyright" % package)
    with open(os.path.join(folder, "packages.txt"), "w", encoding="utf-8") as file:
        file.write("Shared libraries and headers here are of these packages of Debian, unchanged but for unused names\n"
                   "of other libraries. Debian has their sources, under these versions.\n\n")
        for package in sorted(packages):
            source = output_of("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n", package)
            file.write("%s: source %s\n" % (package, source.splitlines()[0]))
    for package, text in packages.items():
        with open(os.path.join(folder, package + ".txt"), "wb") as file:
            file.write(text)


def main():
    root = os.path.abspath(sys.argv[1])
    tools, lib = os.path.join(root, "libexec/rutile"), os.path.join(root, "lib/rutile")
    runtime, programs = os.path.join(lib, "runtime"), os.path.join(lib, "programs")
    files = [os.path.join(tools, name) for name in os.listdir(tools)]
    names = sorted(os.path.basename(path) for path in files if os.path.isfile(path) and not os.path.islink(path) and is_elf(path))
    library, kim = os.path.join(root, "lib/librutile.so"), os.path.join(lib, "kim/libkim-api-portable-model.so")

    needed_by_library = dict(make_wheel.needed_libraries(library) + make_wheel.needed_libraries(kim))
    needed_by_programs, superfluous = closure([os.path.join(tools, name) for name in names])
    loader = next(name for name in needed_by_programs if name.startswith("ld-linux"))
    os.makedirs(runtime)
    os.makedirs(programs)
    for name, path in needed_by_library.items():
        copy(path, os.path.join(lib, name))
    for name, path in needed_by_programs.items():
        if name in needed_by_library:
            continue
        copy(path, os.path.join(runtime, name))
        if superfluous.get(name):
            subprocess.run(["patchelf"] + [word for other in superfluous[name] for word in ("--remove-needed", other)] +
                           [os.path.join(runtime, name)], check=True)
    # Programs of others look for what librutile.so needs beside it; rutile-kim copies it beside the models.
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/rutile", library], check=True)
    os.symlink("..", os.path.join(lib, "kim/libraries"))

    with open(os.path.join(HERE, "start.sh"), encoding="utf-8") as file:
        script = file.read().replace("@LOADER@", loader)
    for name in names:
        path = os.path.join(tools, name)
        os.rename(path, os.path.join(programs, name))
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        os.chmod(path, 0o755)
        # Nothing is found outside of the archive.
        for line in output_of(os.path.join(runtime, loader), "--library-path", runtime + ":" + lib, "--list",
                              os.path.join(programs, name)).splitlines():
            if "linux-vdso" not in line and root + "/" not in line:
                sys.exit("archive_libraries.py: %s: not of the archive: %s" % (name, line.strip()))
    write_licenses(set(needed_by_library.values()) | set(needed_by_programs.values()),
                   os.path.join(root, "share/doc/rutile/licenses"))

    loaded = [library, kim] + [os.path.join(lib, name) for name in needed_by_library]
    loaded += [path for path in glob.glob(os.path.join(lib, "python/rutile/*")) if ".so" in path]
    print("glibc %s, libstdc++ with GLIBCXX_%s" % (newest(loaded, "GLIBC"), newest(loaded, "GLIBCXX")))


if __name__ == "__main__":
    main()
