"""Pictures as files: a graph, a run over time, candlesticks.  Needs matplotlib.

May import what `watch` may.  Begin with `timeline_chart.py`.
"""
