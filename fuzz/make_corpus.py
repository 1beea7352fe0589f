#!/usr/bin/env python3
"""Writes the seeds under fuzz/corpus/: small valid files of every format, and the mistakes worth starting from.

    python3 fuzz/make_corpus.py

Plain Python, and the same bytes every time, so that a change of the seeds is a readable change of this file. Inputs that a
fuzzer found are kept beside the seeds as found-*, which this script leaves alone.
"""
import gzip
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"
MASK = (1 << 64) - 1


def gz(data):
    return gzip.compress(data, mtime=0)


def npy(descr, shape, data, fortran=False, version=1, header=None):
    text = header or "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    length = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + b"\n" + data


def npy_seeds():
    numbers = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
               "f2": "e", "f4": "f", "f8": "d"}
    for descr, code in numbers.items():
        order = "|" if descr[1] == "1" else "<"
        yield descr, npy(order + descr, (2, 3), struct.pack("<6" + code, *range(6)))
    six = struct.pack("<6f", *range(6))
    yield "big-endian", npy(">f4", (2, 3), struct.pack(">6f", *range(6)))
    yield "fortran", npy("<f4", (2, 3), six, fortran=True)
    yield "fortran-gz", gz(npy("<f4", (2, 3), six, fortran=True))
    yield "fortran-3d", npy("|u1", (2, 2, 2), bytes(range(8)), fortran=True)
    yield "images-grey", npy("|u1", (3, 4, 4), bytes(range(48)))
    yield "images-chw", npy("|u1", (2, 3, 4, 4), bytes(range(96)))
    yield "images-hwc", npy("|u1", (2, 4, 4, 3), bytes(range(96)))
    yield "vector", npy("<i8", "(4,)", struct.pack("<4q", 0, 1, -1, 2))
    yield "scalar", npy("<f4", "()", struct.pack("<f", 1))
    yield "empty", npy("<f4", (0, 3), b"")
    yield "version-2", npy("<f4", (2, 3), six, version=2)
    yield "version-3", npy("<f4", (2, 3), six, version=3)
    yield "gz", gz(npy("<f4", (2, 3), six))
    yield "gz-two-members", gz(npy("<f4", (2, 3), six)[:40]) + gz(npy("<f4", (2, 3), six)[40:])
    yield "text-u", npy("<U2", "(3,)", "a\0bcb\0".encode("utf-32-le"))
    yield "text-u-big", npy(">U1", "(2,)", "xé".encode("utf-32-be"))
    yield "text-s", npy("|S2", "(3,)", b"a\0bcb\0")
    yield "bad-text-wide", npy("|S99999999999", "(0,)", b"")  # found: believed before anything was read
    yield "bad-text-wide-gz", gz(npy("|S200000000", "(1,)", b"abc"))
    yield "nan", npy("<f4", (2, 1), struct.pack("<2f", 1, float("nan")))
    yield "bad-short", npy("<f4", (2, 3), six[:-1])
    yield "bad-long", npy("<f4", (2, 3), six + b"x")
    yield "bad-huge", npy("<f4", (1 << 40, 3), six)
    yield "bad-huge-gz", gz(npy("<f4", (1 << 40, 3), six))
    yield "bad-overflow", npy("<f8", (1 << 61, 3), six)
    yield "bad-record", npy("", "", six, header="{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}")
    yield "bad-complex", npy("<c8", (2, 3), six)
    yield "bad-object", npy("|O", (2, 3), six)
    yield "bad-key", npy("", "", six, header='{"descr": "<f4", "order": False, "shape": (2, 3)}')
    yield "bad-header", npy("", "", six, header="{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, -3)}")
    yield "bad-version", b"\x93NUMPY\x09\x00\x02\x00{}"


def csv_seeds():
    labels, header_yes, header_no, limit, properties, ignore, tsv, pieces = 1, 2, 6, 8, 16, 32, 64, 128
    yield "plain", b"\0" b"1,2,3\n4,5,6\n7,8,9\n"
    yield "header", b"\0" b"a,b,c\n1,2,3\n4,5,6\n"
    yield "header-yes", bytes([header_yes]) + b"1,2\n3,4\n5,6\n"
    yield "header-no", bytes([header_no]) + b"1,2\n3,4\n"
    yield "labels", bytes([labels]) + b"kind,x,y\ncat,1,2\ndog,3,4\ncat,5,6\n"
    yield "labels-numbers", bytes([labels]) + b"3,1.5\n-1,2.5\n10,3.5\n,4.5\n"
    yield "limit", bytes([limit]) + b"1,2\n3,4\n5,6\n"
    yield "roles", bytes([labels | properties | ignore]) + b"l,p,i,x\n1,.5,?,2\n2,1e3,?,-2\n"
    yield "tabs", bytes([tsv]) + b"a\tb\n1\t2\n3\t4\n"
    yield "semicolons", b"\0" b"1;2\r\n3;4\r\n"
    yield "spaces", b"\0" b"1   2 3\n 4 5 6\n"
    yield "one-column", b"\0" b"1\n2\n\n3"
    yield "quotes", b"\0" b'"a ""b""","c\nd"\n"1","2"\n3,4\n'
    yield "bom-cr", b"\0" b"\xef\xbb\xbfx,y\r1,2\r3,4\r"
    yield "numbers", b"\0" b"+1,-2.5e-3,1e38,0x1p3\n.5,5.,1e-320,00\n"
    yield "pieces", bytes([pieces]) + b'a,"b ""c""",d\r\n1.25,"2",3\r\n-4,5e-1,6\n'
    yield "gz", b"\0" + gz(b"1,2,3\n4,5,6\n")
    yield "bad-ragged", b"\0" b"1,2\n3\n"
    yield "bad-text", b"\0" b"1,2\n3,x\n"
    yield "bad-empty-cell", b"\0" b"1,2\n3,\n"
    yield "bad-nan", b"\0" b"1,nan\ninf,1e99\n"
    yield "bad-quote", b"\0" b'"open,1\n2,3\n'
    yield "bad-labels-only", bytes([labels]) + b"1\n2\n"
    yield "bad-header-only", bytes([header_yes]) + b"a,b\n"
    yield "bad-gz", b"\0" + gz(b"1,2,3\n4,5,6\n")[:-9]
    yield "bad-wide-gz", b"\0" + gz(b"," * 2_000_000)  # found: 32 bytes of memory for each empty cell


def idx(code, dims, data):
    return bytes([0, 0, code, len(dims)]) + struct.pack(">%dI" % len(dims), *dims) + data


def idx_seeds():
    for name, code, letter in [("u8", 8, "B"), ("i8", 9, "b"), ("i16", 11, "h"), ("i32", 12, "i"), ("f32", 13, "f"),
                               ("f64", 14, "d")]:
        yield name, idx(code, [2, 3], struct.pack(">6" + letter, *range(6)))
    yield "images", idx(8, [2, 4, 4], bytes(range(32)))
    yield "images-gz", gz(idx(8, [2, 4, 4], bytes(range(32))))
    yield "images-colour", idx(8, [2, 4, 4, 3], bytes(range(96)))
    yield "labels", idx(8, [5], bytes(range(5)))
    yield "bad-type", idx(7, [2, 3], bytes(6))
    yield "bad-short", idx(8, [2, 3], bytes(5))
    yield "bad-long", idx(8, [2, 3], bytes(7))
    yield "bad-no-dims", idx(8, [], b"")
    yield "bad-huge", idx(14, [0xFFFFFFFF] * 2, bytes(8))
    yield "bad-huge-gz", gz(idx(14, [0xFFFFFFFF] * 2, bytes(8)))
    yield "bad-overflow", idx(14, [0xFFFFFFFF] * 9, bytes(8))
    yield "bad-many-dims", idx(8, [1] * 255, bytes(1))


def cifar_seeds():
    def record(label):
        return bytes([label]) + bytes(i % 251 for i in range(3072))
    yield "one", record(3)
    yield "two", record(0) + record(9)
    yield "gz", gz(record(1) + record(2) + record(3))
    yield "bad-class", record(1) + record(10)
    yield "bad-short", record(1)[:100]
    yield "bad-short-gz", gz(record(1) + record(2)[:100])
    yield "bad-empty", b""
    yield "bad-empty-gz", gz(b"")


def tensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def hashed(before, data):
    """As src/base/hash.cpp, of less than a megabyte."""
    def mix(x):
        x = (x + 0x9E3779B97F4A7C15) & MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        return x ^ x >> 31
    result, part = mix(before ^ len(data)), 0
    for at in range(0, len(data), 8):
        part = mix(part ^ int.from_bytes(data[at:at + 8], "little"))
    return mix(result ^ part) if data else result


def with_checksum(metadata, entries, data):
    """A tensor file with the checksum of src/model/tensor_view.cpp."""
    total = 0
    for text in (text for pair in sorted(metadata.items()) for text in pair):
        total = hashed(total, text.encode())
    for name, (dtype, shape, begin, end) in sorted(entries.items()):
        for part in (name.encode(), dtype.encode(), struct.pack(f"<{len(shape)}Q", *shape), data[begin:end]):
            total = hashed(total, part)
    header = {"__metadata__": {**metadata, "cpfm.checksum": f"{total:016x}"}}
    return tensors({**header, **{name: entry(*of) for name, of in entries.items()}}, data)


def tensor_file_seeds():
    sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
    for dtype, size in sizes.items():
        yield dtype.lower(), tensors({"t": entry(dtype, [2, 3], 0, 6 * size)}, bytes(range(6 * size)))
    version = {"cpfm.format_version": "1", "cpfm.kind": "model"}
    yield "model", tensors({"__metadata__": version, "net.0.weight": entry("F32", [2, 2], 0, 16),
                            "net.0.bias": entry("F32", [2], 16, 24), "mask": entry("BOOL", [3], 24, 27)}, bytes(27))
    checked = with_checksum(version, {"a": ("F32", [2, 3], 0, 24), "b": ("U8", [3], 24, 27), "c": ("I64", [0], 27, 27)},
                            bytes(range(27)))
    yield "checksum", checked
    yield "bad-checksum", checked[:-1] + b"x"
    yield "scalar", tensors({"t": entry("F64", [], 0, 8)}, bytes(8))
    yield "empty", tensors({})
    yield "zero-size", tensors({"a": entry("F32", [0], 0, 0), "b": entry("U8", [4], 0, 4), "c": entry("I64", [3, 0], 4, 4)},
                               bytes(4))
    yield "padded", tensors(b'{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}      ', b"x")
    yield "escapes", tensors(b'{"\\u00e9\\ud83d\\ude00\\n":{"shape":[0],"dtype":"U8","data_offsets":[0,0]}}')
    yield "bad-version", tensors({"__metadata__": {"cpfm.format_version": "2"}})
    yield "bad-metadata", tensors({"__metadata__": {"a": 1}})
    yield "bad-gap", tensors({"t": entry("U8", [2], 1, 3)}, bytes(3))
    yield "bad-overlap", tensors({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, bytes(3))
    yield "bad-trailing", tensors({"t": entry("U8", [2], 0, 2)}, bytes(3))
    yield "bad-backwards", tensors({"t": entry("U8", [2], 2, 0)}, bytes(2))
    yield "bad-overflow", tensors({"t": entry("F64", [1 << 32, 1 << 32], 0, 0)})
    yield "bad-dtype", tensors({"t": entry("F8", [2], 0, 2)}, bytes(2))
    yield "bad-shape", tensors({"t": entry("U8", [-2, 1.5, 1 << 64], 0, 2)}, bytes(2))
    yield "bad-twice", tensors(b'{"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"t":{"dtype":"U8"}}')
    yield "bad-deep", tensors(b'{"t":' + b'[' * 100 + b']' * 100 + b'}')
    yield "bad-utf8", tensors(b'{"\xff\xfe":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}')
    yield "bad-length", struct.pack("<Q", 1 << 63) + b"{}"
    yield "bad-short", b"\x02\0\0"


def selfies_seeds():
    text = b"\0"
    yield "text-ring", text + b"[C][=C][C][=C][C][=C][Ring1][=Branch1]"
    yield "text-acid", text + b"[N][C@@H1][Branch1][C][C][C][=Branch1][C][=O][O]"
    yield "text-sides", text + b"[C][=C][/C][C][C][C][C][C][/-Ring1][Branch2].[Na+1].[13CH4]"
    yield "text-padding", text + b"[nop][C][epsilon][O][nop]"
    yield "bad-symbol", text + b"[C][Xx]"
    yield "bad-open", text + b"[C][O"
    yield "bad-outside", text + b"[C]O"
    # Symbols of the target's table: carbon 0, branches from 40 on, rings from 48 on, the dot 62.
    symbols = b"\1"
    yield "ring", symbols + bytes([0, 1, 0, 1, 0, 1, 48, 41])
    yield "branches", symbols + bytes([0, 40, 1, 0, 3, 41, 0, 7, 6, 24, 43, 48, 0] + [0] * 20 + [48, 4])
    yield "rings", symbols + bytes([32] + [0, 0, 48, 48] * 12 + [62, 0, 0, 49, 0])
    yield "all", symbols + bytes(range(64))
    yield "all-back", symbols + bytes(range(63, -1, -1))


def smiles_seeds():
    seeds = {"chain": "CCO", "branches": "CC(C)(C(=O)O)C#N", "ring": "C1=CC=CC=C1", "rings": "C12CC%11CC1CC2%11",
             "big-number": "C%(123)CC%(123)", "charges": "[O-]C(=O)C[NH3+].[Na+].[Ca++]", "isotope": "[13CH4].[2H]O",
             "sides": "F/C=C/F.F/C=C\\F.C/1=C/CCCCCC1", "chirality": "N[C@@H](C)C(=O)O.N[C@](F)1CCO1",
             "class": "[CH3:7]-C", "metal": "F[Fe](F)(F)(F)(F)F", "bonds": "C=1CC1.S(=O)(=O)(O)O.P#N", "dots": "C1.C1",
             "aromatic": "c1ccccc1", "bad-bonds": "FC(F)(F)(F)F", "bad-ring": "C1CC", "bad-open": "C(", "bad-end": "C.",
             "bad-twice": "C1C1", "bad-class": "[C@TH1]", "bad-bracket": "C[NH"}
    return ((name, text.encode()) for name, text in seeds.items())


def molecule_rows_seeds():
    table, tsv, smi, sdf = 0, 1, 2, 3
    first, header_yes, header_no, limit, mu, kind = 4, 8, 24, 32, 64, 128
    yield "table", bytes([table]) + b"id,smiles\n1,CCO\n2,c1ccccc1\n"
    yield "table-columns", bytes([table | mu | kind]) + b"Canonical_SMILES,mu,kind\nCCO,1.5,a\nC,,b\n\nN,x,\n"
    yield "table-number", bytes([table | first]) + b"CCO,1\nC1CC,2\n,3\n"
    yield "table-header", bytes([table | first | header_yes]) + b"C,mu\nCC,1\n"
    yield "table-no-header", bytes([table | first | header_no | limit]) + b'"C(C)",1\r\n" N ",2\r\nO,3\r\n'
    yield "table-one-column", bytes([table]) + b"smiles\nC\n\n\nCC\n\n"
    yield "table-one-column-limit", bytes([table | limit]) + b"smiles\n\n\n\nCC\n"
    yield "table-gz", bytes([table]) + gz(b"smiles;mu\nCCO;1\nCC;2\n")
    yield "tsv", bytes([tsv | mu]) + b"name\tsmiles\tmu\na b\tCC(=O)O\t1\n"
    yield "bad-table-twice", bytes([table]) + b"smiles,SMILES\nC,C\n"
    yield "bad-table-same", bytes([table | first | mu]) + b"mu,x\nC,1\n"
    yield "bad-table-ragged", bytes([table]) + b"smiles,mu\nC,1\nCC\n"
    yield "bad-table-none", bytes([table]) + b"a,b\nC,1\n"
    yield "bad-table-mu", bytes([table | mu]) + b"smiles,nu\nC,1\n"
    yield "smi", bytes([smi]) + b"# comment\nCCO ethanol\nCC\tethane gas\n\n  N  \n"
    yield "smi-header", bytes([smi | header_yes | limit]) + b"\xef\xbb\xbfsmiles name\r\nC a\r\nN b\r\nO c"
    yield "smi-gz", bytes([smi]) + gz(b"C\nCC\n")
    yield "bad-smi-zero", bytes([smi]) + b"C\nC\0C\n"
    yield "bad-smi-mu", bytes([smi | mu | kind]) + b"C\n"
    yield "bad-smi-long-gz", bytes([smi]) + gz(b"C" * 2_000_000)
    block = b"methane\n  test\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0 0.0 0.0 C   0  0\nM  END\n"
    fields = b"> 1 <mu> (x)\n1.5\n\n>  <kind>\na\nb\n\n"
    yield "sdf", bytes([sdf]) + (block + fields + b"$$$$\n") * 2
    yield "sdf-fields", bytes([sdf | mu | kind]) + block + fields + b"$$$$\n" + block + b"> <mu>\n2\n$$$$\n" + block
    yield "sdf-limit", bytes([sdf | limit]) + (block + b"$$$$\n") * 3
    yield "sdf-crlf-gz", bytes([sdf | mu]) + gz((block + fields + b"$$$$\n").replace(b"\n", b"\r\n"))
    yield "bad-sdf-field", bytes([sdf | mu]) + block + b"> <nu>\n1\n\n$$$$\n"
    yield "bad-sdf-brackets", bytes([sdf | mu]) + block + b">  mu>  <mu\n1\n>\n><\n> <mu>\n\n$$$$\n"
    yield "bad-sdf-no-end", bytes([sdf]) + b"\n\n\n$$$$\n$$$$\n\nM  END"


def main():
    seeds = {"npy": npy_seeds, "csv": csv_seeds, "idx": idx_seeds, "cifar": cifar_seeds, "tensor_file": tensor_file_seeds,
             "selfies": selfies_seeds, "smiles": smiles_seeds, "molecule_rows": molecule_rows_seeds}
    for target, make in seeds.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if not old.name.startswith("found-"):
                old.unlink()
        for name, data in make():
            (folder / name).write_bytes(data)
        files = list(folder.iterdir())
        print(f"{target:13} {len(files):3} files {sum(f.stat().st_size for f in files):7} bytes")


if __name__ == "__main__":
    main()
