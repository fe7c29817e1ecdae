"""A Ray cluster of two nodes on this machine, in a process of its own: one line of standard input loses the second.

Says the address when both are up. Ends when standard input does.
"""

import sys

from ray.cluster_utils import Cluster

_STORE = 80 * 2**20  # bytes; the least that Ray takes is 75 MB


def _say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main():
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": _STORE, "include_dashboard": False},
    )
    try:
        second = cluster.add_node(num_cpus=1, object_store_memory=_STORE)
        _say(cluster.address)
        if sys.stdin.readline():
            cluster.remove_node(second, allow_graceful=False)
            _say("lost")
            sys.stdin.readline()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
