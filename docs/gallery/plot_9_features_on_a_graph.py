"""
Features on a graph
===================

:class:`~lowrankgcn.SpectralGPClassifier` propagates the features of the nodes over
given edges, by filters of full rank whose amplitudes it learns: low-pass where
neighbours have the same class, high-pass where they differ.
"""

# %%
# Cora, the citation graph of the field, takes ten lines. ``fetch_planetoid`` reads the
# original files from the data directory, or from their public address::
#
#     papers = lg.datasets.fetch_planetoid("cora")
#     y = papers.labels()  # 20 of each class, -1 for all others
#     classifier = lg.SpectralGPClassifier(graph=papers.graph, random_state=0)
#     classifier.fit(papers.data, y)
#     test = papers.splits[0] == 3
#     print((classifier.transduction_ == papers.target)[test].mean())  # 0.837
#
# This page has no network, so it generates two graphs of 1000 documents of four topics
# with 500 words. In the first one, four of five citations stay within the topic. In the
# second one, documents cite other topics only, as in graphs of web pages of people and
# their projects.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import lowrankgcn as lg

generator = np.random.default_rng(0)
topics = np.arange(1000) % 4
same = topics[:, None] == topics
rates = np.where(np.arange(500) % 4 == topics[:, None], 0.06, 0.02)
words = sp.csr_array((generator.random((1000, 500)) < rates).astype(float))
y = np.where(np.arange(1000) < 40, topics, -1)


def citations(within, between):
    chosen = generator.random((1000, 1000)) < np.where(same, within, between)
    upper = np.triu(chosen, 1)
    return lg.AdjacencyGraph(sp.csr_array((upper | upper.T).astype(float)))


learned = {}
for name, graph in {
    "the same topic": citations(0.008, 0.0007),
    "other topics": citations(0.0, 0.008),
}.items():
    classifier = lg.SpectralGPClassifier(graph=graph, random_state=0).fit(words, y)
    learned[name] = classifier.filter_["graph"]
    accuracy = (classifier.transduction_ == topics)[y == -1].mean()
    print(f"cites {name}: {accuracy:.1%} of the other documents are correct")

alone = lg.SpectralGPClassifier(random_state=0).fit(words, y)
accuracy = (alone.transduction_ == topics)[y == -1].mean()
print(f"words without citations: {accuracy:.1%}")

# %%
# The learned filters show what the citations mean. Small eigenvalues λ of I − S belong
# to functions that hardly change along edges. The page on accuracy shows the filters of
# Cora and of texas, a graph of web pages.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
lg.plotting.plot_filter(learned, ax=ax)
fig.suptitle("Low-pass for the same topic, high-pass for others")
plt.show()

# %%
# A prediction is explained by the words of a document and of those around it. The
# contributions add up to the log-odds.

print(classifier.explain([100], by="columns"))
