"""CUB and Thrust, also inside PyTorch (``at_cuda_detail::cub``), and AMD's rocPRIM and hipCUB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("RadixSort", "sort", "radix sort", "a pass of a radix sort"),
    Function("MergeSort", "sort", "merge sort", "a pass of a merge sort"),
    Function("BlockSort", "sort", "merge sort", "sorts within blocks"),
    Function("SegmentedSort", "sort", "segmented sort", "sorts many rows"),
    Function("ReduceByKey", "reduction", "reduce by key", "adds values of equal keys"),
    Function("SegmentedReduce", "reduction", "segmented reduce", "reduces many rows"),
    Function("DeviceReduce", "reduction", "reduce", "reduces to one value"),
    Function("RunLength", "reduction", "run length", "counts runs of equal values"),
    Function("Rle", "reduction", "run length", "counts runs of equal values"),
    Function("DeviceScanInit", "setup", "scan", "clears the state of a scan"),
    Function("CompactInit", "setup", "select", "clears the state of a selection"),
    Function("ScanByKey", "reduction", "scan by key", "running result for equal keys"),
    Function("DeviceScan", "reduction", "scan", "running result (prefix sum)"),
    Function("UniqueByKey", "gather", "unique", "keeps the first of equal values"),
    Function("Unique", "gather", "unique", "keeps the first of equal values"),
    Function("Select", "gather", "select", "keeps the values that pass a test"),
    Function("Partition", "gather", "partition", "divides values by a test"),
    Function("Histogram", "reduction", "histogram", "counts values in bins"),
    Function("BatchMemcpy", "copy", "batched copy", "copies many buffers"),
    Function("Transform", "elementwise", "transform", "a function of each value"),
    Function("transform", "elementwise", "transform", "a function of each value"),
    Function("for_each", "elementwise", "for each", "a function of each value"),
    Function("static_kernel", "elementwise", "for each", "a function of each value"),
    Function("parallel_for", "elementwise", "for each", "a function of each value"),
    Function("EmptyKernel", "setup", "empty", "does nothing; asks for the device's version"),
)

# rocPRIM has one kernel for all; its algorithm is a template argument.
_ALGORITHMS: Final[tuple[Function, ...]] = (
    Function("init_lookback", "setup", "scan", "clears the state of a scan"),
    Function("partition_impl", "gather", "select", "keeps the values that pass a test"),
    Function("partition", "gather", "select", "keeps the values that pass a test"),
    Function("radix_sort", "sort", "radix sort", "a pass of a radix sort"),
    Function("merge_sort", "sort", "merge sort", "a pass of a merge sort"),
    Function("block_sort", "sort", "merge sort", "sorts within blocks"),
    Function("segmented_reduce", "reduction", "segmented reduce", "reduces many rows"),
    Function("reduce_by_key", "reduction", "reduce by key", "adds values of equal keys"),
    Function("scan_impl", "reduction", "scan", "running result (prefix sum)"),
    Function("scan", "reduction", "scan", "running result (prefix sum)"),
    Function("reduce", "reduction", "reduce", "reduces to one value"),
    Function("transform", "elementwise", "transform", "a function of each value"),
    Function("histogram", "reduction", "histogram", "counts values in bins"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a CUB, Thrust or rocPRIM name apart."""
    if mark in ("rocprim", "hipcub"):
        return read_table(name, "rocPRIM", mark, "AMD's CUB", _ALGORITHMS, where=name.head + name.body[:500])
    # The algorithm is in the function's name, or (Thrust) among its template arguments.
    in_head = any(function.piece in name.head for function in _FUNCTIONS)
    where = name.head if in_head else name.head + name.body[:400]
    return read_table(name, "CUB/Thrust", mark, "CUB and Thrust, NVIDIA's parallel algorithms", _FUNCTIONS, where=where)
