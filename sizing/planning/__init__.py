"""The answer: deployment, figures and cost, in sentences, warnings, exclusions and explanations.

``plan`` and ``analytic`` are the doors; ``compose`` is the one place where a plan is put together. What it states of a
``deployment`` comes from ``aggregated`` or ``disaggregated``, intervals from ``spread``, latencies from ``figures``;
``sentences``, ``explain``, ``assumptions``, ``rules`` and ``exclusion`` put facts into words. ``measured`` is the plan
of a measured record.
"""
