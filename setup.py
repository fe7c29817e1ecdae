"""The one part of the build that pyproject.toml cannot say: the optional scanner.

Without a C compiler the extension is left out with a warning and the msgspec reader serves.
"""

import os
import sys
import sysconfig

from setuptools import Extension, setup

# The stable ABI: one build serves every later Python. Free-threaded builds have none.
STABLE = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")

BINDINGS = ("module", "module_guard", "module_nest")
SOURCES = (*BINDINGS, "scanner", "absorb", "rows", "values", "members", "step", "text", "number", "nest")
HEADERS = ("module_guard", "module_nest", "scanner", "event", "step", "text", "number", "nest")

scanner = Extension(
    "foretrace.trace._scan",
    sources=[f"scanner/{name}.c" for name in SOURCES],
    depends=[f"scanner/{name}.h" for name in HEADERS],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
    extra_compile_args=[] if os.name == "nt" else ["-std=c11", "-O3", "-fvisibility=hidden"],
    py_limited_api=STABLE,
    optional=True,
)

setup(
    ext_modules=[] if os.environ.get("FORETRACE_NO_SCANNER") else [scanner],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
