"""The rules of each release against that release's own answers, over architectures and cuDNN releases."""

from collections import Counter, defaultdict

import answers
import pytest

from foretrace.analysis.dispatch.decide import dispatch
from foretrace.analysis.dispatch.releases import RELEASES

CALLS, ANSWERS = answers.load()
BY_RELEASE = defaultdict(list)
for _each in ANSWERS:
    BY_RELEASE[".".join(_each["torch"].split(".")[:2])].append(_each)

# What a backend's own code raises after it was chosen is no answer of these checks.
RAISED = ("mask_dtype", "other")


def test_every_release_was_asked():
    assert set(BY_RELEASE) == {release.name for release in RELEASES}


@pytest.mark.parametrize("name", [release.name for release in RELEASES])
def test_the_rules_of_a_release(name):
    wrong, asked = Counter(), 0
    for answer in BY_RELEASE[name]:
        arch = answers.architecture(answer["device"])
        for at, call in enumerate(CALLS):
            if call.query.dtype != call.key.dtype:
                continue  # refused before any backend is asked
            said = answer["rows"][4 * at : 4 * at + 4]
            found = dispatch(call, arch, release=name, cudnn=answer["cudnn"])
            for backend, letter in zip(answers.BACKENDS, said, strict=False):
                # Later releases lift three dimensions to four before they ask a backend; asked itself, it refuses.
                if letter == answers.UNSAID or not call.is_4d:
                    continue
                asked += 1
                expected, reason = answers.REASONS[letter], found.backends[backend].reason
                if reason != expected and not (backend == "efficient" and expected is None and reason in RAISED):
                    wrong[backend, expected, reason] += 1
            if said[3] != answers.UNSAID and found.backend != "error":
                asked += 1
                expected = answers.CHOICES[said[3]]
                if found.backend != expected:
                    wrong["choice", expected, found.backend] += 1
    assert asked > 5000
    assert not wrong
