#!/usr/bin/env python3
"""Inception-V3 of torchvision, made what the FID takes, with random weights: writes FOLDER/weights (safetensors),
FOLDER/pictures.npy (4 × 3 × 80 × 100 in [0, 255]) and FOLDER/features.npy (4 × 2048).

The network of the FID differs from torchvision's in its poolings: averages leave the padding out, and the last block takes a
maximum in place of one.
"""
import json
import struct
import sys

import numpy
import torch
import torch.nn.functional as F
from torchvision.models import inception


def save_tensors(path, tensors):
    header, data = {}, b""
    for name, value in tensors.items():
        raw = value.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def average(x, **_):
    return F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)


class Functional:
    """torch.nn.functional as the blocks of torchvision see it, with other averages."""

    def __init__(self, average_pooling):
        self.avg_pool2d = average_pooling

    def __getattr__(self, name):
        return getattr(F, name)


def features(network, x):
    """All that torchvision's forward() does up to its last pooling."""
    inception.F = Functional(average)
    for name in ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "maxpool1", "Conv2d_3b_1x1", "Conv2d_4a_3x3", "maxpool2",
                 "Mixed_5b", "Mixed_5c", "Mixed_5d", "Mixed_6a", "Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e", "Mixed_7a",
                 "Mixed_7b"):
        x = getattr(network, name)(x)
    inception.F = Functional(lambda x, **_: F.max_pool2d(x, 3, 1, 1))
    return network.Mixed_7c(x).mean((2, 3))


def main(folder):
    torch.manual_seed(1)
    network = inception.inception_v3(weights=None, init_weights=False, aux_logits=False, transform_input=False).eval()
    for module in network.modules():
        if isinstance(module, torch.nn.Conv2d):  # so that numbers neither vanish nor explode on the way
            torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(module.weight, 1, 0.1)
            torch.nn.init.normal_(module.bias, 0, 0.3)
            torch.nn.init.normal_(module.running_mean, 0, 0.3)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
    pictures = torch.randint(0, 256, (4, 3, 80, 100)).float()
    with torch.no_grad():
        x = F.interpolate(pictures / 255, (299, 299), mode="bilinear", align_corners=False)
        found = features(network, 2 * x - 1)
    tensors = {k: v for k, v in network.state_dict().items() if "num_batches" not in k and not k.startswith("fc")}
    save_tensors(folder + "/weights", tensors)
    numpy.save(folder + "/pictures.npy", pictures.numpy())
    numpy.save(folder + "/features.npy", found.numpy())


main(sys.argv[1])
