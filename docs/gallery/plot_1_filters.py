"""
Filters on a spectrum
=====================

A filter is a function of the eigenvalues of the graph Laplacian. It determines how much
of each eigenvector a graph convolution keeps.
"""

# %%
# The spiral has five overlapping clouds of points. The smallest eigenvalue of its
# :class:`~lowrankgcn.GaussianGraph` is 0; its eigenvector depends on the degrees only
# and does not distinguish the clouds. The next four separate the five clouds. Most
# others are close to 1, and their eigenvectors are mostly noise.
#
# The linear filter is that of the usual graph convolutional network. The linear, the
# quadratic and the heat filter are largest at 0. The pseudoinverse leaves out 0 and is
# largest at the next eigenvalue.

import matplotlib.pyplot as plt

import lowrankgcn as lg

spiral = lg.datasets.load_spiral(200, random_state=0)
laplacian = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
pairs = lg.eigenpairs(laplacian, 20)
filters = ["linear", "quadratic", "pseudoinverse", lg.filters.Heat(time=3.0)]

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
lg.plotting.plot_filter(filters, pairs.eigenvalues, ax=ax)
fig.suptitle("Only the pseudoinverse leaves out the eigenvalue 0")
plt.show()

# %%
# A kernel of rank 4 keeps the four eigenvalues with the largest response, and sets the
# others to zero. For the pseudoinverse, these are the four eigenvalues that separate
# the clouds. The other filters keep 0 and lose one of them.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
lg.plotting.plot_filter(filters[:3], pairs.eigenvalues, rank=4, ax=ax)
fig.suptitle("At rank 4, the filters keep different eigenvalues")
plt.show()

# %%
# A filter is called like a function. :func:`~lowrankgcn.kernel` applies it to a
# Laplacian: the kernel is an operator that never stores the matrix of 1000 × 1000
# entries.

kernel = lg.kernel(laplacian, "pseudoinverse", rank=4)
print(kernel)
print("eigenvalues", kernel.eigenpairs.eigenvalues.round(3))
print("responses  ", kernel.response.round(3))
