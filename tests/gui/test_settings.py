# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings are kept whole, and nothing that is in the file ever stops a start."""

import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest

from bacsim_gui.settings import Settings, SettingsFile, settings_path

KEPT = Settings(
    "light", 150, True, "/some/where", {"background": "white", "show_box": False}, b"\x00\xffgeo",
    b"lay\x01",
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "settings.toml"


def test_all_that_is_kept_comes_back(path):
    SettingsFile(path).keep(**{name: getattr(KEPT, name) for name in KEPT.__dataclass_fields__})
    assert SettingsFile(path).read() == (KEPT, "")
    assert [file.name for file in path.parent.iterdir()] == ["settings.toml"]


def test_without_a_file_there_are_defaults_and_nothing_is_said(path):
    assert SettingsFile(path).read() == (Settings(), "")
    assert SettingsFile(None).read() == (Settings(), "")
    SettingsFile(None).keep(theme="light")
    assert not path.parent.exists()


def test_two_windows_do_not_undo_what_the_other_has_set(path):
    one, other = SettingsFile(path), SettingsFile(path)
    one.read()
    other.read()
    one.keep(theme="light")
    other.keep(text_size=125)
    assert one.read()[0] == Settings(theme="light", text_size=125)


def test_a_file_is_whole_whoever_writes_it_meanwhile(path):
    path.parent.mkdir()
    folders = [letter * 20000 for letter in "abcd"]
    with ThreadPoolExecutor(2) as threads:
        for folder in folders:
            # The name that is written to first is the process's, so one writes and one reads.
            writing = threads.submit(SettingsFile(path).keep, folder=folder)
            reading = threads.submit(SettingsFile(path).read)
            writing.result()
            assert reading.result()[1] == ""
            assert reading.result()[0].folder in ("", *folders)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("theme = ", "Invalid value"),
        ('theme = "blue"\ntext_size = 125', "theme = 'blue' is not possible: use one of system"),
        ("text_size = 1000000", "text_size = 1000000 is not possible"),
        ("text_size = 1.5", "text_size = 1.5 is not possible"),
        ('reduced_motion = "yes"', "reduced_motion = 'yes'"),
        ('geometry = "%%%"', "geometry is damaged"),
        ('[view]\nbackground = "pink"', "background = 'pink' is unknown"),
        ("view = 3", "view = 3"),
        ("folder = []", "folder = []"),
    ],
)
def test_a_damaged_file_is_put_aside_once_and_told_of(path, text, words):
    path.parent.mkdir()
    path.write_text(text)
    settings, told = SettingsFile(path).read()
    assert words in told
    assert str(path.with_suffix(".old.toml")) in told
    assert path.with_suffix(".old.toml").read_text() == text
    # What is not damaged in it is taken.
    assert settings == Settings(text_size=125 if "125" in text else 100)
    assert SettingsFile(path).read() == (settings, "")


def test_bytes_that_are_no_text_are_put_aside(path):
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00")
    settings, told = SettingsFile(path).read()
    assert settings == Settings()
    assert told.startswith("Settings were damaged")


def test_one_bad_value_loses_none_of_the_good_ones(path):
    path.parent.mkdir()
    path.write_text('theme = "bright"\ntext_size = 150\n', encoding="utf-8")
    assert SettingsFile(path).read()[0].text_size == 150
    # As the window does when it is closed.
    SettingsFile(path).keep(geometry=b"there")
    settings, told = SettingsFile(path).read()
    assert (settings.text_size, settings.geometry, told) == (150, b"there", "")


def test_what_a_newer_version_has_kept_is_passed_over(path):
    path.parent.mkdir()
    path.write_text('theme = "dark"\nwhat_is_this = 3\n[view]\nanother = 1\n')
    assert SettingsFile(path).read() == (Settings(theme="dark"), "")


def test_where_nothing_can_be_written_or_read_the_program_goes_on(tmp_path):
    (tmp_path / "file").touch()
    file = SettingsFile(tmp_path / "file" / "settings.toml")
    file.keep(theme="light")
    assert file.read()[0] == Settings()
    folder = SettingsFile(tmp_path)
    assert "could not be read" in folder.read()[1]
    folder.keep(theme="light")
    assert tmp_path.is_dir()


def test_a_reset_puts_the_old_ones_aside(path):
    file = SettingsFile(path)
    assert file.reset() == "There are no settings to reset."
    file.keep(theme="light")
    assert str(path.with_suffix(".old.toml")) in file.reset()
    assert not path.exists()
    assert tomllib.loads(path.with_suffix(".old.toml").read_text())["theme"] == "light"


def test_the_place_is_the_systems_or_the_users_choice(monkeypatch, tmp_path):
    assert settings_path() is None  # tests never touch those of whoever runs them
    monkeypatch.setenv("BACSIM_SETTINGS", str(tmp_path / "mine.toml"))
    assert settings_path() == tmp_path / "mine.toml"
    monkeypatch.delenv("BACSIM_SETTINGS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = settings_path()
    assert found is not None
    assert found.name == "settings.toml"
    assert "bacsim" in found.parts
