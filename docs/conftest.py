"""Every page runs in an empty folder, as somebody does who pastes its examples."""

import pytest


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, capfd):
    """Nothing may appear on the standard error stream."""
    monkeypatch.chdir(tmp_path)
    yield
    assert capfd.readouterr().err == ""
