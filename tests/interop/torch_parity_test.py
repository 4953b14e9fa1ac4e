"""Python's F.scaled_dot_product_attention against ours, on the same torch: outputs and gradients.

Run by ctest with the program attention_parity as argument; needs what torch_peer.py says.
"""

import unittest

import torch_peer

torch = torch_peer.torch


def cases():
    """{name: (sizes B H T S E V, scale, causal, visible)}. Python's causal flag fits ours where T = S."""
    lengths = torch.tensor([7, 4])
    padding = (torch.arange(7) < lengths[:, None])[:, None, None, :]
    some = torch.rand(2, 3, 5, 7) < 0.6
    some[..., 0] = True  # each row sees a key
    square = (2, 3, 7, 7, 4, 5)
    return {"plain": (square, 0.5, False, None), "causal": (square, 0.5, True, None), "scale": (square, 1.7, False, None),
            "padding": (square, 0.5, False, padding), "causal_padding": (square, 0.5, True, padding),
            "cross": ((2, 3, 5, 7, 4, 4), 0.5, False, some), "cross_plain": ((2, 3, 5, 7, 3, 4), 0.3, False, None),
            "one": ((1, 1, 1, 1, 1, 1), 1.0, True, None), "long": ((1, 2, 65, 65, 16, 16), 0.25, True, None)}


class TorchParity(unittest.TestCase):
    program = None

    def compare(self, dtype, limit):
        torch.manual_seed(3)
        tensors, metadata, wanted = {}, {}, {}
        for name, (sizes, scale, causal, visible) in cases().items():
            b, h, t, s, e, v = sizes
            q, k, values = (torch.randn(b, h, n, width, dtype=dtype, requires_grad=True) for n, width in ((t, e), (s, e), (s, v)))
            grad_y = torch.randn(b, h, t, v, dtype=dtype)
            mask = visible if visible is None or not causal else visible & torch.ones(t, s, dtype=torch.bool).tril()
            y = torch.nn.functional.scaled_dot_product_attention(q, k, values, mask, is_causal=causal and visible is None,
                                                                 scale=scale)
            wanted[name] = dict(zip(("y", "grad_q", "grad_k", "grad_v"), (y, *torch.autograd.grad(y, (q, k, values), grad_y))))
            tensors.update({f"{name}/q": q, f"{name}/k": k, f"{name}/v": values, f"{name}/grad_y": grad_y})
            if visible is not None:
                tensors[f"{name}/visible"] = visible
            metadata[name] = f"{scale} {'causal' if causal else 'all'}"
        ours = torch_peer.ask(self.program, tensors, metadata)
        self.assertEqual(len(ours), 3 * 4 * len(wanted))
        for name, parts in wanted.items():
            for part, want in parts.items():
                for path in ("explicit", "fused", "blocked"):
                    with self.subTest(case=name, part=part, path=path):
                        apart = (ours[f"{name}/{path}/{part}"] - want.detach()).abs().max().item()
                        self.assertLessEqual(apart, limit * max(1.0, want.abs().max().item()))

    def test_float64(self):
        self.compare(torch.float64, 1e-10)

    def test_float32(self):
        self.compare(torch.float32, 1e-5)


if __name__ == "__main__":
    torch_peer.main(TorchParity)
