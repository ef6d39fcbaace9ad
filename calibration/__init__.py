"""What writes ``sizing/data`` and judges it: the fit with its reports, prices, rows of models.

``python -m calibration`` is the whole fit (``make calibrate``); other modules with a command of their own say so in
their first line. Nothing here runs in the product.
"""
