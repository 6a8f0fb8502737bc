#!/usr/bin/env python3
"""make_wheel.py OUTPUT.whl LIBRARY VERSION_H LICENSE README SOURCE...: a wheel of the package rutile with its library.

Beside LIBRARY go the shared libraries that it needs and that a Linux does not have by itself, with their licenses from
Debian's packages. The wheel runs on machines whose glibc and libstdc++ are as new as those of this one. The result
depends on the inputs alone, not on the date.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

# Part of every Linux that Python's wheels run on.
OF_THE_SYSTEM = re.compile(r"(linux-vdso|ld-linux[-_a-z0-9]*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|atomic))\.so")

METADATA = """Metadata-Version: 2.1
Name: rutile
Version: %s
Summary: Runs machine-learning interatomic potentials that rutile trained, from Python and ASE
License: Apache-2.0
Requires-Python: >=3.7
Provides-Extra: ase
Requires-Dist: numpy; extra == "ase"
Requires-Dist: ase (>=3.22); extra == "ase"
Description-Content-Type: text/markdown

"""

WHEEL = """Wheel-Version: 1.0
Generator: make_wheel.py (rutile %s)
Root-Is-Purelib: false
Tag: %s
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def needed_libraries(library):
    """Paths of the shared libraries to put beside it, in order of their names."""
    output = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in output.splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if not arrow or OF_THE_SYSTEM.match(name):
            continue
        if path.startswith("not found"):
            sys.exit("make_wheel.py: %s needs %s, which this machine does not have" % (library, name))
        found[name] = path.split(" ")[0]
    return sorted(found.items())


def license_of(path):
    """The Debian package that a library is of, and the text of its license."""
    for candidate in [path, os.path.realpath(path)]:
        for name in [candidate, re.sub("^/usr", "", candidate)]:
            result = subprocess.run(["dpkg-query", "-S", name], check=False, capture_output=True, text=True)
            if result.returncode == 0:
                package = result.stdout.split(":")[0]
                return package, read("/usr/share/doc/%s/copyright" % package)
    sys.exit("make_wheel.py: %s is of no Debian package, so that its license is not known" % path)


def main():
    output, library, version_h, license_file, readme = sys.argv[1:6]
    version = re.search(rb'kVersion\[\] = "([^"]+)"', read(version_h)).group(1).decode()
    name, in_name, tag = os.path.basename(output)[:-len(".whl")].split("-", 2)
    machine = os.uname().machine
    if (name, in_name) != ("rutile", version) or not tag.endswith(machine):
        sys.exit("make_wheel.py: %s: expected rutile-%s-py3-none-linux_%s.whl, by %s and this machine; correct VERSION in "
                 "python/BUILD" % (output, version, machine, version_h))
    info = "rutile-%s.dist-info/" % version
    files = {"rutile/librutile.so": read(library), info + "LICENSE": read(license_file)}
    for source in sys.argv[6:]:
        files["rutile/" + os.path.basename(source)] = read(source)
    for soname, path in needed_libraries(library):
        package, text = license_of(path)
        files["rutile/" + soname] = read(path)
        files[info + "licenses/" + package + ".txt"] = text
    files[info + "METADATA"] = (METADATA % version).encode() + read(readme)
    files[info + "WHEEL"] = (WHEEL % (version, tag)).encode()
    record = ""
    for path, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (path, digest, len(content))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in sorted(files.items(), key=lambda item: (item[0].startswith(info), item[0])):
            entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in path else 0o100644) << 16
            wheel.writestr(entry, content)


if __name__ == "__main__":
    main()
