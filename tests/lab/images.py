"""The images that the tests deploy, made here from Debian's static busybox: no registry, and the same id on every host.

  lab/busybox:1  a shell and its tools, 2 MB
  lab/web:v1     busybox httpd on port 80: / says the version, /healthz that it is well; also v2
  lab/web:sick   the same, without /healthz: it never gets healthy
  lab/web:exits  says why it cannot start, and ends with 3
"""

import hashlib
import io
import json
import pathlib
import subprocess
import tarfile

BUSYBOX = pathlib.Path("/bin/busybox")

# Tells what a proxy or a name led to: whom was asked, who answered, and from where.
WHO = """#!/bin/sh
printf 'content-type: application/json\\r\\n\\r\\n'
printf '{"version":"%s","host":"%s","from":"%s"}\\n' "$(cat /www/index.html)" "$(hostname)" "$REMOTE_ADDR"
"""
EXITS = """#!/bin/sh
echo 'opening the database'
echo 'cannot open the database: no such host' >&2
exit 3
"""
HEALTH = {"Test": ["CMD-SHELL", "wget -q -O /dev/null http://127.0.0.1/healthz"], "Interval": 10**9, "Timeout": 2 * 10**9, "Retries": 3}
SERVE = ["/bin/httpd", "-f", "-vv", "-p", "80", "-h", "/www"]


def _layer(files):
    """A tar of {path: (content or link, mode)}; content None is a folder. The same bytes every time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.mode = mode
            if content is None:
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            elif isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                tar.addfile(entry)
            else:
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _base():
    files = {path: (None, 0o755) for path in ("bin", "etc", "root", "var", "www")}
    files["tmp"] = (None, 0o1777)
    files["bin/busybox"] = (BUSYBOX.read_bytes(), 0o755)
    for name in subprocess.run([BUSYBOX, "--list"], text=True, capture_output=True, check=True).stdout.split():
        if name != "busybox":
            files[f"bin/{name}"] = ("busybox", 0o777)
    files["etc/passwd"] = (b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n", 0o644)
    files["etc/group"] = (b"root:x:0:\nnogroup:x:65534:\n", 0o644)
    return _layer(files)


def _web(version, well=True):
    files = {"www": (None, 0o755), "www/cgi-bin": (None, 0o755), "www/cgi-bin/who": (WHO.encode(), 0o755)}
    files["www/index.html"] = (f"{version}\n".encode(), 0o644)
    if well:
        files["www/healthz"] = (b"well\n", 0o644)
    return _layer(files)


def _image(layers, **config):
    """(name of its configuration, bytes of it) as the archive holds it."""
    config = {"Env": ["PATH=/bin"], **config}
    text = json.dumps({
        "architecture": "amd64", "os": "linux", "created": "2020-01-01T00:00:00Z", "config": config,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]},
        "history": [{"created": "2020-01-01T00:00:00Z"} for _ in layers],
    }, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest() + ".json", text


def archive():
    """All of them in one archive, as `docker save` would write it."""
    base = _base()
    web = {version: [base, _web(version)] for version in ("v1", "v2")}
    sick = [base, _web("sick", well=False)]
    exits = [base, _layer({"bin/start": (EXITS.encode(), 0o755)})]
    images = {"lab/busybox:1": ([base], _image([base], Cmd=["/bin/sh"]))}
    for version, layers in web.items():
        images[f"lab/web:{version}"] = layers, _image(layers, Cmd=SERVE, Healthcheck=HEALTH, ExposedPorts={"80/tcp": {}})
    images["lab/web:sick"] = sick, _image(sick, Cmd=SERVE, Healthcheck=HEALTH, ExposedPorts={"80/tcp": {}})
    images["lab/web:exits"] = exits, _image(exits, Cmd=["/bin/start"])
    files, manifest = {}, []
    for tag, (layers, (name, text)) in images.items():
        paths = [hashlib.sha256(layer).hexdigest() + "/layer.tar" for layer in layers]
        files[name] = (text, 0o644)
        files.update({path: (layer, 0o644) for path, layer in zip(paths, layers)})
        manifest.append({"Config": name, "RepoTags": [tag], "Layers": paths})
    files["manifest.json"] = (json.dumps(manifest).encode(), 0o644)
    return _layer(files)


def tags():
    return ["lab/busybox:1", *(f"lab/web:{tag}" for tag in ("v1", "v2", "sick", "exits"))]
