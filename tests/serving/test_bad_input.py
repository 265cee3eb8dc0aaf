"""Bad images on the real server: each is told why, and nobody else notices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException

from tests.conftest import SAMPLES, RunningServer
from tests.fakes import images
from tests.preprocess.test_decode import request
from tests.serving.clients import PROTOCOLS, Client, connect, outcomes

pytestmark = pytest.mark.server

ROCKET = (SAMPLES / "rocket.jpg").read_bytes()
GOOD = [ROCKET, (SAMPLES / "coffee.png").read_bytes(), images.webp(), images.grey_jpeg()]
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: bytes(8), "empty"),
    "html": (lambda: b"<html>404</html>", "not an image"),
    "gif": (lambda: images.animated("GIF"), "GIF is not accepted"),
    "animated": (lambda: images.animated("WEBP"), "send one frame"),
    "half a jpeg": (lambda: images.truncated(ROCKET, 0.5), "cut short"),
    "half a png": (lambda: images.truncated(images.png(), 0.5), "truncated"),
    "damaged": (lambda: GOOD[1][:20_000] + bytes(2_000) + GOOD[1][22_000:], "damaged"),
    "bomb": (images.bomb_png, "too large"),
    "sliver": (lambda: images.png_of(1, 4000), "too narrow"),
}


def good_answers(client: Client) -> list[np.ndarray]:
    return [client.infer("ensemble", request(image))["SCORE"] for image in GOOD]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_image_fails_alone_and_is_told_why(
    server: RunningServer, protocol: str, kind: str
) -> None:
    make, says = BAD[kind]
    with connect(server, protocol) as client:
        expected = good_answers(client)
        arrays = [request(image) for image in (GOOD[0], GOOD[1], make(), GOOD[2], GOOD[3])]
        results = outcomes(client, "ensemble", arrays)
        bad = results.pop(2)
        assert isinstance(bad, InferenceServerException)
        assert bad.status() in ("StatusCode.INVALID_ARGUMENT", "400")
        assert says in bad.message()
        for got, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(got["SCORE"], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_of_several_names_the_bad_one(server: RunningServer, protocol: str) -> None:
    several = request(GOOD[0], GOOD[1], b"<html>404</html>")
    said = pytest.raises(InferenceServerException, match="image 3 of 3: not an image")
    with connect(server, protocol) as client, said:
        client.infer("ensemble", several)


def test_two_in_a_hundred_bad_ones_hurt_nobody_under_load(server: RunningServer) -> None:
    random = np.random.default_rng(0)
    makers = [make for make, _ in BAD.values()]
    numbers = random.integers(len(GOOD), size=300)
    is_bad = random.random(300) < 0.02
    assert is_bad.any()
    with connect(server, "grpc") as client:
        expected = good_answers(client)
        arrays = [
            request(makers[int(random.integers(len(makers)))]() if bad else GOOD[number])
            for number, bad in zip(numbers, is_bad, strict=True)
        ]
        for start in range(0, 300, 20):
            results = outcomes(client, "ensemble", arrays[start : start + 20])
            for at, result in enumerate(results, start):
                assert isinstance(result, InferenceServerException) == is_bad[at], result
                if not is_bad[at]:
                    wanted = expected[numbers[at]]
                    np.testing.assert_allclose(result["SCORE"], wanted, rtol=1e-4, atol=1e-6)
