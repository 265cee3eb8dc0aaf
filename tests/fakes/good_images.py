"""A file of each kind that the guard accepts and DALI decodes right, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from preprocess.headers import MAX_CHUNKS
from preprocess.jpeg import MAX_SCANS
from tests.fakes import images as fake
from tests.fakes.images import HEIGHT, WIDTH

# name: factory, format; all of HEIGHT x WIDTH
GOOD: dict[str, tuple[Callable[[], bytes], str]] = {
    "baseline": (fake.jpeg, "JPEG"),
    "progressive": (fake.progressive_jpeg, "JPEG"),
    "grey JPEG": (fake.grey_jpeg, "JPEG"),
    "CMYK": (fake.cmyk_jpeg, "JPEG"),
    "YCCK": (fake.ycck_jpeg, "JPEG"),
    "restart markers": (fake.restart_jpeg, "JPEG"),
    "restart rows": (partial(fake.jpeg, restart_marker_rows=1), "JPEG"),
    "restart markers, grey": (partial(fake.jpeg, mode="L", restart_marker_blocks=3), "JPEG"),
    "extended sequential": (partial(fake.jpeg_of_flavour, 0xC1), "JPEG"),
    "optimised": (partial(fake.jpeg, optimize=True), "JPEG"),
    "worst quality": (partial(fake.jpeg, quality=1, optimize=True), "JPEG"),
    **{
        f"chroma {factor}": (partial(fake.subsampled_jpeg, factor), "JPEG")
        for factor in ("411", "420", "422", "440", "444")
    },
    "EXIF thumbnail": (fake.jpeg_with_thumbnail, "JPEG"),
    "fill bytes": (lambda: fake.before_marker(fake.jpeg(), 0xC0, b"\xff" * 9), "JPEG"),
    "empty segment": (lambda: fake.behind_soi(fake.jpeg(), fake.segment(0xFE)), "JPEG"),
    "as many scans as allowed": (partial(fake.jpeg_of_scans, MAX_SCANS), "JPEG"),
    "another JPEG behind": (lambda: fake.jpeg() + fake.jpeg(16, 16), "JPEG"),
    "video behind": (lambda: fake.jpeg() + b"\0\0\0\x18ftypmp42" * 50, "JPEG"),
    **{
        f"EXIF {value} in {kind}": (
            partial(fake.exif_oriented, value, kind),
            kind,
        )
        for kind in ("JPEG", "PNG", "WEBP")
        for value in range(1, 9)
    },
    **{
        f"PNG {mode}": (partial(fake.png, mode), "PNG")
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
    },
    **{
        f"PNG type {colour}, {depth} bits": (
            partial(fake.png_of, HEIGHT, WIDTH, depth, colour),
            "PNG",
        )
        for colour, depth in [(0, 2), (0, 4), (2, 16), (3, 1), (3, 4), (4, 16), (6, 16)]
    },
    "PNG with transparency": (partial(fake.png, "P", transparency=3), "PNG"),
    "PNG in many chunks": (
        lambda: fake.in_png(fake.png(), fake.chunk(b"tEXt", b"a\0b") * (MAX_CHUNKS - 10)),
        "PNG",
    ),
    "WebP lossy": (fake.webp, "WEBP"),
    "WebP lossless": (partial(fake.webp, lossless=True), "WEBP"),
    "WebP lossy with alpha": (partial(fake.webp, "RGBA"), "WEBP"),
    "WebP lossless with alpha": (partial(fake.webp, "RGBA", lossless=True), "WEBP"),
    "WebP with a hint to scale": (
        lambda: fake.changed(fake.webp(), 27, bytes([fake.webp()[27] | 0x40])),
        "WEBP",
    ),
    "WebP with an odd chunk": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT, WIDTH), (b"ODD ", b"x"), fake.webp_picture()),
        "WEBP",
    ),
    "WebP canvas": (
        lambda: fake.riff(fake.webp_canvas(HEIGHT, WIDTH), fake.webp_picture()),
        "WEBP",
    ),
    **{f"BMP {mode}": (partial(fake.bmp, mode), "BMP") for mode in ("1", "L", "P", "RGB")},
    "BMP RGBA": (partial(fake.bmp, "RGBA"), "BMP"),
    **{
        f"BMP {bits} bits": (partial(fake.bmp_of, HEIGHT, WIDTH, bits), "BMP")
        for bits in (1, 4, 8, 24, 32)
    },
    **{
        f"BMP header of {size}": (
            partial(fake.bmp_of, HEIGHT, WIDTH, header_bytes=size),
            "BMP",
        )
        for size in (12, 40, 52, 56, 64, 108, 124)
    },
    "BMP bit masks": (partial(fake.bmp_of, HEIGHT, WIDTH, 32, compression=3), "BMP"),
    "BMP top-down": (partial(fake.bmp_of, -HEIGHT, WIDTH), "BMP"),
    "BMP RLE8": (partial(fake.bmp_of, HEIGHT, WIDTH, 8, compression=1), "BMP"),
}
