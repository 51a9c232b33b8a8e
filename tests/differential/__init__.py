"""The differential test: random clusters, answered by schedfw and by the real kube-scheduler."""
