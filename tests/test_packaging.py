# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock, the licence, the wheel, and the decisions of the set-up behind make."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import environment
import lockfile
import machine
import steps

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK_TEXT = lockfile.LOCK.read_text()
SECTIONS = lockfile.parse(LOCK_TEXT)
PLATFORMS = ("linux", "darwin", "win32")
PYTHONS = ("3.11", "3.12", "3.13")
# What set-up installs together.
COMBINATIONS = (
    ["build", "base"],
    ["build", "base", "dev"],
    ["build", "base", "dev", "lock", "cuda12"],
    ["build", "base", "dev", "lock", "cuda13"],
)


def pinned(names: list[str], python: str, platform: str) -> dict[str, list[str]]:
    """The versions that pip would install of each package, on that Python and platform."""
    target = {
        "python_version": python,
        "python_full_version": f"{python}.5",
        "sys_platform": platform,
        "extra": "",
    }
    found: dict[str, list[str]] = {}
    for line in lockfile.select(SECTIONS, names).splitlines():
        if line.startswith(" "):
            continue
        requirement = Requirement(line.rstrip(" \\"))
        if requirement.marker is None or requirement.marker.evaluate(target):
            found.setdefault(requirement.name, []).append(str(requirement.specifier))
    return found


in_venv = pytest.mark.skipif(Path(sys.prefix) != environment.VENV, reason="runs in .venv only")

# The lock


def test_the_lock_was_written_from_what_pyproject_declares():
    written = re.search(r"^# declared: sha256:(\w+)$", LOCK_TEXT, re.MULTILINE)
    assert written is not None
    declared = lockfile.declared_digest((ROOT / "pyproject.toml").read_text())
    assert written[1] == declared, "pyproject.toml changed its dependencies: run make lock"


def test_the_digest_sees_a_dependency_but_no_tool_setting():
    text = (ROOT / "pyproject.toml").read_text()
    before = lockfile.declared_digest(text)
    assert lockfile.declared_digest(text.replace('"tomli-w', '"attrs", "tomli-w')) != before
    assert lockfile.declared_digest(text.replace("line-length = 100", "line-length = 90")) == before


def test_the_lock_names_no_address():
    assert not re.search(r"://|^\s*--(?!hash)|\.whl|@ ", LOCK_TEXT, re.MULTILINE)


def test_every_requirement_of_the_lock_is_pinned_and_hashed():
    for section, requirements in SECTIONS.items():
        assert requirements, section
        for key, text in requirements.items():
            assert re.fullmatch(r"[a-z0-9-]+==[\w.+]+", key), key
            assert "--hash=sha256:" in text, key


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_machine_gets_one_version_of_every_declared_package(names, python, platform):
    found = pinned(names, python, platform)
    doubled = {name: versions for name, versions in found.items() if len(versions) > 1}
    assert not doubled
    declared = list(PYPROJECT["project"]["dependencies"])
    if "dev" in names:
        extras = PYPROJECT["project"]["optional-dependencies"]
        declared += [*extras["test"], *(need for need in extras["dev"] if "bacsim" not in need)]
    for text in declared:
        need = Requirement(text)
        if need.marker is None or need.marker.evaluate({"sys_platform": platform}):
            [version] = found[canonicalize_name(need.name)]
            assert need.specifier.contains(version.removeprefix("=="))


def test_a_machine_without_a_card_gets_nothing_of_nvidia():
    names = lockfile.package_names(SECTIONS, ["build", "base", "dev", "lock"])
    assert not [name for name in names if "nvidia" in name or "cuda" in name]
    assert "jax-cuda13-plugin" in lockfile.package_names(SECTIONS, ["cuda13"])
    assert "jax-cuda12-plugin" in lockfile.package_names(SECTIONS, ["cuda12"])


def test_a_later_section_widens_the_markers_of_an_earlier_one():
    sections = lockfile.parse(
        "# [base]\na==1 ; sys_platform == 'linux' \\\n    --hash=sha256:00\n"
        "# [dev]\na==1 \\\n    --hash=sha256:00\nb==2 \\\n    --hash=sha256:11\n"
    )
    chosen = lockfile.select(sections, ["base", "dev"])
    assert chosen == "a==1 \\\n    --hash=sha256:00\nb==2 \\\n    --hash=sha256:11\n"


def test_what_is_installed_here_fits_together():
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout


# Licence and metadata


def source_files() -> list[Path]:
    """Every source file of the project, by folder and kind."""
    folders = ("engine", "bacsim_gui", "tests", "benchmarks", ".ci")
    kinds = (".py", ".toml", ".vert", ".frag", ".cff", ".lock", ".cpp", ".h")
    found = [file for folder in folders for file in (ROOT / folder).rglob("*")]
    found += [*(ROOT / "assets").rglob("*"), *ROOT.glob("*"), ROOT / ".ci" / "run"]
    names = ("Makefile", "CMakeLists.txt", "run")
    return [f for f in found if f.suffix in kinds or f.name in names]


def test_every_source_file_names_the_licence_at_its_top():
    files = source_files()
    assert len(files) > 20
    unmarked = [
        str(file.relative_to(ROOT))
        for file in files
        if "SPDX-License-Identifier: GPL-3.0-or-later" not in file.read_text()[:200]
    ]
    assert not unmarked


def test_the_notices_name_every_package_that_an_installation_brings():
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text().lower()
    brought = lockfile.package_names(SECTIONS, ["base"])
    assert not [name for name in sorted(brought) if name not in notices]


@in_venv
def test_one_version_is_told_everywhere():
    version = PYPROJECT["project"]["version"]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert importlib.metadata.version("bacsim") == version


def test_the_commands_that_are_declared_exist():
    declared = PYPROJECT["project"]["scripts"]
    assert set(declared) == {"bacsim", "bacsim-gui"}
    for target in declared.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_ci_runs_the_test_command_of_the_readme():
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()
    assert "make test" in (ROOT / "README.md").read_text()


# What an installed program consists of


def build_wheel(folder: Path) -> Path:
    """A wheel of this checkout, built as set-up builds: with what is installed here."""
    how = ["--no-deps", "--no-build-isolation", "--no-index", "-q", "-w", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *how, str(ROOT)], check=True)
    [built] = folder.glob("*.whl")
    return built


def held_by(wheel: Path) -> set[str]:
    """The names of the files in a wheel, without its metadata."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def files_to_hold() -> set[str]:
    """What a wheel of this checkout holds besides the native code."""
    files = [
        str(file.relative_to(ROOT))
        for folder in ("engine", "bacsim_gui", "assets")
        for file in (ROOT / folder).rglob("*")
        if file.is_file()
        and "__pycache__" not in file.parts
        and not (file.parent == environment.NATIVE and file.suffix != ".py")
    ]
    return {re.sub(r"^assets/", "bacsim_gui/assets/", name) for name in files}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("scikit_build_core", reason="make setup installs the build backend")
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
def test_the_wheel_holds_both_packages_the_assets_and_the_native_code(wheel: Path):
    library = held_by(wheel) - files_to_hold()
    assert held_by(wheel) - library == files_to_hold()
    assert [Path(name).stem for name in library] == ["bacsim_native"]
    assert {Path(name).parent for name in library} == {Path("engine/native")}
    assert wheel.stem.split("-")[-3:-1] == ["py3", "none"]  # of one platform and any Python
    assert not wheel.stem.endswith("any")


@pytest.mark.slow
def test_where_nothing_can_be_compiled_the_wheel_is_built_without_native_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("scikit_build_core", reason="make setup installs the build backend")
    monkeypatch.setenv("CXX", "/nowhere/c++")
    built = build_wheel(tmp_path)
    assert built.stem.endswith("-py3-none-any")
    assert held_by(built) == files_to_hold()


@pytest.mark.slow
def test_an_installation_without_set_up_takes_the_first_compiler_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("scikit_build_core", reason="make setup installs the build backend")
    (tmp_path / "bin").mkdir()
    called = tmp_path / "called"
    put_program(tmp_path / "bin", "c++", f"touch {called}; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.delenv("CXX", raising=False)
    build_wheel(tmp_path)
    assert called.exists()  # and not the one that this Python was built with


@pytest.mark.slow
def test_an_installed_program_finds_its_assets_and_tells_its_version(wheel: Path, tmp_path: Path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from bacsim_gui import presets, cli\n"
        "print(presets.assets_dir()); print(*presets.preset_names())\n"
        "from engine.native import library\n"
        "print(library.native().target or library.native(), library.__file__)\n"
        "sys.argv = ['bacsim', '--version']; cli.main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = answer.stdout.splitlines()
    assert lines[:1] == [str(tmp_path / "bacsim_gui" / "assets")], answer.stderr
    assert "swarming" in lines[1]
    assert lines[2].split() in (
        [target, str(tmp_path / "engine" / "native" / "library.py")]
        for target in ("avx512", "avx2", "plain")
    )
    assert PYPROJECT["project"]["version"] in lines[3]


@pytest.mark.parametrize(
    ("beside", "variable", "remedy"),
    [
        (["Makefile"], None, "make setup"),
        (["Makefile", "engine/native/bacsim_native.so"], None, "Remove that file.*make setup"),
        ([], None, "compiler.*install bacsim again"),
        (["engine/native/bacsim_native.so"], None, "compiler.*install bacsim again"),
        (["Makefile"], "/nowhere/bacsim_native.so", "BACSIM_NATIVE"),
    ],
    ids=["checkout", "checkout, broken", "installed", "installed, broken", "named"],
)
def test_the_remedy_fits_how_bacsim_came_here(tmp_path, monkeypatch, beside, variable, remedy):
    monkeypatch.delenv("BACSIM_NATIVE", raising=False)
    if variable:
        monkeypatch.setenv("BACSIM_NATIVE", variable)
    copy = tmp_path / "engine" / "native" / "library.py"
    copy.parent.mkdir(parents=True)
    shutil.copy(environment.NATIVE / "library.py", copy)
    for name in beside:
        (tmp_path / name).write_text("broken")
    spec = importlib.util.spec_from_file_location("copied_library", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.native()
    assert not found.target
    assert re.search(remedy, found.problem)
    told = ["make setup", "install bacsim again", "BACSIM_NATIVE"]
    assert sum(words in found.problem for words in told) == 1


# System packages


def test_debian_and_its_relatives_are_told_from_others():
    assert machine.is_debian('PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\n')
    assert machine.is_debian('ID=linuxmint\nID_LIKE="ubuntu debian"\n')
    assert not machine.is_debian('NAME="not debian"\nID=fedora\nID_LIKE="rhel centos"\n')


def test_a_package_counts_as_installed_under_its_newer_name():
    wanted = ("libglib2.0-0", "libegl1", "xvfb")
    assert machine.missing_of(wanted, {"libglib2.0-0t64", "libegl1"}) == ["xvfb"]


def test_the_window_needs_what_the_readers_of_qt_errors_miss_most():
    assert {"libxcb-cursor0", "libegl1", "libgl1-mesa-dri"} <= set(machine.WINDOW_PACKAGES)
    assert "xvfb" in machine.TEST_PACKAGES
    assert "xvfb" not in machine.WINDOW_PACKAGES


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole path, with no compiler in it but with what tells of packages."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("dpkg-query", "apt-get"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    return folder


def put_program(folder: Path, name: str, script: str) -> str:
    """Lay a program down that does what `script` says."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


def put_compiler(folder: Path, name: str) -> str:
    """Lay something down that can be run under the name of a compiler."""
    return put_program(folder, name, "")


debian = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="tells of Debian's packages")


def test_any_cxx_compiler_will_do_and_that_of_the_environment_is_asked_first(
    bare_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert machine.compiler() is None
    clang = put_compiler(bare_path, "clang++")
    assert machine.compiler() == clang
    monkeypatch.setenv("CXX", f"{put_compiler(bare_path, 'my++')} -m64")
    assert machine.compiler() == str(bare_path / "my++")
    monkeypatch.setenv("CXX", "/nowhere/c++")
    assert machine.compiler() is None


def test_pip_builds_with_the_compiler_that_was_found_and_the_hint_names_it(
    bare_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    python = put_program(tmp_path, "my python", f'echo "$CXX" > "{tmp_path}/cxx"')
    monkeypatch.setattr(environment, "PYTHON", Path(python))
    monkeypatch.setattr(environment, "NATIVE", tmp_path / "native")

    def taken() -> tuple[str, str]:
        """The compiler that pip was given, and that which the hint gives it when it is run."""
        environment.install_project()
        given = (tmp_path / "cxx").read_text().strip()
        (tmp_path / "cxx").unlink()
        environment.tell_of_native_code(tests=False)
        _, _, hint = capsys.readouterr().out.rpartition(" says: ")
        clean = {"PATH": os.defpath}
        subprocess.run(["/bin/sh", "-c", hint], env=clean, check=True)
        return given, (tmp_path / "cxx").read_text().strip()

    clang = put_compiler(bare_path, "c++")
    assert taken() == (clang, clang)
    monkeypatch.setenv("CXX", f"{put_compiler(bare_path, 'my++')} -m64")
    assert taken() == (f"{bare_path}/my++ -m64",) * 2


@debian
def test_a_compiler_that_was_asked_for_and_is_not_there_is_named_and_no_other_installed(
    bare_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(environment, "NATIVE", tmp_path)
    monkeypatch.setenv("CXX", "/nowhere/c++ -m64")
    assert "g++" not in machine.missing_packages(tests=False, native=True)
    environment.tell_of_native_code(tests=False)
    said = capsys.readouterr().out
    assert "no /nowhere/c++, which CXX names" in said
    assert "apt-get" not in said


@debian
def test_a_compiler_is_missing_only_where_it_is_wanted_and_none_is_there(bare_path: Path):
    others = machine.missing_packages(tests=False)
    assert "g++" not in others
    assert machine.missing_packages(tests=False, native=True) == [*others, "g++"]
    put_compiler(bare_path, "clang++")
    assert machine.missing_packages(tests=False, native=True) == others


@debian
@in_venv
def test_set_up_goes_on_without_a_compiler_that_it_may_not_install_but_the_tests_do_not(
    bare_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert not machine.missing_packages(tests=True)  # this is make test, which installed them
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    environment.install_system_packages(tests=False, native=True)
    with pytest.raises(steps.SetupError, match=r"needs root[\s\S]*apt-get install .*g\\\+\\\+"):
        environment.install_system_packages(tests=True, native=True)


@pytest.fixture
def apt(bare_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Root on a Debian that lacks only a compiler; the file that apt-get is to be laid down as."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "is_debian", lambda text: True)
    monkeypatch.setattr(machine, "WINDOW_PACKAGES", ())
    put_program(bare_path, "dpkg-query", "exit 1")
    (bare_path / "env").symlink_to(shutil.which("env", path=os.defpath) or "env")
    return bare_path / "apt-get"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "case $* in *update) exit 0;; esac\n"
            "echo Reading\necho 'E: Unable to locate package x'\necho 'E: By regex no'; exit 100",
            "Unable to locate package x",
        ),
        ("echo Reading; echo No network; exit 1", "No network"),
        ("echo 0 newly installed", "there is no C++ compiler now either"),
        ("exit 1", "without a word"),
    ],
    ids=["not known", "no error line", "nothing installed", "no words"],
)
def test_a_compiler_that_could_not_be_installed_is_told_in_one_line(
    apt: Path, capsys: pytest.CaptureFixture[str], script: str, words: str
):
    put_program(apt.parent, apt.name, script)
    environment.install_system_packages(tests=False, native=True)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("g++ could not be installed: ")
    assert last.endswith(words)
    with pytest.raises(steps.SetupError, match="Run this line to see more"):
        environment.install_system_packages(tests=True, native=True)


def test_apt_get_is_asked_for_that_compiler_alone(
    apt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    made = f"printf '#!/bin/sh' > {apt.parent}/g++; /bin/chmod 755 {apt.parent}/g++"
    put_program(apt.parent, apt.name, f'for a; do echo "$a"; done > {tmp_path}/asked; {made}')
    environment.install_system_packages(tests=False, native=True)
    assert "could not" not in capsys.readouterr().out
    pattern = (tmp_path / "asked").read_text().splitlines()[-1]
    names = ["g++", "g++-12", "libgcc1", "gg", "g", "lib32g++"]
    assert [name for name in names if re.search(pattern, name)] == ["g++"]


def test_what_is_lost_without_native_code_is_told_in_one_line(
    bare_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(environment, "NATIVE", tmp_path)
    environment.tell_of_native_code(tests=False)
    [line] = capsys.readouterr().out.splitlines()
    assert "there is none" in line
    assert "slower" in line
    assert "then" in line
    assert "make again" in line
    with pytest.raises(steps.SetupError, match="the tests need it"):
        environment.tell_of_native_code(tests=True)
    put_compiler(bare_path, "clang++")
    environment.tell_of_native_code(tests=False)
    assert "could not be built" in capsys.readouterr().out
    (tmp_path / "bacsim_native.so").touch()
    environment.tell_of_native_code(tests=True)
    assert not capsys.readouterr().out


def test_the_line_to_run_is_one_line_with_or_without_sudo():
    with_sudo = machine.install_line(["libegl1", "xvfb"], sudo=True)
    assert with_sudo == (
        "sudo apt-get update && "
        "sudo apt-get install -y --no-install-recommends libegl1 xvfb"
    )  # fmt: skip
    without = machine.install_line(["libegl1"], sudo=False)
    assert without == (
        "su -c 'apt-get update && apt-get install -y --no-install-recommends libegl1'"
    )


def test_make_setup_tries_again_to_get_a_compiler_and_then_builds_but_make_run_does_not(
    apt: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(environment, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(environment, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(environment, "native_is_built", lambda: False)
    monkeypatch.setattr(environment, "make_venv", lambda: pytest.fail("builds"))
    stamp = {"digest": environment.digest(), "card": machine.card_fingerprint(), "native": False}
    environment.STAMP.write_text(json.dumps(stamp))
    put_program(apt.parent, apt.name, "echo E: No network; exit 1")
    environment.setup(set(), quiet=True)
    assert not capsys.readouterr().out
    environment.setup(set())
    said = capsys.readouterr().out.splitlines()
    assert "g++ could not be installed: No network" in said
    assert ".venv is up to date." in said
    put_compiler(tmp_path, "g++")
    put_program(apt.parent, apt.name, f"/bin/cp -p {tmp_path}/g++ {apt.parent}/g++")
    with pytest.raises(pytest.fail.Exception, match="builds"):
        environment.setup(set())


@pytest.mark.parametrize("sudo", [True, False])
def test_the_line_to_run_hands_each_name_on_through_the_shell(sudo: bool, tmp_path: Path):
    put_program(tmp_path, "sudo", 'exec "$@"')
    put_program(tmp_path, "su", '[ "$1" = -c ] && exec /bin/sh -c "$2"')
    put_program(tmp_path, "apt-get", 'for a; do echo "$a"; done')
    line = machine.install_line(["libegl1", "g++", "libglib2.0-0"], sudo=sudo)
    assert "\n" not in line
    said = subprocess.run(
        ["/bin/sh", "-c", line],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[:2] == ["update", "install"]
    assert said[-3:] == ["libegl1", r"^g\+\+$", "libglib2.0-0"]


@pytest.mark.parametrize(
    ("executable", "package"),
    [("/usr/bin/python3", "python3-venv"), ("/usr/bin/python3.12", "python3.12-venv")],
)
def test_the_package_for_environments_follows_the_interpreter(executable, package):
    assert machine.venv_package(executable, (3, 12)) == package


def test_a_python_that_is_too_old_is_refused_with_a_remedy():
    with pytest.raises(steps.SetupError, match=r"3\.11 or newer.*is 3\.9") as refused:
        environment.check_python((3, 9), "/usr/bin/python3")
    assert "make setup PYTHON=" in str(refused.value)
    environment.check_python((3, 11), "/usr/bin/python3")


# The card


def test_the_answer_of_nvidia_smi_is_read():
    answer = "NVIDIA GeForce RTX 3080, 580.65.06, 8.6\nNVIDIA T400, 580.65.06, 7.5\n"
    assert machine.read_smi(answer) == machine.Card("NVIDIA GeForce RTX 3080", "580.65.06", 8.6)
    assert machine.read_smi("Old card, 470.1, [N/A]\n") == machine.Card("Old card", "470.1", 0.0)
    assert machine.read_smi("NVIDIA-SMI has failed because it couldn't communicate") is None
    assert machine.read_smi("") is None


@pytest.mark.parametrize(
    ("driver", "capability", "extra"),
    [
        ("580.65.06", 8.6, "cuda13"),
        ("610.1", 12.0, "cuda13"),
        ("580.65.06", 7.0, "cuda12"),  # CUDA 13 has no code for cards before Turing
        ("579.99", 8.6, "cuda12"),
        ("525.60", 5.2, "cuda12"),
        ("580.65.06", 0.0, "cuda13"),  # an old nvidia-smi does not tell the capability
    ],
)
def test_driver_and_card_decide_which_cuda_is_installed(driver, capability, extra):
    choice = machine.choose_cuda(machine.Card("card", driver, capability), "x86_64")
    assert choice == machine.CudaChoice(extra)


@pytest.mark.parametrize(
    ("card", "processor", "reason"),
    [
        (machine.Card("card", "470.1", 8.6), "x86_64", r"470\.1.*525 or newer"),
        (machine.Card("card", "580.1", 3.5), "x86_64", r"capability is 3\.5.*5\.2"),
        (machine.Card("card", "580.1", 8.6), "ppc64le", "ppc64le"),
        (machine.Card("card", trouble="no driver", remedy="install it"), "x86_64", "no driver"),
    ],
)
def test_a_card_that_cannot_be_used_is_refused_with_a_remedy(card, processor, reason):
    choice = machine.choose_cuda(card, processor)
    assert choice.extra == ""
    assert re.search(reason, choice.reason)
    assert choice.remedy


def test_the_first_exception_of_jax_is_the_reason_that_is_told():
    stderr = (
        "I0000 stub\nTraceback (most recent call last):\n"
        "RuntimeError: cudaRuntimeGetVersion failed: driver too old\n"
        "RuntimeError: Unknown backend: 'gpu' requested\n"
    )
    assert machine.card_failure(stderr).endswith("driver too old")
    assert machine.card_failure("Killed\n") == "Killed"
    assert machine.card_failure("") != ""


# The environment


def test_the_environment_is_up_to_date_only_with_the_same_lock_card_and_sections():
    stamp = {"digest": "d", "card": "c", "sections": ["build", "base"]}
    assert environment.up_to_date(stamp, set(), "d", "c")
    assert not environment.up_to_date(stamp, {"dev"}, "d", "c")
    assert not environment.up_to_date(stamp, set(), "other", "c")
    assert not environment.up_to_date(stamp, set(), "d", "other")
    assert not environment.up_to_date({}, set(), "d", "c")


def test_set_up_is_due_after_the_native_sources_or_the_presence_of_a_compiler_changed(
    bare_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sources = tmp_path / "native"
    shutil.copytree(environment.NATIVE, sources)
    monkeypatch.setattr(environment, "NATIVE", sources)
    seen = [environment.digest()]
    (sources / "bacsim_native.so").touch()  # what is built from them decides nothing
    assert environment.digest() == seen[0]
    put_compiler(bare_path, "g++")
    seen.append(environment.digest())
    for name in ("step.cpp", "model.h", "CMakeLists.txt"):
        (sources / name).write_text((sources / name).read_text() + "\n")
        seen.append(environment.digest())
    (sources / "step.cpp").rename(sources / "stride.cpp")
    seen.append(environment.digest())
    assert len(set(seen)) == len(seen)


def test_what_an_interrupted_pip_left_is_removed_and_the_rest_kept(tmp_path: Path):
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("whole-1.dist-info", "half-1.dist-info", "~umpy", "whole"):
        (packages / name).mkdir(parents=True)
    (packages / "whole-1.dist-info" / "INSTALLER").write_text("pip\n")
    (packages / "half-1.dist-info" / "METADATA").write_text("Name: half\n")
    environment.clean_up(tmp_path)
    assert sorted(entry.name for entry in packages.iterdir()) == ["whole", "whole-1.dist-info"]


def test_settings_of_another_python_do_not_reach_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", "/opt/ros/lib")
    monkeypatch.setenv("PIP_CERT", "/etc/ssl/ca.pem")
    inherited = steps.child_environment()
    assert "PYTHONPATH" not in inherited
    assert inherited["PIP_CERT"] == "/etc/ssl/ca.pem"


def test_a_program_that_fails_is_told_with_its_last_lines():
    seen: list[str] = []
    command = [sys.executable, "-c", "print('begun'); raise SystemExit('no room')"]
    with pytest.raises(steps.SetupError, match="no room"):
        steps.stream(command, seen.append)
    assert "begun" in seen


@in_venv
def test_a_second_set_up_has_nothing_to_do():
    before = environment.STAMP.read_text()
    python = sys._base_executable
    answer = subprocess.run(
        [python, ROOT / ".ci" / "environment.py", "setup", "--tests"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout == ".venv is up to date.\n", answer.stderr
    assert environment.STAMP.read_text() == before


@in_venv
def test_make_run_opens_a_window_only_where_a_display_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert environment.no_window_reason() == ""
    monkeypatch.setenv("DISPLAY", ":4711")
    assert "':4711'" in environment.no_window_reason()
    monkeypatch.delenv("DISPLAY")
    assert "no display" in environment.no_window_reason()


def test_make_run_promises_no_more_than_the_movie_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "bin").mkdir()
    put_program(tmp_path / "bin", "bacsim", 'echo "$*"; exit 3')
    monkeypatch.setattr(environment, "VENV", tmp_path)
    monkeypatch.setattr(environment, "no_window_reason", lambda: "There is no display.")
    with pytest.raises(SystemExit) as ended:
        environment.run(["--seconds", "1"])
    assert ended.value.code == 3
    *said, asked = capfd.readouterr().out.splitlines()
    assert said == ["There is no display.", "A movie is rendered instead."]
    assert asked.endswith("--seconds 1")
