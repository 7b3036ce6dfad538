import torch
import torch.nn.functional as F

for dtype, bits in ((torch.float32, torch.int32), (torch.float64, torch.int64)):
    for start, end, steps in ((-1, 1, 7), (-1, 1, 28), (0, 1, 10), (0.1, 3.7, 13), (-3.14159, 3.14159, 9)):
        print(torch.linspace(start, end, steps, dtype=dtype).view(bits).tolist())
theta = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]])
for n in (5, 7, 28):
    for align in (True, False):
        print(F.affine_grid(theta, (1, 1, n, n), align_corners=align)[0, 0, :, 0].view(torch.int32).tolist())
print(torch.tensor([float("inf"), float("nan"), -float("inf")]).long())
