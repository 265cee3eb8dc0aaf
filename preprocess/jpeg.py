"""JPEG headers: size, flavour, and whether the picture's data go on to their end.

The segments are walked by their lengths, as a decoder does, so a thumbnail inside one of them is
never taken for the picture. Entropy-coded data are at most searched for the next marker.

A cut JPEG can become pixels in silence: fed with its exact bytes DALI 2.4 fails, but with zeros or
an end marker behind the cut the rest comes out grey. So the data are also counted: too few for the
picture, restart intervals that are missing and scans that never came are refused here, and
``trial_endings`` lets the decoder prove a file that lost only its end marker. What is left to the
decoder is a cut file that someone closed with an end marker, and damage inside a scan.

Source: ITU-T T.81, B.1.1 (markers), B.2 (headers), G.1.1.1 (progressive scans).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ensemble.errors import InvalidInput
from preprocess.headers import CheckSize, Header, refusal, truncated

MAX_SEGMENTS = 4096  # before one scan; 32 MiB of segments of the greatest length are 512
MAX_SCANS = 100  # encoders write about 10; each costs one pass over all coefficients
MAX_SCAN_PIXELS = 500_000_000  # scans x pixels: about a second of one core
MIN_SCANS = 10  # what encoders write, whatever the size
MAX_FILL = 4096  # bytes FF before a marker, which the standard allows

Bytes = npt.NDArray[np.uint8]

_SOF2, _EOI, _SOS, _DRI, _APP1, _APP14 = 0xFFC2, 0xFFD9, 0xFFDA, 0xFFDD, 0xFFE1, 0xFFEE
_WITH_LENGTH = {*range(0xFFC0, 0xFFFF)} - {*range(0xFFD0, 0xFFDA)}
_PASSED = {0xFFC4, 0xFFDB, 0xFFDC, 0xFFFE, *range(0xFFE0, 0xFFEE), 0xFFEF}  # DHT DQT DNL COM APPn
_FRAMES = {0xFFC0, 0xFFC1, _SOF2}  # baseline, extended sequential, progressive
_UNSUPPORTED = {
    0xFFC3: "lossless",
    0xFFC9: "arithmetic-coded",
    0xFFCA: "arithmetic-coded progressive",
    0xFFCB: "arithmetic-coded lossless",
    0xFFF7: "near-lossless (JPEG-LS)",
    **dict.fromkeys((0xFFC5, 0xFFC6, 0xFFC7, 0xFFDE), "hierarchical"),
    **dict.fromkeys((0xFFCD, 0xFFCE, 0xFFCF), "arithmetic-coded hierarchical"),
}
_END = b"\xff\xd9"
_FACTORS = {h << 4 | v for h in range(1, 5) for v in range(1, 5)}
_MARKER_AND_LENGTH = struct.Struct(">HH").unpack_from
_FRAME = struct.Struct(">BHHB").unpack_from
_ALL_COEFFICIENTS = (1 << 64) - 1
_BYTE_FF, _BYTE_00, _BYTE_D0, _BYTE_F8 = (np.uint8(byte) for byte in (0xFF, 0x00, 0xD0, 0xF8))


@dataclass
class _Picture:
    """What the segments said so far; no components before the frame header."""

    progressive: bool = False
    height: int = 0
    width: int = 0
    components: bytes = b""  # the identifier of each
    sampling: bytes = b""  # of each: horizontal << 4 | vertical
    missing: list[int] = field(default_factory=list)  # of each: a bit a coefficient still to come
    restart_interval: int = 0  # minimum coded units
    adobe: bool = False
    scans: int = 0
    data_start: int = 0  # of the first scan
    data_stop: int = 0  # of the last scan


def read_jpeg(data: memoryview, check_size: CheckSize) -> Header:
    """The header of a JPEG whose first scan has begun; raises ``InvalidInput``."""
    picture = _Picture()
    array = np.frombuffer(data, np.uint8)
    at = _until_scan(picture, data, 2, check_size)
    _check_frame(picture)
    while at < len(data) and data[at + 1] != 0xD9:  # the end marker
        pixels = picture.height * picture.width
        if picture.scans >= min(MAX_SCANS, max(MIN_SCANS, MAX_SCAN_PIXELS // pixels)):
            raise refusal("JPEG", f"at most {picture.scans} scans of {pixels} pixels", "more")
        start = _read_scan(picture, data, at)
        at = _end_of_scan(picture, array, start)
        picture.scans += 1
        picture.data_start = picture.data_start or start
        picture.data_stop = at
        if at < len(data) and data[at + 1] != 0xD9:
            at = _until_scan(picture, data, at, check_size)
    return _verdict(picture, array, at)


def trial_endings(data: Bytes, header: Header) -> tuple[Bytes, Bytes]:
    """The file of an incomplete header twice, with two different endings.

    Pixels that differ came from beyond the end of the data, so the file was cut. Equal pixels mean
    that only the end marker is missing.

    Args:
        data: (bytes,) uint8, as given to ``inspect``.
        header: what ``inspect`` returned for it, ``complete`` False.
    """
    kept = data[: header.end]
    end = np.frombuffer(_END, np.uint8)
    noise = np.tile(np.array([0x55, 0xAA, 0x33, 0xCC], np.uint8), 8)
    return np.concatenate([kept, end]), np.concatenate([kept, noise, end])


def exif_of_jpeg(data: memoryview) -> memoryview:
    """The EXIF data of a JPEG that ``read_jpeg`` has taken; empty where it has none."""
    at = marker = 2
    while marker != _SOS:
        at, marker, stop = _segment(data, at)
        if marker == _APP1 and bytes(data[at + 4 : at + 10]) == b"Exif\0\0":
            return data[at + 10 : stop]
        at = stop
    return data[:0]


def _until_scan(picture: _Picture, data: memoryview, at: int, check_size: CheckSize) -> int:
    """Offset of the next SOS or EOI marker; what stands before it goes into ``picture``."""
    last = len(data) - 4
    for _ in range(MAX_SEGMENTS):
        if at <= last:
            marker, length = _MARKER_AND_LENGTH(data, at)
            if length >= 2 and marker in _PASSED:
                at += 2 + length
                continue
        at, marker, stop = _segment(data, at)
        if marker in (_SOS, _EOI):
            return at
        if marker in _FRAMES:
            _read_frame(picture, marker, data[at + 4 : stop], check_size)
        elif marker == _DRI and stop - at == 6:
            picture.restart_interval = data[at + 4] << 8 | data[at + 5]
        elif marker == _APP14:
            picture.adobe |= bytes(data[at + 4 : at + 9]) == b"Adobe"
        elif marker not in _PASSED:
            what = f"{_UNSUPPORTED[marker]} JPEG" if marker in _UNSUPPORTED else "damaged JPEG"
            expected = "baseline, extended or progressive Huffman coding"
            raise refusal(what, expected, f"marker {marker:04X} at byte {at}")
        at = stop
    raise refusal("JPEG", f"at most {MAX_SEGMENTS} segments before a scan", "more")


def _segment(data: memoryview, at: int) -> tuple[int, int, int]:
    """Offset of the marker at ``at``, past fill bytes; the marker; one past its segment."""
    if at + 4 <= len(data):
        marker, length = _MARKER_AND_LENGTH(data, at)
        stop = at + 2 + length
        if marker in _WITH_LENGTH and length >= 2 and stop <= len(data):
            return at, marker, stop
    return _odd_segment(data, at)


def _odd_segment(data: memoryview, at: int) -> tuple[int, int, int]:
    """The same for fill bytes and for markers without a length; raises for what is damaged."""
    if at + 2 > len(data):
        raise _cut(data)
    marker = data[at] << 8 | data[at + 1]
    if marker == 0xFFFF:
        for fill in range(at + 1, min(at + MAX_FILL, len(data) - 1)):
            if data[fill + 1] != 0xFF:
                return _segment(data, fill)
        raise refusal("damaged JPEG", f"a marker behind at most {MAX_FILL} bytes FF", "none")
    if marker < 0xFF00:
        raise refusal("damaged JPEG", f"a marker at byte {at}", f"{marker:04X}")
    if marker not in _WITH_LENGTH:
        return at, marker, at + 2
    if at + 4 > len(data) or (length := data[at + 2] << 8 | data[at + 3]) >= 2:
        raise _cut(data)
    raise refusal("damaged JPEG", "a segment of at least 2 bytes", f"{length} at byte {at}")


def _cut(data: memoryview) -> InvalidInput:
    return truncated("JPEG", "a whole segment", f"the end of the data at byte {len(data)}")


def _read_frame(picture: _Picture, marker: int, body: memoryview, check_size: CheckSize) -> None:
    """Take in a SOF segment: B.2.2."""
    if picture.components:
        raise refusal("damaged JPEG", "one frame header", "two")
    if len(body) < 6 or len(body) != 6 + 3 * body[5]:
        raise refusal("damaged JPEG", "a frame header as long as its components need", len(body))
    precision, picture.height, picture.width, count = _FRAME(body)
    check_size("JPEG", picture.height, picture.width)
    if precision != 8:
        raise refusal(f"{precision}-bit JPEG", "8 bits a sample", precision)
    if count not in (1, 3, 4):
        raise refusal("JPEG", "1, 3 or 4 components", count)
    picture.progressive = marker == _SOF2
    picture.components = bytes(body[6::3])
    picture.sampling = bytes(body[7::3])
    picture.missing = [_ALL_COEFFICIENTS] * count
    if not _FACTORS.issuperset(picture.sampling):
        raise refusal("damaged JPEG", "sampling factors of 1 to 4", picture.sampling.hex(" "))


def _check_frame(picture: _Picture) -> None:
    """Refuse a picture that can't be decoded for what stands before its first scan."""
    if not picture.components:
        raise refusal("damaged JPEG", "a frame header before the first scan", "none")
    if len(picture.components) == 4 and not picture.adobe:
        raise refusal("CMYK JPEG", "an Adobe marker, which says whether 0 is no ink", "none")


def _read_scan(picture: _Picture, data: memoryview, at: int) -> int:
    """Take in a SOS segment, B.2.3; the offset of the scan's data."""
    _, _, stop = _segment(data, at)
    selectors = bytes(data[at + 5 : stop - 3 : 2])
    if not 1 <= len(selectors) <= 4 or stop - at != 8 + 2 * data[at + 4]:
        raise refusal("damaged JPEG", "a scan header as long as its components need", stop - at)
    sent = _ALL_COEFFICIENTS
    if picture.progressive:
        first, last, low_bit = data[stop - 3], data[stop - 2], data[stop - 1] & 15
        sent = (2 << last) - (1 << first) if low_bit == 0 and first <= last < 64 else 0
    for selector in selectors:
        index = picture.components.find(selector)
        if index < 0:
            raise refusal("damaged JPEG", f"components {list(picture.components)}", selector)
        picture.missing[index] &= ~sent
    return stop


def _end_of_scan(picture: _Picture, array: Bytes, start: int) -> int:
    """Offset of the marker that ends the scan's data at ``start``, or the length of the array.

    The usual file, one scan up to an end marker as last bytes, is not searched: that would double
    the time of the guard.
    """
    one_scan = not picture.progressive and not any(picture.missing)
    if one_scan and array[-2:].tobytes() == _END:
        return len(array) - 2
    block = 1 << 13 if picture.progressive else 1 << 17
    while start < len(array) - 1:
        stop = min(start + block, len(array) - 1)
        behind = array[start + 1 : stop + 1]
        found = (array[start:stop] == _BYTE_FF) & (behind > _BYTE_00)
        first = int(found.argmax())
        if found[first] and (behind[first] == 0xFF or 0xD0 <= behind[first] < 0xD8):
            found &= (behind & _BYTE_F8 != _BYTE_D0) & (behind != _BYTE_FF)
            first = int(found.argmax())
        if found[first]:
            return start + first
        start = stop
        block = min(2 * block, 1 << 18)
    return len(array)


def _verdict(picture: _Picture, array: Bytes, at: int) -> Header:
    """The header, when the data can hold the picture; ``at`` is the end marker, or the length."""
    ended = at < len(array)
    covered = not any(picture.missing)
    if not covered and not (ended and picture.progressive and picture.scans):
        raise truncated("JPEG", "scans for all of the picture", "the end before the last one")
    stop = picture.data_stop if ended else _end_of_data(array, picture.data_start)
    _check_amount(picture, array[picture.data_start : stop])
    whole = ended and covered
    return Header("JPEG", picture.height, picture.width, whole, at + 2 if whole else stop)


def _end_of_data(array: Bytes, start: int) -> int:
    """One past the last byte that is not padding."""
    stop = len(array)
    while stop > start:
        block = max(start, stop - (1 << 16))
        used = np.flatnonzero(array[block:stop])
        if len(used):
            stop = block + int(used[-1]) + 1
            stuffed = array[stop - 1] == 0xFF and stop < len(array)  # FF 00 is one value
            return stop + 1 if stuffed else stop
        stop = block
    return start


def _check_amount(picture: _Picture, scans: Bytes) -> None:
    """Refuse scans that are shorter than the least that the picture takes.

    A block is at least one bit for its DC coefficient and, unless another scan has them, one for
    the others. Restart markers can be counted only where one scan has all components.
    """
    count = len(picture.components)
    most = count * -(-picture.height // 8) * -(-picture.width // 8)  # blocks, nothing subsampled
    if not picture.restart_interval and 4 * len(scans) >= most:
        return
    factors = [(byte >> 4, byte & 15) for byte in picture.sampling]
    widest = 8 * max(h for h, _ in factors)
    highest = 8 * max(v for _, v in factors)
    blocks = sum(
        -(-picture.width * h // widest) * -(-picture.height * v // highest) for h, v in factors
    )
    need = -(-blocks * (1 if picture.progressive else 2) // 8)
    if len(scans) < need:
        raise truncated("JPEG", f"at least {need} bytes of picture data", f"{len(scans)} bytes")
    if picture.restart_interval and picture.scans == 1 and not picture.progressive:
        units = -(-picture.width // widest) * -(-picture.height // highest)
        need = -(-(units if count > 1 else blocks) // picture.restart_interval) - 1
        if (got := _count_restarts(scans)) < need:
            raise truncated("JPEG", f"{need} restart markers", got)


def _count_restarts(scans: Bytes) -> int:
    count = 0
    for start in range(0, len(scans) - 1, 1 << 18):
        behind = scans[start + 1 : start + 1 + (1 << 18)]
        here = scans[start : start + len(behind)]
        count += int(np.count_nonzero((here == _BYTE_FF) & (behind & _BYTE_F8 == _BYTE_D0)))
    return count
