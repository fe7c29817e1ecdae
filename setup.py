"""The one part of the build that pyproject.toml cannot say: the optional scanner.

Without a C compiler the extension is left out with a warning and the msgspec reader serves.
"""

import os
import sys
import sysconfig

from setuptools import Extension, setup

# The stable ABI: one build serves every later Python. Free-threaded builds have none.
STABLE = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")

scanner = Extension(
    "foretrace.trace._scan",
    sources=["scanner/module.c", "scanner/scanner.c", "scanner/text.c", "scanner/number.c", "scanner/nest.c"],
    depends=["scanner/scanner.h", "scanner/text.h", "scanner/number.h", "scanner/nest.h"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
    extra_compile_args=[] if os.name == "nt" else ["-std=c11", "-O3"],
    py_limited_api=STABLE,
    optional=True,
)

setup(
    ext_modules=[] if os.environ.get("FORETRACE_NO_SCANNER") else [scanner],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
