"""`foretrace share`: upload traces into a Hub bucket with trace-util, and print Perfetto links to them."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["command"]


@click.command(name="share")
@click.argument("traces", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--bucket", "-b", required=True, help="Name of the bucket; trace-util asks before it makes a new one.")
@click.option("--namespace", "-n", help="Whose bucket. [default: your own]")
def command(*, traces: tuple[Path, ...], bucket: str, namespace: str | None) -> None:
    """Upload TRACES (files, or folders of traces) into a bucket of the Hugging Face Hub and print links to open them.

    Anyone who can read the bucket can open them. It takes the package trace-util and a login:
    pip install "foretrace[hub]", then hf auth login.
    """
    from foretrace.report.share import share  # noqa: PLC0415 - `--help` needs none of it

    for link in share(traces, bucket, namespace=namespace):
        click.echo(link)
