# A safetensors reader that shares nothing with ours, for the test that checks our writer: prints every tensor's dtype,
# shape and sum, and the metadata, as JSON. Usage: python3 read_safetensors.py FILE
import json, struct, sys

CODE = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "U8": "B", "BOOL": "?"}
raw = open(sys.argv[1], "rb").read()
data_start = 8 + struct.unpack("<Q", raw[:8])[0]
report = json.loads(raw[8:data_start])
for name, tensor in report.items():
    if name != "__metadata__":
        begin, end = tensor.pop("data_offsets")
        data, code = raw[data_start + begin:data_start + end], CODE.get(tensor["dtype"], "f")
        if tensor["dtype"] == "BF16":  # the upper half of a float
            data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        tensor["sum"] = sum(value for (value,) in struct.iter_unpack("<" + code, data))
print(json.dumps(report))
