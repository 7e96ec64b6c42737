#!/usr/bin/env python3
"""Check that attnscope and huggingface_hub can open each other's files in the cache.

    check_hub_cache.py ATTNSCOPE

Connects only to tests/hub/hub_server.py. Needs huggingface_hub. Exits with 1 and prints a line for each error.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import huggingface_hub

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = {"org/llama": "llama", "gpt2": "gpt2"}

DOWNLOAD = """
import sys, huggingface_hub
for repo in sys.argv[1:]:
    huggingface_hub.snapshot_download(repo)
"""

# Offline: every file as on the hub, no warning about a broken cache, and the record of missing files.
OPEN = """
import pathlib, sys, huggingface_hub
for repo, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    for path in pathlib.Path(folder).iterdir():
        cached = huggingface_hub.hf_hub_download(repo, path.name, local_files_only=True)
        assert pathlib.Path(cached).read_bytes() == path.read_bytes(), (repo, path.name)
    absent = huggingface_hub.try_to_load_from_cache(repo, "adapter_config.json")
    assert absent is huggingface_hub._CACHED_NO_EXIST, (repo, absent)
info = huggingface_hub.scan_cache_dir()
assert not info.warnings, info.warnings
assert len(info.repos) == len(sys.argv[1:]) // 2
"""


def run(words, environment):
    result = subprocess.run(words, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words[:3]))} …: {result.stderr}")
    return result.stdout


def main():
    attnscope = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for repo, data in NAMES.items():
            shutil.copytree(ROOT / "tests/data" / data, scratch / "hub/models" / repo / "main")
        server = subprocess.Popen([sys.executable, ROOT / "tests/hub/hub_server.py", scratch / "hub"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING", "TRANSFORMERS_"))}
        online = {**kept, "HF_ENDPOINT": server.stdout.readline().strip(), "NO_PROXY": "*", "HF_HUB_DISABLE_XET": "1"}
        try:
            ours = {**online, "HF_HOME": str(scratch / "ours")}
            for repo in NAMES:
                run([attnscope, "info", repo], ours)
            folders = [word for repo, data in NAMES.items() for word in (repo, str(ROOT / "tests/data" / data))]
            run([sys.executable, "-c", OPEN, *folders], {**ours, "HF_HUB_OFFLINE": "1"})
            (scratch / "hub/log.jsonl").unlink()
            run([sys.executable, "-c", DOWNLOAD, *NAMES], ours)
            log = (scratch / "hub/log.jsonl").read_text()
            if '"host": "cdn"' in log:
                sys.exit("huggingface_hub downloads a file that attnscope has already cached")

            theirs = {**online, "HF_HOME": str(scratch / "theirs")}
            run([sys.executable, "-c", DOWNLOAD, *NAMES], theirs)
            for repo, data in NAMES.items():
                words = [attnscope, "spectrum", "--format", "csv"]
                if run([*words, repo], {**theirs, "HF_HUB_OFFLINE": "1"}) != run([*words, ROOT / "tests/data" / data], theirs):
                    sys.exit(f"{repo}: different results from huggingface_hub's cache and from its files")
        finally:
            server.stdin.close()
            server.wait()
    print(f"both open each other's cache: huggingface_hub {huggingface_hub.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
