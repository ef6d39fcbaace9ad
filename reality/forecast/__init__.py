"""When the load outgrows what the limits carry: history, season and growth, intervals from a backtest, the order."""
