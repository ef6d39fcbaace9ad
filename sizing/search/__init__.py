"""Which deployments, and how many instances of each: screen, batch limits, pools, ranking, simulation of the best few.

The way of a question: ``screen`` evaluates every candidate, ``batch_limits`` caps some. ``aggregated`` and
``disaggregated`` (with ``pools``) size the two kinds of ``deployments``, which ``ranking`` orders and ``serving`` hands
out. ``decide`` lets a simulation have the last word: ``refine`` and ``pools_refine`` choose what to simulate,
``instances`` and ``pools_simulated`` how many, ``trials`` run it on ``replicas``.
"""
