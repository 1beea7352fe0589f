#!/usr/bin/env python3
"""What the networks of picture_networks_test.cpp give for its pictures: by the modules of torchvision, in double.

Weights and pictures are those of the test, by the same formula. One line per value, "network which value": features of
Inception-V3 and of SqueezeNet 1.1 by their index, and the mean of them all; LPIPS by the number of its pair.
"""
import numpy as np
import torch
import torch.nn.functional as F
from torchvision.models import inception, squeezenet1_1


def places(name, count):
    """A number in [-1/2, 1/2), of 24 bits, for every place of what has this name; the test has the same formula."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    x = np.arange(count, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(seed)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    x = x ^ (x >> np.uint32(16))
    return (x >> np.uint32(8)) / 2.0**24 - 0.5


def tensor(name, shape):
    """Weights in float, as a file has them. Convolutions keep the size of what passes: nothing dies on the way."""
    kind = name.split(".", 1)[0] if name.startswith("linear") else name.rsplit(".", 1)[1]
    if kind == "weight" and len(shape) == 4:
        middle, width = 0, np.sqrt(24 / np.prod(shape[1:]))
    else:
        middle, width = {"linear": (0.5, 1), "weight": (1, 0.25), "running_var": (1, 0.75), "bias": (0, 0.5),
                         "running_mean": (0, 0.5)}[kind]
    values = (middle + width * places(name, int(np.prod(shape)))).astype(np.float32)
    return torch.from_numpy(values).double().reshape(tuple(shape))


def picture(name, shape, down, right):
    """A slope of whole numbers in [0, 255] with noise on it, brought to [0, 1] and three channels."""
    c, y, x = np.indices(shape)
    noise = np.floor(64 * (places(name, c.size) + 0.5)).reshape(shape)
    found = torch.from_numpy(((down * y + right * x + 40 * c) % 192 + noise) / 255)
    return found.expand(3, -1, -1)[None]


def fill(network, prefix=""):
    """Weights by formula for all that counts: neither how many batches there were nor the classes of Inception."""
    network.double().eval()
    for name, value in network.state_dict().items():
        if "num_batches" not in name and not name.startswith("fc"):
            value.copy_(tensor(prefix + name, value.shape))
    return network


class Functional:
    """torch.nn.functional as the blocks of torchvision see it, with another average."""

    def __init__(self, average):
        self.avg_pool2d = average

    def __getattr__(self, name):
        return getattr(F, name)


def inception_features(network, x):
    """All that torchvision's forward() does up to its last pooling, with the poolings of the FID: averages leave the
    padding out, and the last block takes a maximum in place of one."""
    x = 2 * F.interpolate(x, (299, 299), mode="bilinear", align_corners=False) - 1
    inception.F = Functional(lambda x, **_: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))
    for name in ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "maxpool1", "Conv2d_3b_1x1", "Conv2d_4a_3x3",
                 "maxpool2", "Mixed_5b", "Mixed_5c", "Mixed_5d", "Mixed_6a", "Mixed_6b", "Mixed_6c", "Mixed_6d",
                 "Mixed_6e", "Mixed_7a", "Mixed_7b"):
        x = getattr(network, name)(x)
    inception.F = Functional(lambda x, **_: F.max_pool2d(x, 3, 1, 1))
    return network.Mixed_7c(x).mean((2, 3))[0]


def squeezenet_layers(network, x):
    """The seven places that LPIPS looks at: after the first convolution, after the last fire before a pooling, and
    after every fire that follows the last one. Small pictures are enlarged, as cpfm does."""
    if min(x.shape[2:]) < 32:
        x = F.interpolate(x, [n * 64 // min(x.shape[2:]) for n in x.shape[2:]], mode="bilinear", align_corners=False)
    shift = torch.tensor([-0.030, -0.088, -0.188], dtype=x.dtype).view(1, 3, 1, 1)
    scale = torch.tensor([0.458, 0.448, 0.450], dtype=x.dtype).view(1, 3, 1, 1)
    x = (2 * x - 1 - shift) / scale
    layers = []
    for at, module in enumerate(network):
        x = module(x)
        if at in (1, 4, 7, 9, 10, 11, 12):
            layers.append(x)
    return layers


def lpips(network, a, b):
    """Σ over layers of the mean over places of Σ over channels w (a - b)², a and b of unit length at each place."""
    distance = 0
    for k, (u, v) in enumerate(zip(squeezenet_layers(network, a), squeezenet_layers(network, b))):
        head = tensor(f"linear.lin{k}.weight", (1, u.shape[1], 1, 1))
        u, v = (h / (h.square().sum(1, keepdim=True).sqrt() + 1e-10) for h in (u, v))
        distance += (head * (u - v).square()).sum(1).mean().item()
    return distance


def tell(network, features, indices):
    for k in indices:
        print(f"{network} {k} {features[k].item():.9g}")
    print(f"{network} mean {features.mean().item():.9g}")


with torch.no_grad():
    network = inception.inception_v3(weights=None, init_weights=False, aux_logits=False, transform_input=False)
    features = inception_features(fill(network), picture("a", (3, 80, 100), 2, 3))
    # One of each part of the last block: 320, 4 x 384 and 192 channels.
    tell("inception", features, (42, 362, 767, 1172, 1507, 1905))

    network = fill(squeezenet1_1(weights=None).features, "backbone.")
    # A size at which every pooling has a rest that counts (ceil_mode).
    a, b = picture("a", (3, 70, 51), 2, 3), picture("b", (3, 70, 51), 5, 1)
    tell("squeezenet", squeezenet_layers(network, a)[-1].mean((2, 3))[0], (0, 102, 221, 323, 408, 493))
    print(f"lpips 0 {lpips(network, a, b):.9g}")
    a, b = picture("a", (1, 28, 20), 2, 3), picture("b", (1, 28, 20), 5, 1)
    print(f"lpips 1 {lpips(network, a, b):.9g}")
