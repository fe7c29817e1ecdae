"""``MODULE:CALLABLE`` on the command line: a callable of the user's own, from a module or a file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretrace.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["is_target", "load_target"]


def is_target(text: str) -> bool:
    """Whether the text has the form MODULE:CALLABLE (or FILE.py:CALLABLE) and is no file itself."""
    module, colon, name = text.rpartition(":")
    return bool(colon and module) and all(part.isidentifier() for part in name.split("."))


def load_target(text: str) -> Callable[..., Any]:
    """The callable that the text names, its module imported from the working directory or the path.

    Raises ``UsageError`` when there is no such module or callable, ``CaptureError`` when importing it fails.
    """
    if not is_target(text):
        raise UsageError(f"{text!r} is not of the form MODULE:CALLABLE, e.g. mymodel.attention:forward.")
    module_name, _, name = text.rpartition(":")
    found: Any = _module(module_name, text)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{module_name} has no {name!r}; check the name behind the colon of {text!r}.")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{text!r} is {type(found).__name__}, not something that can be called.")
    target: Callable[..., Any] = found
    return target


def _module(name: str, text: str) -> ModuleType:
    try:
        if name.endswith(".py"):
            return _module_of_file(Path(name))
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        return importlib.import_module(name)
    except UsageError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise UsageError(
                f"no module {name!r} for {text!r}; give a module that imports from here, or FILE.py:CALLABLE."
            ) from error
        raise CaptureError(f"importing {name} failed: {error}.") from error
    except Exception as error:
        raise CaptureError(f"importing {name} failed: {type(error).__name__}: {error}") from error


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"no file {path}; give the path of a Python file before the colon.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file; give one that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    return module
