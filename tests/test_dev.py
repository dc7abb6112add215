"""The developer's verbs: `./dev` installs once, mends what is damaged, and looks where pip looks.

Nothing here reaches for the network: the one step that would, the installation itself, is replaced.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


class Checkout:
    """A checkout of its own whose `dev` makes real environments but only notes installations."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        shutil.copy2(ROOT / "dev", folder / "dev")
        shutil.copy2(ROOT / "pyproject.toml", folder / "pyproject.toml")
        self.dev: Any = load(folder / "dev")
        self.installed: list[str] = []
        self.rebuilt = 0
        monkeypatch.setattr(self.dev, "install", self.installed.append)
        monkeypatch.setattr(self.dev, "make_venv", self.rebuild)
        self._make_venv = load(folder / "dev").make_venv

    def rebuild(self) -> None:
        self.rebuilt += 1
        self._make_venv()


def load(path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("dev", str(path))
    spec = importlib.util.spec_from_loader("dev", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return Checkout(tmp_path, monkeypatch)


def test_an_old_python_is_turned_away_in_one_line() -> None:
    ast.parse((ROOT / "dev").read_text(encoding="utf-8"), feature_version=(3, 8))
    pretend = (
        "import runpy, sys; sys.version_info = (3, 8, 10, 'final', 0); sys.argv = ['dev', 'test'];"
        f"runpy.run_path({str(ROOT / 'dev')!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", pretend], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "3.11" in done.stderr
    assert "3.8.10" in done.stderr


def test_help_lists_every_verb_and_an_unknown_verb_is_refused() -> None:
    shown = subprocess.run([ROOT / "dev", "--help"], capture_output=True, text=True, check=True)
    verbs = ["demo", "test", "thorough", "lint", "bench", "chaos", "pictures", "build", "shell"]
    assert [line.split()[1] for line in shown.stdout.splitlines()[2:]] == verbs

    refused = subprocess.run([ROOT / "dev", "dmeo"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "dmeo" in refused.stderr
    assert "demo" in refused.stderr


def test_a_second_start_installs_nothing(checkout: Checkout) -> None:
    checkout.dev.prepare("dev")
    checkout.dev.prepare("dev")
    checkout.dev.prepare("project")
    assert checkout.installed == ["dev"]
    assert checkout.rebuilt == 1


def test_the_demo_needs_less_than_the_tests(checkout: Checkout) -> None:
    checkout.dev.prepare("project")
    checkout.dev.prepare("dev")
    assert checkout.installed == ["project", "dev"]
    assert checkout.rebuilt == 1


def test_changed_requirements_are_installed_in_place(checkout: Checkout) -> None:
    checkout.dev.prepare("dev")
    with (checkout.folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("# one more line\n")
    checkout.dev.prepare("project")
    assert checkout.installed == ["dev", "dev"], "what was there must not get lost"
    assert checkout.rebuilt == 1


@pytest.mark.parametrize(
    "stamp",
    ["", "no JSON", "[]", '{"state": "ready"}', '{"state": "ready", "level": "no such"}', "{"],
)
def test_a_damaged_stamp_is_mended(checkout: Checkout, stamp: str) -> None:
    checkout.dev.prepare("dev")
    checkout.dev.STAMP.write_text(stamp, encoding="utf-8")
    checkout.dev.prepare("dev")
    checkout.dev.prepare("dev")
    assert checkout.installed == ["dev", "dev"]


def test_an_interrupted_installation_starts_anew_but_keeps_its_downloads(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(level: str) -> None:
        checkout.dev.CACHE.mkdir()
        (checkout.dev.CACHE / "wheel").write_text("downloaded", encoding="utf-8")
        (checkout.dev.VENV / "half-made").write_text("", encoding="utf-8")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkout.dev, "install", interrupted)
        with pytest.raises(KeyboardInterrupt):
            checkout.dev.prepare("dev")
    checkout.dev.prepare("dev")
    assert checkout.installed == ["dev"]
    assert checkout.rebuilt == 2
    assert not (checkout.dev.VENV / "half-made").exists()
    assert (checkout.dev.CACHE / "wheel").read_text(encoding="utf-8") == "downloaded"


def test_an_environment_whose_python_is_gone_is_rebuilt(checkout: Checkout) -> None:
    checkout.dev.prepare("dev")
    checkout.dev.PYTHON.unlink()
    checkout.dev.PYTHON.symlink_to(checkout.folder / "no-such-python")
    checkout.dev.prepare("dev")
    assert checkout.rebuilt == 2
    assert checkout.dev.PYTHON.exists()


def test_a_copied_checkout_does_not_use_scripts_of_the_original(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.dev.prepare("dev")
    shutil.copytree(checkout.folder, checkout.folder / "copy", symlinks=True)
    copy = Checkout(checkout.folder / "copy", monkeypatch)
    copy.dev.prepare("dev")
    assert copy.rebuilt == 1
    assert copy.installed == ["dev"]


def test_a_ready_checkout_runs_the_command_and_passes_its_exit_code_through(
    checkout: Checkout,
) -> None:
    checkout.dev.prepare("dev")
    command = [checkout.folder / "dev", "shell", "sh", "-c", "command -v python; exit 7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert done.stderr == ""
    assert done.stdout.strip() == str(checkout.dev.PYTHON)


def test_each_check_runs_even_if_one_fails(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout.folder)
    verb = checkout.dev.Verb("dev", [["false"], ["touch", "reached"]], "")
    assert checkout.dev.run_verb(verb, []) == 1
    assert (checkout.folder / "reached").exists()
    assert "failed: false" in capsys.readouterr().err


def clear_pip(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))


def test_uv_looks_where_pip_would(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    clear_pip(monkeypatch, checkout.folder)
    named = checkout.folder / "pip.conf"
    named.write_text(
        "[global]\nindex-url = https://one.invalid/simple\ntimeout = 7\n"
        "extra-index-url =\n    https://two.invalid/simple\n    https://three.invalid/simple\n"
        "[install]\nfind-links = /wheels /more\ncert = /of/the/install/section\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(named))
    monkeypatch.setenv("PIP_INDEX_URL", "https://environment.invalid/simple")

    translated = checkout.dev.uv_environment(checkout.dev.pip_settings(), {"UV_HTTP_TIMEOUT": "9"})

    assert translated["UV_DEFAULT_INDEX"] == "https://environment.invalid/simple"
    assert translated["UV_INDEX"] == "https://two.invalid/simple https://three.invalid/simple"
    assert translated["UV_FIND_LINKS"] == "/wheels,/more"
    assert translated["SSL_CERT_FILE"] == "/of/the/install/section"
    assert translated["UV_HTTP_TIMEOUT"] == "9", "what the user told uv itself wins"
    assert translated["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_without_settings_uv_keeps_its_own_index(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear_pip(monkeypatch, checkout.folder)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    translated = checkout.dev.uv_environment(checkout.dev.pip_settings(), {})
    assert set(translated) == {"UV_INDEX_STRATEGY", "UV_CACHE_DIR"}


@pytest.mark.parametrize("untouched", [True, False])
def test_a_pip_from_the_index_must_be_the_pinned_one(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, untouched: bool
) -> None:
    dev, index = checkout.dev, checkout.folder / "index"
    (index / "pip").mkdir(parents=True)
    (index / "pip" / dev.PIP_WHEEL).write_bytes(b"a wheel")
    page = f'<a href="pip-1.0.tar.gz">old</a> <a href="{dev.PIP_WHEEL}#sha256=00">new</a>'
    (index / "pip" / "index.html").write_text(page, encoding="utf-8")
    pinned = hashlib.sha256(b"a wheel" if untouched else b"another wheel").hexdigest()
    monkeypatch.setattr(dev, "PIP_SHA256", pinned)

    found = dev.pip_from_index({"index-url": index.as_uri()}, checkout.folder)

    assert found == (checkout.folder / dev.PIP_WHEEL if untouched else None)
