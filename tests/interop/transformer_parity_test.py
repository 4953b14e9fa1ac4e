"""Python's nn.TransformerEncoder, nn.TransformerDecoder and nn.MultiheadAttention against ours, on the same torch.

The weights go across in a safetensors file; outputs and the gradients of every input and parameter are compared.
Run by ctest with the program transformer_parity as argument; needs what torch_peer.py says.
"""

import unittest

import torch_peer

torch = torch_peer.torch

B, T, S, D, HEADS, LAYERS, D_FF = 2, 6, 5, 8, 2, 2, 12
OUR_NAMES = {"self_attn": "attention", "multihead_attn": "cross", "linear1": "feed_forward.linear1",
             "linear2": "feed_forward.linear2"}


def our_name(name):
    return ".".join(OUR_NAMES.get(part, part) for part in name.split("."))


class Case:
    """One module of theirs, its inputs, and what a call of it says of masks (true: may look)."""

    def __init__(self, kind, dtype, norm="post", activation="relu", eps=1e-5, causal=False, padded=False, memory=None,
                 some=False):
        self.kind, self.norm, self.activation, self.eps, self.causal = kind, norm, activation, eps, causal
        heads = torch.nn.MultiheadAttention(D, HEADS, batch_first=True)
        options = {"dim_feedforward": D_FF, "dropout": 0.0, "activation": activation, "layer_norm_eps": eps,
                   "batch_first": True, "norm_first": norm == "pre"}
        last = torch.nn.LayerNorm(D, eps=eps) if norm == "pre" else None
        if kind == "encoder":
            layer = torch.nn.TransformerEncoderLayer(D, HEADS, **options)
            heads = torch.nn.TransformerEncoder(layer, LAYERS, norm=last, enable_nested_tensor=False)
        elif kind == "decoder":
            heads = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(D, HEADS, **options), LAYERS, norm=last)
        self.module = heads.to(dtype).train()  # evaluation mode would take PyTorch's fast path
        with torch.no_grad():  # the layers are copies of one, and biases start at 0
            for parameter in self.module.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        self.x = torch.randn(B, T, D, dtype=dtype, requires_grad=True)
        self.memory = torch.randn(B, S, D, dtype=dtype, requires_grad=True) if memory else None
        self.grad_y = torch.randn(B, T, D, dtype=dtype)
        keys = S if kind == "attention" and memory else T
        self.visible = torch.arange(keys) < torch.tensor([keys, 3])[:, None] if padded else None
        self.memory_visible = torch.arange(S) < torch.tensor([2, S])[:, None] if padded and kind == "decoder" else None
        self.some = None
        if some:  # a mask of its own for each example and head; each row sees a key
            self.some = torch.rand(B, HEADS, T, keys) < 0.6
            self.some[..., 0] = True

    def call(self):
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1) if self.causal else None
        padding = None if self.visible is None else ~self.visible
        if self.kind == "encoder":
            return self.module(self.x, mask=hidden, src_key_padding_mask=padding), None
        if self.kind == "decoder":
            memory_padding = None if self.memory_visible is None else ~self.memory_visible
            return self.module(self.x, self.memory, tgt_mask=hidden, tgt_key_padding_mask=padding,
                               memory_key_padding_mask=memory_padding), None
        source = self.x if self.memory is None else self.memory
        if self.some is not None:
            hidden = (~self.some).flatten(0, 1)
        return self.module(self.x, source, source, key_padding_mask=padding, attn_mask=hidden, average_attn_weights=False)

    def wanted(self):
        """Their results under our names."""
        y, pattern = self.call()
        inputs = {"grad_x": self.x} | ({} if self.memory is None else {"grad_memory": self.memory})
        parameters = {f"grad/{our_name(name)}": p for name, p in self.module.named_parameters()}
        leaves = inputs | parameters
        result = {"y": y} | dict(zip(leaves, torch.autograd.grad(y, list(leaves.values()), self.grad_y)))
        return result if pattern is None else result | {"pattern": pattern}

    def given(self, name):
        tensors = {"x": self.x, "grad_y": self.grad_y}
        tensors |= {f"parameters/{our_name(key)}": p for key, p in self.module.named_parameters()}
        if self.memory is not None:
            tensors["memory"] = self.memory
        if self.visible is not None:
            tensors["visible"] = self.visible[:, None, None, :]
        if self.some is not None:
            tensors["visible"] = self.some
        if self.memory_visible is not None:
            tensors["memory_visible"] = self.memory_visible[:, None, None, :]
        return {f"{name}/{part}": tensor for part, tensor in tensors.items()}

    def told(self):
        return (f"{self.kind} {HEADS} {LAYERS} {D_FF} {self.norm} {self.activation} {self.eps} "
                f"{'causal' if self.causal else 'all'}")


def cases(dtype):
    def case(kind, **options):
        return Case(kind, dtype, **options)

    result = {"self": case("attention"), "self_causal": case("attention", causal=True),
              "self_padding": case("attention", padded=True), "self_some": case("attention", some=True),
              "cross": case("attention", memory=True), "cross_padding": case("attention", memory=True, padded=True),
              "cross_some": case("attention", memory=True, some=True)}
    for norm in ("pre", "post"):
        for activation in ("gelu", "relu"):
            for causal in (False, True):
                for padded in (False, True):
                    name = f"{norm}_{activation}{'_causal' if causal else ''}{'_padding' if padded else ''}"
                    options = {"norm": norm, "activation": activation, "causal": causal, "padded": padded,
                               "eps": 1e-5 if norm == "pre" else 1e-3}
                    result[f"encoder_{name}"] = case("encoder", **options)
                    result[f"decoder_{name}"] = case("decoder", memory=True, **options)
    return result


class TransformerParity(unittest.TestCase):
    program = None

    def compare(self, dtype, limit):
        torch.manual_seed(4)
        theirs = cases(dtype)
        tensors = {key: tensor for name, case in theirs.items() for key, tensor in case.given(name).items()}
        ours = torch_peer.ask(self.program, tensors, {name: case.told() for name, case in theirs.items()})
        compared, largest = 0, 0.0
        for name, case in theirs.items():
            for part, want in case.wanted().items():
                with self.subTest(case=name, part=part):
                    apart = (ours[f"{name}/{part}"] - want.detach()).abs().max().item()
                    relative = apart / max(1.0, want.abs().max().item())
                    compared, largest = compared + 1, max(largest, relative)
                    self.assertLessEqual(relative, limit)
        self.assertEqual(compared, len(ours))
        print(f"{dtype}: {len(theirs)} modules, {compared} tensors, at most {largest:.2g} apart")

    def test_float64(self):
        self.compare(torch.float64, 1e-10)

    def test_float32(self):
        self.compare(torch.float32, 1e-5)


if __name__ == "__main__":
    torch_peer.main(TransformerParity)
